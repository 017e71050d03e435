/** A row of the board: an open window as it is now. */

import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'

import { type Point, PriceChart, ProbabilityChart } from '../../charts/small-charts.tsx'
import { DAY_MS } from '../../lib/days.ts'
import { facts } from '../../lib/facts.ts'
import { deviationOf, type Edge, type Fair } from '../../lib/fair.ts'
import {
  outcomeNames,
  showChange,
  showCoinChange,
  showCoinPrice,
  showCompact,
  showCount,
  showDay,
  showLength,
  showMinute,
  showPrice,
  showProbability,
  showShare,
  showSome,
  showTime,
  showWindow,
} from '../../lib/format.ts'
import { shortReason } from '../../lib/gap-reasons.ts'
import { navigate } from '../../lib/location.ts'
import { neededOf } from '../../lib/needed.ts'
import { settlesFrom } from '../../lib/settlement.ts'
import { type Store, useStore } from '../../lib/store.ts'
import { NeededText } from '../../parts/needed-text.tsx'
import { SimulatedTag } from '../../parts/simulated.tsx'
import { edgeOfShown, fairOfRow, tableOf, tables } from './fair-prices.ts'
import type { FollowedBoard, Row, Shown } from './follow-board.ts'
import { moveOf, pinned, rowLook, seriesOf } from './order.ts'

type RowProps = { board: FollowedBoard; store: Store<Shown> }

export function WindowRow({ board, store }: RowProps) {
  const shown = useStore(store)
  const isLine = useStore(rowLook.store) === 'line'
  useStore(tables)
  const line = useRef<HTMLTableRowElement>(null)
  useEffect(() => (line.current === null ? undefined : board.observe(line.current)), [board])
  const { row, nowMs, isOver } = shown
  const { conditionId, symbol, windowStart, windowEnd } = row
  const href = `/markets/${symbol}/${conditionId}`
  const leftText = windowEnd === null ? 'open' : showLength(Date.parse(windowEnd) - nowMs)
  // Made once per window, so that Preact does not compare it at each change.
  const name = useMemo(
    () => <WindowName {...{ row, href, isLine }} />,
    [href, isLine, row.slug, row.source, windowStart, windowEnd],
  )
  return (
    <tr ref={line} data-window={conditionId} class={classOf(shown)} onClick={() => navigate(href)}>
      <th scope="row">{name}</th>
      <Cell look="num board-left">{isOver ? 'over' : leftText}</Cell>
      <td class="board-price">
        <WindowPrices shown={shown} />
      </td>
      <Cell look="num board-spot">
        <Price row={row} nowMs={nowMs} isLine={isLine} />
      </Cell>
      <Cell look="num board-up">
        <WindowProbability shown={shown} />
        <b class={toneOf(row.mid)}>{showProbability(row.mid)}</b>
      </Cell>
      <FairCells shown={shown} />
      <Cell look="num right board-spread" name="Spread">
        {showPrice(row.spread)}
      </Cell>
      <Cell look="num right board-depth" name="Depth ±2¢">
        <Depth row={row} />
      </Cell>
      <Cell look="num right board-volume" name="Volume">
        {showCompact(row.volume)}
      </Cell>
      <td class="board-recording" title={isLine ? faultText(row) : undefined}>
        {isLine ? <RecordingFault row={row} /> : <Recording row={row} />}
      </td>
    </tr>
  )
}

type CellProps = { look: string; name?: string; children: ComponentChildren }

/** A cell that changes often. Its content is laid out by itself, not with the table. */
const Cell = ({ look, name, children }: CellProps) => (
  <td class={look} data-name={name}>
    <div class="board-cell">{children}</div>
  </td>
)

type NameProps = { row: Row; href: string; isLine: boolean }

/** Coin, length and time of a window, with its star and the way to the venue. */
function WindowName({ row, href, isLine }: NameProps) {
  const { symbol, timeframe, windowStart, windowEnd } = row
  const name = `${symbol.toUpperCase()} ${timeframe}`
  const times = showWindow(windowStart, windowEnd)
  return (
    <div class="board-window">
      <Pin row={row} name={name} />
      <div>
        <a href={href}>{name}</a>
        <span class="note num" title={times}>
          {isLine ? showClock(windowStart, windowEnd) : times}
        </span>
      </div>
      <VenueLink row={row} name={name} />
    </div>
  )
}

