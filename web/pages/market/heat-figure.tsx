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
import { outcomeNames, showCompact, showDay, showMoment, showShare } from '../../lib/format.ts'
import { createKept } from '../../lib/kept.ts'
import { setQuery } from '../../lib/location.ts'
import { useStore } from '../../lib/store.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Figure } from '../../parts/figure.tsx'
import { type Aggregation, useFinerHeatmap } from './load-market.ts'
import { readNumber } from './shared-view.ts'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  /** The other outcome's books are shown, mirrored. */
  isMirrored: boolean
  agg: Aggregation
  /** Of the whole window. */
  heat: Heatmap | undefined
  books: readonly Book[]
  best: BestPrices
  /** Of the outcome. */
  gaps: readonly Gap[]
  trades: readonly ShownTrade[]
  /** The request of `heat`. */
  call: Call
  tradesCall: Call
  /** Requests again when it is another one. */
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
/** Which one, in this browser. */
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
  const edge = () => edgeOf(shown, gaps, market.status === 'open')
  const cutOff = quantileOf(sizes, share / 100)
  const around = (factor: number) => zoom(axis, axis.cursorMs.get(), factor)
  /** The heat map that has all that is seen, in its finest columns. */
  const seenHeat = (range: Range) =>
    finestOf(
      [shown, shownFiner].filter((each) => each !== undefined),
      range,
    )
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
        `Full colour at ${showCompact(cutOff)} shares and more (percentile ${share} of sizes)`,
      ]}
      tools={
        <>
          <Choice
            label="Size of a cell"
            look="small"
            options={modes}
            value={agg}
            onChoose={(each) => setQuery({ agg: each === 'max' ? undefined : each })}
          />
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
        </>
      }
      legend={
        <>
          <span class="up">
            <i class="key square" /> bids, best bid
          </span>
          <span class="down">
            <i class="key square" /> asks, best ask
          </span>
          <span>
            <i class="key stripes" /> not recorded
          </span>
          <div class="row cut-off">
            <Choice
              label="Colour by"
              look="small"
              options={scales}
              value={scale}
              onChoose={keptScale.set}
            />
            <HeatScale key={cutOff} cutOff={cutOff} scale={scale} />
            <label class="row">
              Full colour at percentile
              <input
                type="range"
                min={SHARE_MIN}
                max={100}
                step={0.5}
                value={share}
                onInput={({ currentTarget }) => setShare(Number(currentTarget.value))}
                onChange={({ currentTarget: { value } }) =>
                  setQuery({ full: Number(value) === CUT_OFF_SHARE ? undefined : value })
                }
              />
              <output class="num">{share}</output>
            </label>
          </div>
          {/* Its room is kept: nothing moves when trades and marks come. */}
          <div class="legend heat-legend">
            <span class={trades.length > 0 ? 'trade-sizes' : 'trade-sizes unseen'}>
              <TradeSizes trades={trades} /> trades by side
            </span>
            {trades.some(({ isGuessed }) => isGuessed) && (
              <span>outcome of trades not stated: placed at the price nearer to the mid</span>
            )}
            {market.status !== 'upcoming' && (
              <Marks heat={seenHeat(seen)} seen={seen} cutOff={cutOff} isOn={hasMarks} />
            )}
            {shown && hasRemoved(shown) && (
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
            )}
          </div>
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

/** While the server cannot be reached, nothing is known of what happens. */
function edgeOf(heat: Heatmap | undefined, gaps: readonly Gap[], isOpen: boolean): Edge {
  const untilMs = Math.min(serverNowMs(), lostStore.get() ?? Infinity)
  const missingToMs = heat && isOpen ? missingTo(heat, gaps, untilMs) : untilMs
  return { missingToMs, knownToMs: untilMs + CLOCK_MS }
}

/** The requests of what is seen, in the columns in which it is seen. */
function callsOf(call: Call, tradesCall: Call, heat: Heatmap | undefined, seen: Range): Call[] {
  if (heat === undefined) return [call, tradesCall]
  const { timeBins, from, to } = rangeQuery(heat, seen)
  return [
    { path: call.path, query: { ...call.query, from, to, timeBins } },
    { path: tradesCall.path, query: { ...tradesCall.query, from, to } },
  ]
}

const spanText = ({ fromMs, toMs }: Range): string =>
  `${showDay(fromMs)} ${new Date(fromMs).getUTCFullYear()}, ${showMoment(fromMs)} to ${showMoment(toMs)} UTC`

/** Dots of two round sizes, as large as trades of these sizes are drawn. */
function TradeSizes({ trades }: { trades: readonly Trade[] }) {
  const largest = largestOf(trades)
  if (largest === 0) return <i class="key dot-key" />
  const most = 10 ** Math.floor(Math.log10(largest))
  const dot = (size: number) => (
    <i class="key dot-key" style={{ '--radius': `${dotRadius(size, largest)}px` }} />
  )
  return (
    <>
      {dot(most / 10)} {dot(most)} {showCompact(most / 10)} and {showCompact(most)} shares,
    </>
  )
}

type MarksProps = {
  /** The heat map that has all of what is seen. */
  heat: Heatmap | undefined
  seen: Range
  cutOff: number
  isOn: boolean
}

/** Of the first column nothing is known, and a few others have nothing to say of the whole. */
const NEARLY_ALL = 0.99

/** What the marks mean, or that there are none: trades are missing, or their sizes and sides. */
function Marks({ heat, seen, cutOff, isOn }: MarksProps) {
  // A tier without trades sees nothing of it.
  if (heat?.trades === undefined) return null
  if (!hasRemoved(heat)) return <span>no marks: trades are not recorded here</span>
  if (!isOn) return null
  const sizes = markSizes(cutOff)
  const share = removedShare(heat, seen)
  return (
    <>
      <span class="pulled">
        <b aria-hidden="true">×</b> pulled, from {showCompact(sizes.pulled)} shares
      </span>
      <span class="traded">
        <b aria-hidden="true">◆</b> traded, from {showCompact(sizes.traded)}
      </span>
      {share < NEARLY_ALL && (
        <span class="removed-share">
          Pulled and traded sizes are known for {showShare(share)} of this view
        </span>
      )}
    </>
  )
}
