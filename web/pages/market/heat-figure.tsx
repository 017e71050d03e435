import { useMemo, useRef, useState } from 'preact/hooks'

import { quantileOf } from '../../charts/heat-colors.ts'
import { withBooks } from '../../charts/heat-live.ts'
import { HeatMap } from '../../charts/heat-map.tsx'
import type { Gap } from '../../charts/line-data.ts'
import { mirrorOf } from '../../charts/mirror.ts'
import { type TimeAxis, zoom } from '../../charts/time-axis.ts'
import type { ShownTrade } from '../../charts/trade-outcomes.ts'
import type { Book, Heatmap, Market, Outcome } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { outcomeNames, showCompact } from '../../lib/format.ts'
import { setQuery } from '../../lib/location.ts'
import type { Cell } from '../../lib/save.ts'
import { Button } from '../../parts/button.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Figure } from '../../parts/figure.tsx'
import type { Aggregation } from './load-market.ts'
import { readNumber } from './shared-view.ts'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  /** The other outcome's books are shown, mirrored. */
  isMirrored: boolean
  agg: Aggregation
  heat: Heatmap | undefined
  books: readonly Book[]
  /** Of the outcome. */
  gaps: readonly Gap[]
  trades: readonly ShownTrade[]
  calls: readonly Call[]
}

const modes = [
  ['max', 'Max'],
  ['last', 'Last'],
  ['time-weighted', 'Average'],
] as const satisfies readonly [Aggregation, string][]
const CUT_OFF_SHARE = 96
const SHARE_MIN = 50
const ZOOM = 1.6

export function HeatFigure({
  axis,
  market,
  outcome,
  isMirrored,
  agg,
  heat,
  books,
  gaps,
  trades,
  calls,
}: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [share, setShare] = useState(readNumber('full', SHARE_MIN, 100) ?? CUT_OFF_SHARE)
  const sizes = useMemo(() => {
    if (heat) performance.mark('heat-data')
    return heat ? sizesOf(heat) : new Float64Array(0)
  }, [heat])
  const shown = useMemo(() => heat && withBooks(heat, books, gaps), [heat, books, gaps])
  const cutOff = quantileOf(sizes, share / 100)
  const around = (factor: number) => zoom(axis, axis.cursorMs.get(), factor)
  return (
    <Figure
      title={`${outcomeNames[outcome]} heat map${isMirrored ? mirrorOf(outcome) : ''}`}
      name={`heatmap-${market.symbol}-${outcome}-${market.conditionId.slice(0, 10)}`}
      source={market.source}
      calls={calls}
      canvas={() => canvas.current}
      rows={() => toRows(shown)}
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
            <Button text="All" look="tiny" onClick={() => axis.view.set(axis.whole)} />
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
          {/* Its room is kept: nothing moves when there are some. */}
          <span class={trades.length > 0 ? '' : 'unseen'}>
            <i class="key dot-key" /> trades by side
          </span>
          {trades.some(({ isGuessed }) => isGuessed) && (
            <span>outcome of trades not stated: placed at the price nearer to the mid</span>
          )}
          <label class="cut-off">
            Full colour from
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
            <output class="num">{`${showCompact(cutOff)} shares`}</output>
          </label>
        </>
      }
    >
      {shown ? (
        <HeatMap {...{ axis, heat: shown, trades, cutOff, canvasRef: canvas }} />
      ) : (
        <div class="heat" aria-busy="true" />
      )}
    </Figure>
  )
}

/** Of all cells, ascending. */
function sizesOf({ columns }: Heatmap): Float64Array {
  const sizes: number[] = []
  for (const column of columns) {
    for (const size of column?.bids.sizes ?? []) if (size > 0) sizes.push(size)
    for (const size of column?.asks.sizes ?? []) if (size > 0) sizes.push(size)
  }
  // Numbers in an array of theirs are sorted several times as fast.
  return Float64Array.from(sizes).sort()
}

function* toRows(heat: Heatmap | undefined): Generator<readonly Cell[]> {
  yield ['time', 'side', 'price', 'size']
  if (heat === undefined) return
  const startMs = Date.parse(heat.from)
  for (const [index, column] of heat.columns.entries()) {
    const time = new Date(startMs + index * heat.stepMs).toISOString()
    if (column === null) {
      yield [time, 'unknown', null, null]
      continue
    }
    for (const side of ['bids', 'asks'] as const) {
      const { from, sizes } = column[side]
      for (const [at, size] of sizes.entries()) {
        // A bin is a whole number of steps of price.
        const price = Math.round((from + at) * heat.priceStep * 1e6) / 1e6
        yield [time, side === 'bids' ? 'bid' : 'ask', price, size]
      }
    }
  }
}