/** The share of past windows that Up won from here, and the edge against the mid. */
function FairCells({ shown }: { shown: Shown }) {
  const fair = shown.isOver ? undefined : fairOfRow(shown.row, shown.nowMs)
  const edge = fair && edgeOfShown(shown)
  return (
    <>
      <Cell look="num right board-fair" name="Fair">
        {fair === undefined ? (
          '–'
        ) : (
          <span title={distanceText(fair)}>
            {showProbability(fair.share)} <span class="note">of {showCount(fair.count)}</span>
          </span>
        )}
      </Cell>
      <Cell look="num right board-edge" name="Edge">
        {edge === undefined ? (
          '–'
        ) : (
          <span
            class={edge.isMeant ? edge.side : 'note'}
            title={edge.isMeant ? undefined : 'With so few windows, the difference may be chance.'}
          >
            {outcomeNames[edge.side]} +{showEdge(edge)}
          </span>
        )}
      </Cell>
    </>
  )
}

const showEdge = ({ size }: Edge): string => `${(100 * size).toFixed(1)}¢`

const distanceText = ({ distance, count, wins }: Fair): string =>
  `Up won ${showCount(wins)} of ${showSome(count, 'window')} at ${Math.abs(distance).toFixed(2)} standard deviations ${distance < 0 ? 'below' : 'above'} the strike with this time left.`

/** `08:00 – 08:05`; `Apr 14 – Apr 15` for a window of a day, whose times are equal. */
function showClock(start: string | null, end: string | null): string {
  if (start === null || end === null) return 'window unknown'
  const [from, to] = [Date.parse(start), Date.parse(end)]
  const show = to - from < DAY_MS ? showMinute : showDay
  return `${show(from)} – ${show(to)}`
}

/** To the page of the venue, where the window is traded. */
function VenueLink({ row: { slug, source }, name }: { row: Row; name: string }) {
  const { venue } = facts
  if (venue === undefined || slug === null || source !== 'recorded') return null
  return (
    <a
      class="board-venue"
      href={`https://${venue.marketPage}${slug}`}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`${name} at ${venue.name} (opens in a new tab)`}
      title={venue.name}
      onClick={(event) => event.stopPropagation()}
    >
      ↗
    </a>
  )
}

const classOf = ({ row, isOver }: Shown): string => {
  if (isOver) return 'link-row is-over'
  return isUnrecorded(row) ? 'link-row is-unrecorded' : 'link-row'
}

/** No colour if the mid is unknown. */
const toneOf = (mid: number | null): string => {
  if (mid === null) return ''
  return mid < 0.5 ? 'down' : 'up'
}

/** With a wide spread no order is near the mid, although the book is not empty. */
function Depth({ row: { bidDepth, askDepth, spread } }: { row: Row }) {
  if (bidDepth !== 0 || askDepth !== 0) return `${showCompact(bidDepth)} / ${showCompact(askDepth)}`
  return <span title={`The spread is ${showPrice(spread)}.`}>none</span>
}

type PriceProps = { row: Row; nowMs: number; isLine: boolean }

/**
 * The coin's price with its distance from the strike and the average; at the end, the needed one.
 */
function Price({ row, nowMs, isLine }: PriceProps) {
  const { spot, strike, average } = row
  const move = moveOf(row)
  const needed = neededOf(row, nowMs)
  if (needed !== undefined && isLine) return <NeededText needed={needed} />
  const price = <span>{spot === null ? 'no price' : showCoinPrice(spot.price)}</span>
  if (needed !== undefined) {
    return (
      <>
        {price}
        <NeededText needed={needed} />
      </>
    )
  }
  return (
    <>
      {price}
      {spot !== null && strike !== null && move !== undefined && (
        <span class={move < 0 ? 'down' : 'up'}>
          {showCoinChange(spot.price, strike)}
          {isLine ? '' : ` (${showChange(move)})`}
        </span>
      )}
      {strike === null && <span class="note">strike unknown</span>}
      {average !== null && !isLine && (
        <span class="board-average">
          {average.isSettlement
            ? `avg ${showCoinPrice(average.price)}, ${Math.max(0, Math.round((nowMs - (settlesFrom(row) ?? nowMs)) / 1000))} s`
            : `avg ${showCoinPrice(average.price)}`}
        </span>
      )}
    </>
  )
}

/** True if the book, if any, is not current. */
export const isUnrecorded = ({ recording }: Row): boolean => recording.state !== 'recorded'

/** `recorder down since 10:00:00 UTC`. */
export const gapText = ({ reason, since }: Row['recording']): string =>
  `${reason === null ? '' : shortReason(reason)}${since === null ? '' : ` since ${showTime(Date.parse(since))} UTC`}`

