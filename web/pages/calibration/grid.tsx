/** Shares of markets that an outcome won: by price and moment, and bin by bin for one moment. */

import { useRef } from 'preact/hooks'

import {
  type Bin,
  type Column,
  COUNT_MIN,
  type Grid,
  type LeftOut,
  verdictOf,
} from '../../lib/calibration.ts'
import {
  outcomeNames,
  showCount,
  showPrice,
  showShare,
  showSome,
  showSpan,
} from '../../lib/format.ts'
import { setQuery } from '../../lib/location.ts'
import type { Cell } from '../../lib/save.ts'
import { Choice } from '../../parts/choice.tsx'
import { Figure } from '../../parts/figure.tsx'
import { LegendKey } from '../../parts/legend-key.tsx'
import { ReliabilityChart } from './charts.tsx'
import type { PanelCall, View } from './view.ts'

export type FigureProps = {
  coin: string
  view: View
  call: PanelCall
  guestToken: string | undefined
  source: string
}
type GridProps = FigureProps & { grid: Grid | undefined }

/** The requests behind the figures: the first page, from which the others follow. */
export const callsOf = ({ coin, offsets, ...range }: PanelCall) => [
  { path: `/v1/${coin}/panel`, query: { ...range, offsets: offsets.join(','), limit: 500 } },
]

const showBin = ({ fromCents, toCents }: Pick<Bin, 'fromCents' | 'toCents'>): string =>
  `${fromCents}–${toCents}¢`

const showInterval = ({ interval: { low, high } }: Bin): string =>
  `${showShare(low)} to ${showShare(high)}`

