/** Prices, spreads and the coin itself over time. */

import { useMemo, useRef } from 'preact/hooks'

import { type Line, LineChart, type LineData } from '../../charts/line-chart.tsx'
import type { TimeAxis } from '../../charts/time-axis.ts'
import type { Market, Spot } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { showDollars, showPrice } from '../../lib/format.ts'
import type { Cell } from '../../lib/save.ts'
import { Figure } from '../../parts/figure.tsx'

type Shared = { axis: TimeAxis; market: Market; call: Call }

const outcomeLines: readonly Line[] = [
  { name: 'up', color: '--bid' },
  { name: 'down', color: '--ask' },
]
const legend = (
  <div class="legend">
    <span class="up">
      <i class="key" /> up
    </span>
    <span class="down">
      <i class="key" /> down
    </span>
  </div>
)

export function PriceFigure({ axis, market, call, data }: Shared & { data: LineData }) {
  const canvas = useRef<HTMLCanvasElement | null>(null)
  return (
    <Figure
      {...{ title: 'Price', name: `price-${nameOf(market)}`, calls: [call], tools: legend }}
      canvas={() => canvas.current}
      rows={() => toRows(data, ['time', 'up', 'down'])}
    >
      <LineChart
        {...{ axis, data, lines: outcomeLines, height: 190, range: unit, canvasRef: canvas }}
        showValue={showPrice}
        label="Middle of best bid and ask of up and of down"
      />
    </Figure>
  )
}
const unit: [number, number] = [0, 1]

export function SpreadFigure({ axis, market, call, data }: Shared & { data: LineData }) {
  const canvas = useRef<HTMLCanvasElement | null>(null)
  return (
    <Figure
      {...{ title: 'Spread', name: `spread-${nameOf(market)}`, calls: [call], tools: legend }}
      canvas={() => canvas.current}
      rows={() => toRows(data, ['time', 'up', 'down'])}
    >
      <LineChart
        {...{ axis, data, lines: outcomeLines, height: 120, canvasRef: canvas }}
        showValue={showPrice}
        label="Best ask minus best bid of up and of down"
      />
    </Figure>
  )
}

const spotLines: readonly Line[] = [
  { name: 'spot', color: '--accent' },
  { name: 'strike', color: '--ink-soft', dash: [6, 4] },
]

export function SpotFigure({ axis, market, call, ticks }: Shared & { ticks: readonly Spot[] }) {
  const canvas = useRef<HTMLCanvasElement | null>(null)
  const { strike } = market
  const data = useMemo<LineData>(
    () => [
      ticks.map(({ timestamp }) => Date.parse(timestamp) / 1000),
      ticks.map(({ price }) => price),
      ticks.map(() => strike),
    ],
    [ticks, strike],
  )
  const title = `${market.symbol.toUpperCase()} and the strike`
  return (
    <Figure
      {...{ title, name: `spot-${nameOf(market)}`, calls: [call] }}
      canvas={() => canvas.current}
      rows={() => toRows(data, ['time', 'spot', 'strike'])}
      tools={
        <div class="legend">
          <span class="accent">
            <i class="key" /> {market.symbol.toUpperCase()}
          </span>
          <span>
            <i class="key" /> strike {showDollars(strike)}
          </span>
        </div>
      }
    >
      <LineChart
        {...{ axis, data, lines: spotLines, height: 150, canvasRef: canvas }}
        showValue={(price) => price.toLocaleString('en-US')}
        label="Price of the coin against the strike"
      />
    </Figure>
  )
}

const nameOf = ({ symbol, conditionId }: Market): string => `${symbol}-${conditionId.slice(0, 10)}`

function* toRows(data: LineData, head: readonly string[]): Generator<readonly Cell[]> {
  yield head
  const [times, ...lines] = data
  for (const [index, seconds] of times.entries()) {
    yield [new Date(seconds * 1000).toISOString(), ...lines.map((line) => line[index])]
  }
}
