/** Prices, spreads and the coin itself over time. */

import { useMemo, useRef } from 'preact/hooks'

import { indexAt } from '../../charts/find-at.ts'
import { type Line, LineChart } from '../../charts/line-chart.tsx'
import { type LineData, outcomesIn } from '../../charts/line-data.ts'
import type { TimeAxis } from '../../charts/time-axis.ts'
import type { Market } from '../../lib/bodies.ts'
import type { Call } from '../../lib/calls.ts'
import { outcomeNames, showCoinPrice, showPrice } from '../../lib/format.ts'
import type { Cell } from '../../lib/save.ts'
import { settlesFrom } from '../../lib/settlement.ts'
import { useStore } from '../../lib/store.ts'
import { Figure } from '../../parts/figure.tsx'
import { LegendKey } from '../../parts/legend-key.tsx'
import type { SpotSeries } from './load-market.ts'

type Shared = { axis: TimeAxis; market: Market; call: Call }

const outcomeLines: readonly Line[] = [
  { name: outcomeNames.up, color: '--bid' },
  { name: outcomeNames.down, color: '--ask' },
]
/** Both outcomes often have the same spread: neither line hides the other. */
const spreadLines: readonly Line[] = [
  { name: outcomeNames.up, color: '--bid' },
  { name: outcomeNames.down, color: '--ask', dash: [6, 6] },
]
const kinds = {
  price: { title: 'Mid price', height: 190, lines: outcomeLines },
  spread: { title: 'Spread', height: 120, lines: spreadLines },
} as const
type OutcomesProps = Shared & { kind: keyof typeof kinds; data: LineData }

/** A figure of the outcomes over time; one without data has no place in the legend. */
export function OutcomesFigure({ axis, market, call, kind, data }: OutcomesProps) {
  const canvas = useRef<HTMLCanvasElement | null>(null)
  const { title, height, lines } = kinds[kind]
  const outcomes = useMemo(() => outcomesIn(data), [data])
  const names = outcomes.map((each) => outcomeNames[each])
  return (
    <Figure
      {...{ title, name: `${kind}-${nameOf(market)}`, calls: [call] }}
      tools={
        <div class="legend">
          {outcomes.map((each) => (
            <span key={each} class={each}>
              <LegendKey sign={kind === 'spread' && each === 'down' ? 'dash' : 'line'} />{' '}
              {outcomeNames[each]}
            </span>
          ))}
        </div>
      }
      source={market.source}
      canvas={() => canvas.current}
      rows={() => toRows(withoutNoise(data), ['time', 'up', 'down'])}
    >
      <LineChart
        {...{ axis, data, lines, height, canvasRef: canvas }}
        label={`${title} of ${names.join(' and ')} over time`}
        {...(kind === 'price' ? { range: unit } : {})}
        showValue={showPrice}
      />
    </Figure>
  )
}
const unit: [number, number] = [0, 1]

const spotLines: readonly Line[] = [
  { name: 'spot', color: '--accent' },
  { name: 'strike', color: '--ink-soft', dash: [6, 4] },
]
const linesWithAverage: readonly Line[] = [...spotLines, { name: 'average', color: '--warn' }]

export function SpotFigure({ axis, market, call, ticks, averages }: Shared & SpotSeries) {
  const canvas = useRef<HTMLCanvasElement | null>(null)
  const { strike } = market
  const data = useMemo<LineData>(
    () => [
      ticks.map(({ timestamp }) => Date.parse(timestamp) / 1000),
      ticks.map(({ price }) => price),
      ticks.map(() => strike),
      ...(averages === undefined ? [] : [averages]),
    ],
    [ticks, averages, strike],
  )
  const hasAverage = averages !== undefined
  const title = `${market.symbol.toUpperCase()} spot price and strike`
  return (
    <Figure
      {...{ title, name: `spot-${nameOf(market)}`, calls: [call] }}
      source={market.source}
      canvas={() => canvas.current}
      rows={() => toRows(data, ['time', 'spot', 'strike', ...(hasAverage ? ['average'] : [])])}
      tools={
        <div class="legend">
          <span class="accent">
            <LegendKey sign="line" /> spot
          </span>
          <span>
            <LegendKey sign="dash" /> strike {showCoinPrice(strike)}
          </span>
          {hasAverage && <AverageKey {...{ axis, market, data }} />}
        </div>
      }
    >
      <LineChart
        {...{ axis, data, height: 150, canvasRef: canvas }}
        lines={hasAverage ? linesWithAverage : spotLines}
        showValue={showCoinPrice}
        label={`Spot price of the coin${hasAverage ? ', settlement average' : ''} and strike over time`}
      />
    </Figure>
  )
}

/** The average at the crosshair, with the part of its time that is over. */
function AverageKey({ axis, market, data }: Pick<Shared, 'axis' | 'market'> & { data: LineData }) {
  const ms = useStore(axis.cursorMs)
  const [times] = data
  const at = indexAt(times, ms / 1000)
  const average = data.at(-1)?.[at] ?? null
  const settledMs = (times[at] ?? 0) * 1000 - (settlesFrom(market) ?? Infinity)
  return (
    <span class="average num">
      <LegendKey sign="line" /> settlement average {showCoinPrice(average)}
      {settledMs > 0 && `, ${Math.round(settledMs / 1000)} s`}
    </span>
  )
}

const nameOf = ({ symbol, conditionId }: Market): string => `${symbol}-${conditionId.slice(0, 10)}`

/** Differences and middles of prices, which are millionths, without the noise of floats. */
const withoutNoise = ([times, ...lines]: LineData): LineData => [
  times,
  ...lines.map((line) =>
    line.map((value) => (value === null ? null : Math.round(value * 1e9) / 1e9)),
  ),
]

function* toRows(data: LineData, head: readonly string[]): Generator<readonly Cell[]> {
  yield head
  const [times, ...lines] = data
  for (const [index, seconds] of times.entries()) {
    yield [new Date(seconds * 1000).toISOString(), ...lines.map((line) => line[index])]
  }
}
