/**
 * Books and trades of markets as Parquet in the columns of the PMXT archive, a message per row: a
 * whole book (`book`), a changed level (`price_change`) or a trade (`last_trade_price`).
 */

import { formatMillionths } from '#src/domain/decimal.ts'
import type { Market } from '#src/domain/market.ts'
import type { MarketHistory, StreamQuery } from '#src/history/history.ts'

import type { Change } from './changes.ts'
import { type Columns, optional, required } from './column.ts'
import { engineRuns, type EngineStep } from './engine-steps.ts'
import { assetNameOf } from './markets.ts'
import type { Pieces, Progress } from './ndjson.ts'
import { createParquet } from './parquet.ts'

type Row = {
  timeMs: number
  market: Market
  type: 'book' | 'price_change' | 'last_trade_price'
  assetId: string
  bids?: string
  asks?: string
  price?: number
  size?: number
  side?: 'BUY' | 'SELL' | undefined
}

const columns: Columns<Row> = [
  required('timestamp', 'time', ({ timeMs }: Row) => timeMs),
  required('market', 'text', ({ market }: Row) => market.conditionId),
  required('event_type', 'text', ({ type }: Row) => type),
  required('asset_id', 'text', ({ assetId }: Row) => assetId),
  optional('bids', 'text', ({ bids }: Row) => bids),
  optional('asks', 'text', ({ asks }: Row) => asks),
  optional('price', 'millionths', ({ price }: Row) => price),
  optional('size', 'millionths', ({ size }: Row) => size),
  optional('side', 'text', ({ side }: Row) => side),
]

const HOUR_LENGTH = '2026-04-14T08'.length

/** The name of an hour's file, without its ending. */
export const pmxtName = (timeMs: number): string =>
  `polymarket_orderbook_${new Date(timeMs).toISOString().slice(0, HOUR_LENGTH)}`

/** One market after another, each in order of time. */
export async function* pmxtPieces(
  history: MarketHistory,
  queries: Iterable<StreamQuery>,
  progress: Progress,
): Pieces {
  const file = createParquet(columns, {
    numbers: 'decimal',
    hasStatistics: true,
  })
  for (const query of queries) {
    for await (const steps of engineRuns(history, query, progress)) {
      for (const step of steps) {
        for (const row of rowsOf(query.market, step)) {
          if (!file.hasRoomFor(1)) yield* file.flush()
          file.add(row)
        }
      }
    }
  }
  yield* file.end()
}

function* rowsOf(market: Market, step: EngineStep): Generator<Row, void> {
  const { timeMs } = step
  const { outcome } = step.kind === 'trade' ? step.trade : step.change.state
  const assetId = assetNameOf(market, outcome)
  const place = { timeMs, market, assetId }
  if (step.kind === 'trade') {
    const { price, size, side } = step.trade
    yield { ...place, type: 'last_trade_price', price, size, side: side && sides[side] }
    return
  }
  const { change } = step
  const { prevId, prices, sizes, start, bidsEnd, end } = change
  if (prevId === undefined) {
    const bids = levelsText(change, start, bidsEnd)
    yield { ...place, type: 'book', bids, asks: levelsText(change, bidsEnd, end) }
    return
  }
  for (let level = start; level < end; level++) {
    const side = level < bidsEnd ? 'BUY' : 'SELL'
    const [price = 0, size = 0] = [prices[level], sizes[level]]
    yield { ...place, type: 'price_change', price, size, side }
  }
}

const sides = { buy: 'BUY', sell: 'SELL' } as const

/** Pairs of price and size as JSON, the best last, as the venue sends them. */
function levelsText({ prices, sizes }: Change, from: number, to: number): string {
  const pairs: string[] = []
  for (let level = to - 1; level >= from; level--)
    pairs.push(
      `["${formatMillionths(prices[level] ?? 0)}","${formatMillionths(sizes[level] ?? 0)}"]`,
    )
  return `[${pairs.join(',')}]`
}
