/** A row of the board: an open window as it is now. */

import { useEffect, useRef } from 'preact/hooks'

import { type Point, PriceChart, ProbabilityChart } from '../../charts/small-charts.tsx'
import { facts } from '../../lib/facts.ts'
import { deviationOf, type Edge, type Fair } from '../../lib/fair.ts'
import {
  outcomeNames,
  showChange,
  showCoinChange,
  showCoinPrice,
  showCompact,
  showCount,
  showLength,
  showMinute,
  showPrice,
  showProbability,
  showShare,
  showSome,
  showTime,
  showWindow,
} from '../../lib/format.ts'
import { navigate } from '../../lib/location.ts'
import { settlesFrom } from '../../lib/settlement.ts'
import { type Store, useStore } from '../../lib/store.ts'
import { SimulatedTag } from '../../parts/simulated.tsx'
import { edgeOfShown, fairOfRow, tableOf, tables } from './fair-prices.ts'
import type { FollowedBoard, Row, Shown } from './follow-board.ts'
import { type Needed, neededOf } from './needed.ts'
import { moveOf, pinned, rowLook, seriesOf } from './order.ts'

const reasons: Record<string, string> = {
  recorder_down: 'recorder down',
  venue_silent: 'venue silent',
  venue_restart: 'venue restarts',
  hash_mismatch: 'book not verified',
  not_open: 'not open',
  import: 'not imported',
}

type RowProps = { board: FollowedBoard; store: Store<Shown> }

export function WindowRow({ board, store }: RowProps) {
  const shown = useStore(store)
  const isLine = useStore(rowLook.store) === 'line'
  useStore(tables)
  const line = useRef<HTMLTableRowElement>(null)
  useEffect(() => (line.current === null ? undefined : board.observe(line.current)), [board])
  const { row, nowMs, isOver } = shown
  const { conditionId, symbol, timeframe, windowStart, windowEnd } = row
  const href = `/markets/${symbol}/${conditionId}`
  const name = `${symbol.toUpperCase()} ${timeframe}`
  const leftText = windowEnd === null ? 'open' : showLength(Date.parse(windowEnd) - nowMs)
  const times = showWindow(windowStart, windowEnd)
  return (
    <tr ref={line} data-window={conditionId} class={classOf(shown)} onClick={() => navigate(href)}>
      <th scope="row">
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
      </th>
      <td class="num board-left">{isOver ? 'over' : leftText}</td>
      <td class="board-price">
        <WindowPrices shown={shown} />
      </td>
      <td class="num board-spot">
        <Price row={row} nowMs={nowMs} isLine={isLine} />
      </td>
      <td class="num board-up">
        <WindowProbability shown={shown} />
        <b class={toneOf(row.mid)}>{showProbability(row.mid)}</b>
      </td>
      <FairCells shown={shown} />
      <td class="num right board-spread" data-name="Spread">
        {showPrice(row.spread)}
      </td>
      <td class="num right board-depth" data-name="Depth ±2¢">
        <Depth row={row} />
      </td>
      <td class="num right board-volume" data-name="Volume">
        {showCompact(row.volume)}
      </td>
      <td class="board-recording" title={isLine ? faultText(row) : undefined}>
        {isLine ? <RecordingFault row={row} /> : <Recording row={row} />}
      </td>
    </tr>
  )
}

/** How often Up won from here, and what that is worth beside the price. */
function FairCells({ shown }: { shown: Shown }) {
  const fair = shown.isOver ? undefined : fairOfRow(shown.row, shown.nowMs)
  const edge = fair && edgeOfShown(shown)
  return (
    <>
      <td class="num right board-fair" data-name="Fair">
        {fair === undefined ? (
          '–'
        ) : (
          <span title={distanceText(fair)}>
            {showProbability(fair.share)} <span class="note">of {showCount(fair.count)}</span>
          </span>
        )}
      </td>
      <td class="num right board-edge" data-name="Edge">
        {edge === undefined ? (
          '–'
        ) : (
          <span
            class={edge.isMeant ? edge.side : 'note'}
            title={edge.isMeant ? undefined : 'So few windows may differ from the price by chance.'}
          >
            {outcomeNames[edge.side]} +{showEdge(edge)}
          </span>
        )}
      </td>
    </>
  )
}