function Recording({ row: { recording, source } }: { row: Row }) {
  const { state, covered } = recording
  const share = covered === null || covered === 1 ? '' : `${showShare(covered)} covered`
  if (state === 'none') return <span class="tag warn">not recorded</span>
  if (state === 'damaged')
    return (
      <span class="tag warn" title="The stored data of this window is damaged, and not served.">
        damaged
      </span>
    )
  if (state === 'recorded')
    return (
      <>
        {source === 'simulated' ? (
          <SimulatedTag source={source} />
        ) : (
          <span class="tag live">recorded</span>
        )}
        {share !== '' && <span class="note num"> {share}</span>}
      </>
    )
  return (
    <>
      <SimulatedTag source={source} /> <span class="tag warn">gap</span>
      <span class="note num">{gapText(recording)}</span>
    </>
  )
}

/** Below this share, a visitor would notice the missing part. */
const COVERED_MIN = 0.99

/** The fault of a recording; empty if there is none. */
function faultText({ recording }: Row): string {
  const { state, covered } = recording
  if (state === 'none') return 'not recorded'
  if (state === 'damaged') return 'damaged'
  if (state === 'gap') return gapText(recording)
  return covered !== null && covered < COVERED_MIN ? `only ${showShare(covered)}` : ''
}

/** The fault of a recording in a row of one line; nothing without a fault. */
function RecordingFault({ row }: { row: Row }) {
  const { state } = row.recording
  const text = faultText(row)
  if (state === 'none' || state === 'damaged') return <span class="tag warn">{text}</span>
  return (
    <>
      <SimulatedTag source={row.source} />
      {state === 'gap' && <span class="tag warn">gap</span>}
      {text !== '' && <span class="note num"> {text}</span>}
    </>
  )
}

function Pin({ row, name }: { row: Row; name: string }) {
  const series = seriesOf(row)
  const all = useStore(pinned.store)
  const isPinned = all.includes(series)
  return (
    <button
      type="button"
      class="star"
      aria-pressed={isPinned}
      aria-label={`${name} first`}
      onClick={(event) => {
        event.stopPropagation()
        pinned.set(isPinned ? all.filter((each) => each !== series) : [...all, series])
      }}
    >
      {isPinned ? '★' : '☆'}
    </button>
  )
}

function WindowPrices({ shown }: { shown: Shown }) {
  const span = spanOf(shown)
  if (span === undefined) return null
  const { symbol, spot, strike, average } = shown.row
  const lines = {
    ...span,
    spot: pointsOf(shown, 'spot', spot?.price ?? null),
    average: pointsOf(shown, 'average', average?.price ?? null),
    strike,
    reach: reachOf(shown.row),
  }
  const parts = [
    `${symbol.toUpperCase()} ${showCoinPrice(spot?.price)}`,
    `strike ${showCoinPrice(strike)}`,
    ...(average === null ? [] : [`average ${showCoinPrice(average.price)}`]),
  ]
  return <PriceChart lines={lines} label={parts.join(', ')} />
}

/**
 * Standard deviations that fit between the strike and an edge of a chart: all have the same scale.
 */
const DEVIATIONS_SHOWN = 3

function reachOf(row: Row): number | undefined {
  const table = tableOf(row)
  const deviation = table && deviationOf(table)
  return deviation && DEVIATIONS_SHOWN * deviation
}

function WindowProbability({ shown }: { shown: Shown }) {
  const span = spanOf(shown)
  if (span === undefined) return null
  const { row, series } = shown
  const first = series?.mid.find((mid) => mid !== null)
  const label = `Up ${showProbability(row.mid)}${first == null ? '' : `, ${showProbability(first)} at the start`}`
  return <ProbabilityChart line={{ ...span, mid: pointsOf(shown, 'mid', row.mid) }} label={label} />
}

function spanOf({ row: { windowStart, windowEnd } }: Shown) {
  if (windowStart === null || windowEnd === null) return undefined
  return { fromMs: Date.parse(windowStart), toMs: Date.parse(windowEnd) }
}

/** The points of a line so far, with its current value. */
function pointsOf(
  { series, nowMs, row }: Shown,
  line: 'mid' | 'spot' | 'average',
  now: number | null,
): Point[] {
  const { fromMs = 0, stepMs = 1 } = series ?? {}
  const before = (series?.[line] ?? []).map((value, at): Point => [fromMs + at * stepMs, value])
  const endMs = row.windowEnd === null ? nowMs : Date.parse(row.windowEnd)
  return [...before, [Math.min(nowMs, endMs), now]]
}
