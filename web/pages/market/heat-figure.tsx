import { useMemo, useRef, useState } from 'preact/hooks'

import { quantileOf, type SizeScale, sizeScales } from '../../charts/heat-colors.ts'
import {
  cellRows,
  finestOf,
  hasRemoved,
  rangeQuery,
  removedShare,
  sizesOf,
} from '../../charts/heat-columns.ts'
import { type Edge, missingTo, withBooks } from '../../charts/heat-live.ts'
import { HeatMap } from '../../charts/heat-map.tsx'
import { dotRadius, largestOf, markSizes } from '../../charts/heat-marks.ts'
import type { BestPrices } from '../../charts/heat-readout.ts'
import { HeatScale } from '../../charts/heat-scale.tsx'
import type { Gap } from '../../charts/line-data.ts'
import { mirrorOf } from '../../charts/mirror.ts'
import { type Range, type TimeAxis, useSettledView, zoom } from '../../charts/time-axis.ts'
import type { ShownTrade } from '../../charts/trade-outcomes.ts'
import type { Book, Heatmap, Market, Outcome, Trade } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { serverNowMs } from '../../lib/clock.ts'
import { lostStore } from '../../lib/connection.ts'
import {
  outcomeNames,
  showCompact,
  showDate,
  showMoment,
  showShare,
  showSome,
} from '../../lib/format.ts'
import { createKept } from '../../lib/kept.ts'
import { setQuery } from '../../lib/location.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Figure } from '../../parts/figure.tsx'
import { LegendKey } from '../../parts/legend-key.tsx'
import { PanelButton } from '../../parts/panel-button.tsx'
import { type Aggregation, useFinerHeatmap } from './load-market.ts'
import { readNumber } from './shared-view.ts'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  /** The other outcome's books are shown, mirrored. */
  isMirrored: boolean
  agg: Aggregation
  /** The heat map of the whole window. */
  heat: Heatmap | undefined
  books: readonly Book[]
  best: BestPrices
  /** Gaps of the outcome. */
  gaps: readonly Gap[]
  trades: readonly ShownTrade[]
  /** The request of `heat`. */
  call: Call
  tradesCall: Call
  /** Another value sends the request again. */
  again: string
}

const modes = [
  ['max', 'Max'],
  ['last', 'Last'],
  ['time-weighted', 'Average'],
] as const satisfies readonly [Aggregation, string][]
const scales = [
  ['root', 'Root'],
  ['log', 'Log'],
] as const satisfies readonly [SizeScale, string][]
/** The chosen scale, kept in this browser. */
const keptScale = createKept<SizeScale>(
  'bookfeed.size-scale',
  (stored) => sizeScales.find((each) => each === stored) ?? 'root',
)
const CUT_OFF_SHARE = 96
const SHARE_MIN = 50
const ZOOM = 1.6

