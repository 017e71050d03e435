/** Days as squares, a column a week. A day under the pointer or focus shows its gaps. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks'

import type { CoverageDay } from '../../lib/bodies.ts'
import { showDate, showLength, showMonth, showShare, showSome } from '../../lib/format.ts'
import { describeReason } from '../../lib/gap-reasons.ts'
import { navigate } from '../../lib/location.ts'
import { colorOf } from '../../lib/theme.ts'
import { DayKinds } from './day-kinds.tsx'

const SQUARE = 20
const GAP = 4
const PITCH = SQUARE + GAP
const LABELS = { left: 30, top: 18 }
const WEEK = 7
const MOST = 0.95
const HALF = 0.5
const weekdays: readonly [row: number, name: string][] = [
  [0, 'Mon'],
  [2, 'Wed'],
  [4, 'Fri'],
]

/** The class of a day: its state, for a degraded day with the share that is covered. */
function toneOf({ state, covered }: CoverageDay): string {
  if (state !== 'degraded') return state
  if (covered === null) return 'degraded-1'
  if (covered >= MOST) return 'degraded-3'
  return covered >= HALF ? 'degraded-2' : 'degraded-1'
}

const tones: readonly [tone: string, text: string][] = [
  ['available', 'complete'],
  ['degraded-3', '95 % or more'],
  ['degraded-2', '50 % or more'],
  ['degraded-1', 'less'],
  ['missing', 'nothing'],
  ['pending', 'not over'],
]

/** Column and row: weeks begin on Mondays. */
function placesOf(days: readonly CoverageDay[]) {
  const first = new Date(days[0]?.day ?? '1970-01-01').getUTCDay()
  const lead = (first + WEEK - 1) % WEEK
  return days.map((day, index) => ({
    day,
    week: Math.floor((index + lead) / WEEK),
    row: (index + lead) % WEEK,
  }))
}

export function Calendar({ coin, days }: { coin: string; days: readonly CoverageDay[] }) {
  const wrap = useRef<HTMLDivElement>(null)
  // On a narrow screen the last days are seen first.
  useLayoutEffect(() => wrap.current?.scrollTo({ left: wrap.current.scrollWidth }), [days])
  const [chosen, setChosen] = useState<number>()
  const places = placesOf(days)
  const weeks = (places.at(-1)?.week ?? 26) + 1
  const width = LABELS.left + weeks * PITCH
  const height = LABELS.top + WEEK * PITCH
  const shown =
    chosen ??
    Math.max(
      0,
      days.findLastIndex(({ state }) => state !== 'missing'),
    )
  const size = { width: SQUARE, height: SQUARE, rx: 4 }
  return (
    <div class="stack">
      <div ref={wrap} class="calendar-wrap" tabIndex={0} role="region" aria-label="Calendar">
        <svg class="calendar" {...{ width, height }} role="img" aria-label={sumUp(days)}>
          {weekdays.map(([row, name]) => (
            <text key={name} x={0} y={LABELS.top + row * PITCH + SQUARE - 6}>
              {name}
            </text>
          ))}
          {places.map(({ day, week, row }, index) => (
            <g key={day.day}>
              {row === 0 && Number(day.day.slice(8)) <= WEEK && (
                <text x={LABELS.left + week * PITCH} y={11}>
                  {showMonth(Date.parse(day.day))}
                </text>
              )}
              <rect
                class={`${toneOf(day)}${index === shown ? ' chosen' : ''}`}
                x={LABELS.left + week * PITCH}
                y={LABELS.top + row * PITCH}
                {...size}
                onPointerEnter={() => setChosen(index)}
                onPointerDown={() => setChosen(index)}
                onPointerUp={({ pointerType, button }) => {
                  // A tap only chooses the day: its card has the link.
                  if (pointerType === 'mouse' && button === 0) navigate(marketsOf(coin, day))
                }}
              />
            </g>
          ))}
        </svg>
      </div>
      <label class="row day-slider">
        Day
        <input
          type="range"
          min={0}
          max={Math.max(0, days.length - 1)}
          value={shown}
          aria-valuetext={days[shown] && describe(days[shown])}
          onInput={({ currentTarget }) => setChosen(Number(currentTarget.value))}
        />
      </label>
      <div class="legend">
        {tones.map(([tone, text]) => (
          <span key={tone}>
            <svg class="calendar" width="12" height="12" aria-hidden="true">
              <rect class={tone} width="12" height="12" rx="3" />
            </svg>
            {text}
          </span>
        ))}
      </div>
      <DayCard coin={coin} day={days[shown]} />
    </div>
  )
}

function sumUp(days: readonly CoverageDay[]): string {
  const counts = Map.groupBy(days, ({ state }) => state)
  return [...counts].map(([state, each]) => `${showSome(each.length, 'day')} ${state}`).join(', ')
}

const describe = ({ day, state, covered }: CoverageDay): string =>
  `${showDate(Date.parse(day))}: ${state}${covered === null ? '' : `, ${showShare(covered)} recorded`}`

/** The list of the markets of a day. */
const marketsOf = (coin: string, { day }: CoverageDay): string => `/markets/${coin}?date=${day}`

function DayCard({ coin, day }: { coin: string; day: CoverageDay | undefined }) {
  return (
    <div class="day-card" aria-live="polite">
      {day && (
        <>
          <strong>{showDate(Date.parse(day.day))}</strong>{' '}
          <span class="num">
            {day.covered === null ? '' : `${showShare(day.covered)} recorded · `}
            {showSome(day.markets, 'market')} ·{' '}
            {showSome(day.snapshots.up + day.snapshots.down, 'book')}
          </span>
          {day.markets > 0 && (
            <>
              {' · '}
              <a href={marketsOf(coin, day)}>Markets of this day</a>
            </>
          )}
          <ul>
            {day.gaps.map(({ reason, count, durationMs }) => (
              <li key={reason}>
                {describeReason(reason)}: {showSome(count, 'gap')},{' '}
                <span class="num">{showLength(durationMs)}</span> in total, over both outcomes
              </li>
            ))}
            {day.gaps.length === 0 && (
              <li>
                {day.snapshots.up + day.snapshots.down > 0 ? 'No gap.' : 'Nothing was recorded.'}
              </li>
            )}
          </ul>
          {/* Last: it is loaded after the rest, which it would move. */}
          <DayKinds coin={coin} day={day.day} />
        </>
      )}
    </div>
  )
}

const colors: Record<string, [name: string, alpha: number]> = {
  available: ['--bid', 1],
  'degraded-3': ['--bid', 0.62],
  'degraded-2': ['--warn', 0.8],
  'degraded-1': ['--ask', 0.75],
  missing: ['--line', 1],
  pending: ['--accent', 0.45],
}

/** The calendar as a picture that can be saved. */
export function paintCalendar(days: readonly CoverageDay[]): HTMLCanvasElement {
  const places = placesOf(days)
  const canvas = document.createElement('canvas')
  canvas.width = (places.at(-1)?.week ?? 0) * PITCH + PITCH + GAP
  canvas.height = WEEK * PITCH + GAP
  const context = canvas.getContext('2d')
  if (context === null) return canvas
  for (const { day, week, row } of places) {
    const [name, alpha] = colors[toneOf(day)] ?? ['--line', 1]
    context.fillStyle = colorOf(name)
    context.globalAlpha = alpha
    context.fillRect(GAP + week * PITCH, GAP + row * PITCH, SQUARE, SQUARE)
  }
  return canvas
}