const showEdge = ({ size }: Edge): string => `${(100 * size).toFixed(1)}¢`

const distanceText = ({ distance, count, wins }: Fair): string =>
  `Up won ${showCount(wins)} of ${showSome(count, 'window')} that were, as this one, ${Math.abs(distance).toFixed(2)} standard deviations ${distance < 0 ? 'below' : 'above'} the strike.`

/** `08:00 – 08:05`, of windows of a day, too: all of them are open now. */
const showClock = (start: string | null, end: string | null): string =>
  start === null || end === null
    ? 'window unknown'
    : `${showMinute(Date.parse(start))} – ${showMinute(Date.parse(end))}`

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

/** Of what is not known none. */
const toneOf = (mid: number | null): string => {
  if (mid === null) return ''
  return mid < 0.5 ? 'down' : 'up'
}

/** With a wide spread no order is near the mid, which is not an empty book. */
function Depth({ row: { bidDepth, askDepth, spread } }: { row: Row }) {
  if (bidDepth !== 0 || askDepth !== 0) return `${showCompact(bidDepth)} / ${showCompact(askDepth)}`
  return <span title={`The spread is ${showPrice(spread)}.`}>none</span>
}

type PriceProps = { row: Row; nowMs: number; isLine: boolean }

/** Price of the coin, how far it is from the strike, and the average so far; at last what is needed. */
function Price({ row, nowMs, isLine }: PriceProps) {
  const { spot, strike, average } = row
  const move = moveOf(row)
  const needed = neededOf(row, nowMs)
  if (needed !== undefined && isLine) return <NeededText needed={needed} />
  return (
    <>
      <span>{spot === null ? 'no price' : showCoinPrice(spot.price)}</span>
      {needed === undefined && spot !== null && strike !== null && move !== undefined && (
        <span class={move < 0 ? 'down' : 'up'}>
          {showCoinChange(spot.price, strike)}
          {isLine ? '' : ` (${showChange(move)})`}
        </span>
      )}
      {strike === null && <span class="note">strike unknown</span>}
      {needed !== undefined && <NeededText needed={needed} />}
      {needed === undefined && average !== null && !isLine && (
        <span class="board-average">
          {average.isSettlement
            ? `avg ${showCoinPrice(average.price)}, ${Math.max(0, Math.round((nowMs - (settlesFrom(row) ?? nowMs)) / 1000))} s`
            : `avg ${showCoinPrice(average.price)}`}
        </span>
      )}
    </>
  )
}

const NeededText = ({ needed: { price, side, seconds, change } }: { needed: Needed }) => (
  <span class={`board-needed ${side}`} title={`From now on ${showCoinPrice(price)} on average.`}>
    needs {change} for {outcomeNames[side]} in {seconds} s
  </span>
)

/** Whether the book is of a time before now, if there is one. */
export const isUnrecorded = ({ recording }: Row): boolean => recording.state !== 'recorded'

/** `recorder down since 10:00:00 UTC`. */
export const gapText = ({ reason, since }: Row['recording']): string =>
  `${reason === null ? '' : reasons[reason]}${since === null ? '' : ` since ${showTime(Date.parse(since))} UTC`}`

function Recording({ row: { recording, source } }: { row: Row }) {
  const { state, covered } = recording
  const share = covered === null || covered === 1 ? '' : `${showShare(covered)} covered`
  if (state === 'none') return <span class="tag warn">not recorded</span>
  if (state === 'damaged')
    return (
      <span
        class="tag warn"
        title="What the server has stored of this window is damaged, and not served."
      >
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

/** Below this, some of the window is missing that a reader would notice. */
const COVERED_MIN = 0.99

/** What is wrong with the recording; empty where nothing is. */
function faultText({ recording }: Row): string {
  const { state, covered } = recording
  if (state === 'none') return 'not recorded'
  if (state === 'damaged') return 'damaged'
  if (state === 'gap') return gapText(recording)
  return covered !== null && covered < COVERED_MIN ? `${showShare(covered)} covered` : ''
}

/** The same; of what is right nothing. */
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

/** Standard deviations that fit between the strike and an edge of a chart: all have the same scale. */
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

/** What was kept of a line, and its value now. */
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