export function HeatFigure(props: Props) {
  const { axis, market, outcome, isMirrored, agg, heat, books, best, gaps, trades } = props
  const { call, tradesCall, again } = props
  const canvas = useRef<HTMLCanvasElement>(null)
  const [share, setShare] = useState(readNumber('full', SHARE_MIN, 100) ?? CUT_OFF_SHARE)
  const scale = useStore(keptScale.store)
  const [hasMarks, setMarks] = useState(readNumber('marks', 0, 0) === undefined)
  const sizes = useMemo(() => {
    if (heat) performance.mark('heat-data')
    return heat ? sizesOf(heat) : new Float64Array(0)
  }, [heat])
  const seen = useSettledView(axis)
  const finer = useFinerHeatmap({ heat, isMirrored, call, whole: axis.whole, shown: seen, again })
  const shown = useMemo(() => heat && withBooks(heat, books, gaps), [heat, books, gaps])
  const shownFiner = useMemo(() => finer && withBooks(finer, books, gaps), [finer, books, gaps])
  const edge = () => edgeOf(shown, shownFiner, gaps, market.status === 'open')
  const cutOff = quantileOf(sizes, share / 100)
  const around = (factor: number) => zoom(axis, axis.cursorMs.get(), factor)
  /** The finest heat map that covers a range. */
  const seenHeat = (range: Range) =>
    finestOf(
      [shown, shownFiner].filter((each) => each !== undefined),
      range,
    )
  const notes = notesOf(seenHeat(seen), seen, trades)
  const isWhole = seen.fromMs === axis.whole.fromMs && seen.toMs === axis.whole.toMs
  const calls = isWhole ? [call, tradesCall] : callsOf(call, tradesCall, seenHeat(seen), seen)
  return (
    <Figure
      title={`${outcomeNames[outcome]} heat map${isMirrored ? mirrorOf(outcome) : ''}`}
      name={`heatmap-${market.symbol}-${outcome}-${market.conditionId.slice(0, 10)}`}
      source={market.source}
      calls={calls}
      canvas={() => canvas.current}
      rows={() => cellRows(seenHeat(axis.view.get()), axis.view.get())}
      notes={() => [
        spanText(axis.view.get()),
        `Full colour from ${showCompact(cutOff)} shares (p${share} of sizes), by the ${scale === 'root' ? 'root' : 'logarithm'} of size`,
        ...notes,
      ]}
      tools={
        <>
          <span class="row zoom">
            <Button text="+" look="tiny" aria-label="Zoom in" onClick={() => around(1 / ZOOM)} />
            <Button text="−" look="tiny" aria-label="Zoom out" onClick={() => around(ZOOM)} />
            <Button
              text="All"
              look="tiny"
              onClick={() => {
                axis.view.set(axis.whole)
                axis.prices.set('all')
              }}
            />
            <FitButton axis={axis} />
          </span>
          <PanelButton text="View" name="View of the heat map">
            {() => (
              <div class="heat-view">
                <span>Size of a cell</span>
                <Choice
                  label="Size of a cell"
                  look="small"
                  options={modes}
                  value={agg}
                  onChoose={(each) => setQuery({ agg: each === 'max' ? undefined : each })}
                />
                <span>Colour by</span>
                <Choice
                  label="Colour by"
                  look="small"
                  options={scales}
                  value={scale}
                  onChoose={keptScale.set}
                />
                <span>Full colour</span>
                <label class="row cut-off">
                  <input
                    type="range"
                    aria-label="Full colour from this percentile of sizes"
                    min={SHARE_MIN}
                    max={100}
                    step={0.5}
                    value={share}
                    onInput={({ currentTarget }) => setShare(Number(currentTarget.value))}
                    onChange={({ currentTarget: { value } }) =>
                      setQuery({ full: Number(value) === CUT_OFF_SHARE ? undefined : value })
                    }
                  />
                  <output class="num">p{share}</output>
                </label>
                <span>Sizes</span>
                <HeatScale cutOff={cutOff} scale={scale} />
                {shown && hasRemoved(shown) && (
                  <>
                    <span>Pulled, traded</span>
                    <label class="check">
                      <input
                        type="checkbox"
                        checked={hasMarks}
                        onChange={({ currentTarget: { checked } }) => {
                          setMarks(checked)
                          setQuery({ marks: checked ? undefined : '0' })
                        }}
                      />
                      marks
                    </label>
                  </>
                )}
                {notes.map((note) => (
                  <p key={note} class="note">
                    {note}
                  </p>
                ))}
              </div>
            )}
          </PanelButton>
        </>
      }
      legend={
        <>
          <span class="up">
            <LegendKey sign="ramp" /> bids
          </span>
          <span class="down">
            <LegendKey sign="ramp" /> asks{' '}
            <span class="wide">(full from {showCompact(cutOff)})</span>
          </span>
          <span>
            <LegendKey sign="stripes" /> <span class="long">not recorded</span>
            <span class="narrow">gap</span>
          </span>
          {/* Its space is reserved, so that nothing moves when trades arrive. */}
          <span
            class={trades.length > 0 ? 'trade-sizes' : 'trade-sizes unseen'}
            data-saved="trades, larger dots for more shares"
          >
            <TradeSizes trades={trades} />
          </span>
          {market.status !== 'upcoming' && (
            <Marks heat={seenHeat(seen)} cutOff={cutOff} isOn={hasMarks} seen={seen} />
          )}
        </>
      }
    >
      {shown ? (
        <HeatMap
          {...{ axis, heat: shown, finer: shownFiner, best, trades, edge }}
          {...{ hasMarks, canvasRef: canvas }}
          shading={{ cutOff, scale }}
        />
      ) : (
        <>
          <p class="heat-readout note" />
          <div class="heat" aria-busy="true" />
        </>
      )}
    </Figure>
  )
}