export function describeLeftOut({ gap, noPrice, noWinner }: LeftOut): string {
  const parts = [
    gap > 0 ? `${showSome(gap, 'market')} in a gap of the recording` : '',
    noPrice > 0 ? `${showCount(noPrice)} without a price` : '',
    noWinner > 0 ? `${showCount(noWinner)} without a winner (unresolved or void)` : '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'No market is left out.' : `Left out: ${parts.join(', ')}.`
}

const verdictTexts = {
  more: 'won more often than priced',
  less: 'won less often',
  fits: `the price lies within the 95 % interval, or fewer than ${COUNT_MIN} markets`,
} as const

const Legend = () => (
  <>
    {(['more', 'less', 'fits'] as const).map((verdict) => (
      <span key={verdict}>
        <LegendKey sign="square" class={`verdict-${verdict}`} />
        {verdictTexts[verdict]}
      </span>
    ))}
    <span>About one cell in twenty differs by chance alone.</span>
  </>
)

export function GridFigure({ coin, view, call, guestToken, source, grid }: GridProps) {
  const { outcome, widthCents, timeframe } = view
  const columns = grid?.columns ?? []
  const rows = Array.from({ length: 100 / widthCents }, (_, index) => ({
    fromCents: index * widthCents,
    toCents: (index + 1) * widthCents,
    bins: columns.map(({ bins }) => bins[index]),
  })).toReversed()
  const title = `How often ${outcomeNames[outcome]} won, by its mid and the time before the end`
  return (
    <Figure
      title={title}
      name={`calibration-${coin}-${timeframe}-${outcome}`}
      source={source}
      calls={callsOf(call)}
      guestToken={guestToken}
      rows={() => toRows(columns)}
      legend={<Legend />}
    >
      <div class="table-wrap" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
        <table class="calibration-grid num" aria-busy={grid === undefined}>
          <thead>
            <tr>
              <th scope="col">Mid</th>
              {view.length.moments.map((ms) => (
                <th key={ms} scope="col">
                  {showSpan(ms)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ fromCents, toCents, bins }) => (
              <tr key={fromCents}>
                <th scope="row">{showBin({ fromCents, toCents })}</th>
                {view.length.moments.map((ms, index) => (
                  <GridCell key={ms} bin={bins[index]} />
                ))}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">All</th>
              {view.length.moments.map((ms, index) => (
                <td key={ms}>
                  <small>{showCount(columns[index]?.count)}</small>
                </td>
              ))}
            </tr>
          </tfoot>
        </table>
      </div>
    </Figure>
  )
}

function GridCell({ bin }: { bin: Bin | undefined }) {
  if (bin === undefined) return <td />
  const { share, wins, count } = bin
  return (
    <td
      class={`verdict-${verdictOf(bin)}`}
      title={`${showCount(wins)} of ${showCount(count)} won, 95 % interval ${showInterval(bin)}`}
    >
      {Math.round(share * 100)} %<small>{showCount(count)}</small>
    </td>
  )
}

function* toRows(columns: readonly Column[]): Generator<Cell[]> {
  yield [
    'offset_ms',
    'from_cents',
    'to_cents',
    'markets',
    'won',
    'share',
    'low_95',
    'high_95',
    'mean_price',
  ]
  for (const { offsetMs, bins } of columns) {
    for (const bin of bins) {
      if (bin === undefined) continue
      const { fromCents, toCents, count, wins, share, interval, meanPrice } = bin
      yield [
        offsetMs,
        fromCents,
        toCents,
        count,
        wins,
        share,
        interval.low,
        interval.high,
        meanPrice,
      ]
    }
  }
}

/** One moment: the chart, and the same numbers as a table. */
export function ReliabilityFigure({ coin, view, call, guestToken, source, grid }: GridProps) {
  const canvasRef = useRef<HTMLCanvasElement>(null)
  const { outcome, momentMs, length, timeframe } = view
  const column = grid?.columns.find(({ offsetMs }) => offsetMs === (-momentMs || 0)) ?? emptyColumn
  const title = `${outcomeNames[outcome]} ${showSpan(momentMs)} before the end`
  const found = column.bins.filter((bin) => bin !== undefined)
  return (
    <Figure
      title={title}
      name={`calibration-${coin}-${timeframe}-${outcome}-${momentMs / 1000}s`}
      source={source}
      calls={callsOf(call)}
      guestToken={guestToken}
      canvas={() => canvasRef.current}
      rows={() => toRows([column])}
      tools={
        <Choice
          label="Time before the end"
          look="small"
          options={length.moments.map((ms) => [String(ms / 1000), showSpan(ms)] as const)}
          value={String(momentMs / 1000)}
          onChoose={(each) => setQuery({ moment: each })}
        />
      }
      legend={
        <>
          <span>
            <LegendKey sign="line" />
            share that won, with its 95 % interval; larger for more markets
          </span>
          <span>Dashed: as often as priced.</span>
        </>
      }
    >
      <p class="note num calibration-count">
        {grid && (
          <>
            {showSome(column.count, 'market')}, {showCount(column.wins)} won.
            {column.brier !== undefined && ` Brier score ${column.brier.toFixed(4)}.`}{' '}
            {describeLeftOut(column.leftOut)}
          </>
        )}
      </p>
      <div class="calibration-moment">
        <ReliabilityChart
          column={column}
          canvasRef={canvasRef}
          label={`${title}: share that won by mean price; the table has the same numbers`}
        />
        <div class="table-wrap" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
          <table class="num calibration-table">
            <thead>
              <tr>
                <th scope="col">Mid</th>
                <th scope="col" class="right">
                  Won
                </th>
                <th scope="col" class="right">
                  Share
                </th>
                <th scope="col" class="right">
                  95 % interval
                </th>
                <th scope="col" class="right wide">
                  Mean price
                </th>
              </tr>
            </thead>
            <tbody>
              {found.toReversed().map((bin) => (
                <tr key={bin.fromCents}>
                  <th scope="row">{showBin(bin)}</th>
                  <td class="right">
                    {showCount(bin.wins)} of {showCount(bin.count)}
                  </td>
                  <td class={`right verdict-${verdictOf(bin)}`}>{showShare(bin.share)}</td>
                  <td class="right">{showInterval(bin)}</td>
                  <td class="right wide">{showPrice(bin.meanPrice)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {grid && found.length === 0 && <p class="note">No market is counted at this moment.</p>}
        </div>
      </div>
    </Figure>
  )
}

const emptyColumn: Column = {
  offsetMs: 0,
  bins: [],
  count: 0,
  wins: 0,
  brier: undefined,
  leftOut: { gap: 0, noPrice: 0, noWinner: 0 },
}
