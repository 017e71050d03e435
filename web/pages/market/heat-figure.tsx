import { useMemo, useRef, useState } from 'preact/hooks'

import { quantileOf } from '../../charts/heat-colors.ts'
import { withBooks } from '../../charts/heat-live.ts'
import { HeatMap } from '../../charts/heat-map.tsx'
import { type TimeAxis, zoom } from '../../charts/time-axis.ts'
import type { Book, Heatmap, Market, Outcome, Trade } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { showCompact } from '../../lib/format.ts'
import { setQuery } from '../../lib/location.ts'
import type { Cell } from '../../lib/save.ts'
import { Figure } from '../../parts/figure.tsx'
import { type Aggregation, aggregations } from './load-market.ts'

type Props = {
  axis: TimeAxis
  market: Market
  outcome: Outcome
  agg: Aggregation
  heat: Heatmap | undefined
  books: readonly Book[]
  trades: readonly Trade[]
  calls: readonly Call[]
}

const texts: Record<Aggregation, string> = { max: 'Max', last: 'Last', 'time-weighted': 'Average' }
const CUT_OFF_SHARE = 96
const ZOOM = 1.6

export function HeatFigure({ axis, market, outcome, agg, heat, books, trades, calls }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [share, setShare] = useState(CUT_OFF_SHARE)
  const shown = useMemo(() => heat && withBooks(heat, books), [heat, books])
  const sizes = useMemo(() => (heat ? sizesOf(heat) : []), [heat])
  const cutOff = quantileOf(sizes, share / 100)
  const around = (factor: number) => zoom(axis, axis.cursorMs.get(), factor)
  return (
    <Figure
      title={`Liquidity of ${outcome}`}
      name={`heatmap-${market.symbol}-${outcome}-${market.conditionId.slice(0, 10)}`}
      calls={calls}
      canvas={() => canvas.current}
      rows={() => toRows(shown)}
      tools={
        <>
          <div class="tabs small" role="group" aria-label="Size of a cell">
            {aggregations.map((each) => (
              <button
                key={each}
                type="button"
                aria-pressed={each === agg}
                onClick={() => setQuery({ agg: each === 'max' ? undefined : each })}
              >
                {texts[each]}
              </button>
            ))}
          </div>
          <span class="row zoom">
            <button
              type="button"
              class="button tiny"
              aria-label="Zoom in"
              onClick={() => around(1 / ZOOM)}
            >
              +
            </button>
            <button
              type="button"
              class="button tiny"
              aria-label="Zoom out"
              onClick={() => around(ZOOM)}
            >
              −
            </button>
            <button type="button" class="button tiny" onClick={() => axis.view.set(axis.whole)}>
              All
            </button>
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
            <i class="key dot-key" /> trades by side
          </span>
          <span>
            <i class="key stripes" /> not recorded
          </span>
          <label class="cut-off">
            Full colour from
            <input
              type="range"
              min={50}
              max={100}
              step={0.5}
              value={share}
              onInput={({ currentTarget }) => setShare(Number(currentTarget.value))}
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

const sizesOf = ({ columns }: Heatmap): number[] =>
  columns.flatMap((column) =>
    column === null ? [] : [...column.bids.sizes, ...column.asks.sizes].filter((size) => size > 0),
  )

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