/** Prices around the mid, which the picture then follows. */
function FitButton({ axis }: { axis: TimeAxis }) {
  const isFitted = useStore(axis.prices) === 'fit'
  return (
    <Button
      text="Fit"
      look="tiny"
      aria-keyshortcuts="f"
      aria-pressed={isFitted}
      title="Prices around the mid (F)"
      onClick={() => axis.prices.set(isFitted ? 'all' : 'fit')}
    />
  )
}

/** Rows may be newer than the clock of this device. */
const CLOCK_MS = 2_000

/** Nothing is known of the time since the server was last reached. */
function edgeOf(
  heat: Heatmap | undefined,
  finer: Heatmap | undefined,
  gaps: readonly Gap[],
  isOpen: boolean,
): Edge {
  const untilMs = Math.min(serverNowMs(), lostStore.get() ?? Infinity)
  const missingToMs = heat && isOpen ? missingTo(heat, finer, gaps, untilMs) : untilMs
  return { missingToMs, knownToMs: untilMs + CLOCK_MS }
}

/** The requests for the visible time, with its columns. */
function callsOf(call: Call, tradesCall: Call, heat: Heatmap | undefined, seen: Range): Call[] {
  if (heat === undefined) return [call, tradesCall]
  const { timeBins, from, to } = rangeQuery(heat, seen)
  return [
    { path: call.path, query: { ...call.query, from, to, timeBins } },
    { path: tradesCall.path, query: { ...tradesCall.query, from, to } },
  ]
}

const spanText = ({ fromMs, toMs }: Range): string =>
  `${showDate(fromMs)}, ${showMoment(fromMs)} to ${showMoment(toMs)} UTC`

/** Dots of two round sizes, as large as trades of these sizes are drawn. */
function TradeSizes({ trades }: { trades: readonly Trade[] }) {
  const largest = largestOf(trades)
  const most = largest === 0 ? 0 : 10 ** Math.floor(Math.log10(largest))
  const dot = (size: number) => (
    <i
      class="dot-key"
      data-sign="dot"
      style={{ '--radius': `${largest === 0 ? 4 : dotRadius(size, largest)}px` }}
    />
  )
  return (
    <>
      {dot(most / 10)} {dot(most)} trades
      <span class="wide">
        {' '}
        of {showCompact(most / 10)} and {showCompact(most)}
      </span>
    </>
  )
}

/** Coverage that counts as complete: the first column is never known. */
const NEARLY_ALL = 0.99

/** Notes that do not fit into the legend. */
function notesOf(heat: Heatmap | undefined, seen: Range, trades: readonly ShownTrade[]): string[] {
  const known = heat?.trades !== undefined && hasRemoved(heat) ? removedShare(heat, seen) : 1
  const failed = trades.filter(({ chain }) => chain === 'failed').length
  return [
    ...(known < NEARLY_ALL
      ? [`Pulled and traded sizes are known for ${showShare(known)} of this view.`]
      : []),
    ...(trades.length > 0
      ? ['Trades are green where the taker bought this outcome or sold the other, else red.']
      : []),
    ...(failed > 0 ? [`The chain has reverted ${showSome(failed, 'trade')}.`] : []),
    ...(trades.some(({ isGuessed }) => isGuessed)
      ? [
          'The source does not say which outcome was traded: a trade is at the price nearer to the mid.',
        ]
      : []),
  ]
}

type MarksProps = {
  /** The heat map that covers the view. */
  heat: Heatmap | undefined
  seen: Range
  cutOff: number
  isOn: boolean
}

/**
 * Legend of the marks; says so if there are none because trades, their sizes or sides are missing.
 */
function Marks({ heat, seen, cutOff, isOn }: MarksProps) {
  // A tier without trades has no removed sizes.
  if (heat?.trades === undefined) return null
  if (!hasRemoved(heat)) {
    return (
      <span>
        no marks<span class="long">: trades are not recorded here</span>
      </span>
    )
  }
  if (!isOn) return null
  const sizes = markSizes(cutOff)
  const known = removedShare(heat, seen)
  return (
    <>
      <span class="pulled">
        <LegendKey sign="cross" /> pulled
        <span class="wide"> from {showCompact(sizes.pulled)}</span>
      </span>
      <span class="traded">
        <LegendKey sign="diamond" /> traded
        <span class="wide"> from {showCompact(sizes.traded)}</span>
      </span>
      {known < NEARLY_ALL && (
        <span
          class="removed-share long"
          data-saved=""
          title={`Pulled and traded sizes are known for ${showShare(known)} of this view`}
        >
          known for {showShare(known)}
        </span>
      )}
    </>
  )
}
