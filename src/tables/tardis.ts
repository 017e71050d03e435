/**
 * Changes and trades as CSV of Tardis: `incremental_book_L2` and `trades`. Its readers clear only the
 * price range and the sides of a snapshot, so levels that are gone are removed before each one; they
 * lose a snapshot at the end of a file, so each file ends with another row.
 */

import { type Columns, required } from './column.ts'
import { createCsv, csvHeader } from './csv.ts'
import type { EngineStep } from './engine-steps.ts'
import type { Pieces } from './ndjson.ts'

export const tardisKinds = ['book', 'trades'] as const
export type TardisKind = (typeof tardisKinds)[number]

type Row = Pick<EngineStep, 'timeMs' | 'localMs'> & {
  id?: number
  isSnapshot?: boolean
  side: string
  price: number
  size: number
}

const MICROSECONDS = 1000

/** `symbol` is the id of the outcome's asset. */
const columnsOf = (kind: TardisKind, symbol: string): Columns<Row> => [
  required('exchange', 'text', () => 'polymarket'),
  required('symbol', 'text', () => symbol),
  required('timestamp', 'int64', ({ timeMs }: Row) => timeMs * MICROSECONDS),
  required('local_timestamp', 'int64', ({ localMs }: Row) => localMs * MICROSECONDS),
  kind === 'book'
    ? required('is_snapshot', 'boolean', ({ isSnapshot }: Row) => isSnapshot)
    : required('id', 'int64', ({ id }: Row) => id),
  required('side', 'text', ({ side }: Row) => side),
  required('price', 'millionths', ({ price }: Row) => price),
  required('amount', 'millionths', ({ size }: Row) => size),
]

/** Rows for which there is room at first. */
const PIECE_ROWS = 1000

export async function* tardisPieces(
  runs: AsyncIterable<Iterable<EngineStep>>,
  kind: TardisKind,
  symbol: string,
): Pieces {
  const columns = columnsOf(kind, symbol)
  const csv = createCsv(columns, PIECE_ROWS)
  const rowsOf = kind === 'book' ? createBookRows() : tradeRows
  let last: Row | undefined
  yield csvHeader(columns)
  for await (const steps of runs) {
    for (const step of steps) {
      for (const row of rowsOf(step)) {
        csv.add(row)
        last = row
      }
    }
    yield* csv.flush()
  }
  if (last?.isSnapshot) csv.add({ ...last, isSnapshot: false })
  yield* csv.end()
}

function* tradeRows(step: EngineStep): Generator<Row, void> {
  if (step.kind !== 'trade') return
  const { timeMs, localMs, trade } = step
  const { id, side = 'unknown', price, size } = trade
  yield { timeMs, localMs, id, side, price, size }
}

function createBookRows() {
  /** Prices of the book so far. */
  const held = { bid: new Set<number>(), ask: new Set<number>() }

  return function* bookRows(step: EngineStep): Generator<Row, void> {
    if (step.kind !== 'book') return
    const { timeMs, localMs, change } = step
    const { prevId, prices, sizes, start, bidsEnd, end } = change
    const isSnapshot = prevId === undefined
    for (const side of isSnapshot ? (['bid', 'ask'] as const) : []) {
      const kept = side === 'bid' ? prices.subarray(start, bidsEnd) : prices.subarray(bidsEnd, end)
      for (const price of held[side].difference(new Set(kept)))
        yield { timeMs, localMs, isSnapshot: false, side, price, size: 0 }
      held[side].clear()
    }
    for (let level = start; level < end; level++) {
      const side = level < bidsEnd ? 'bid' : 'ask'
      const [price = 0, size = 0] = [prices[level], sizes[level]]
      if (size === 0) held[side].delete(price)
      else held[side].add(price)
      yield { timeMs, localMs, isSnapshot, side, price, size }
    }
  }
}
