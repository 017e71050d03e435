/** Books as tables: `states` has one row per book, `levels` one row per level. */

import type { Market, Outcome } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { RowRun } from '#src/history/history.ts'

import {
  type Column,
  type Columns,
  type Kind,
  optional,
  required,
  type SpreadColumn,
} from './column.ts'
import type { OfMarket } from './markets.ts'

export type OfState = { state: Position & { outcome: Outcome } }

/** A state of a book in a run. Its bids begin at `start`; its asks follow them. */
export type Book = OfMarket &
  OfState & {
    receivedMs?: number | undefined
    prices: RowRun['prices']
    sizes: RowRun['sizes']
    start: number
    bidsEnd: number
    end: number
  }

/** The books of a run, in order. */
export function* booksOf(market: Market, run: RowRun): Generator<Book> {
  const { rows, besides, ends, prices, sizes } = run
  let start = 0
  for (const [row, state] of rows.entries()) {
    const bidsEnd = ends[2 * row] ?? 0
    const end = ends[2 * row + 1] ?? 0
    const { receivedMs } = besides[row] ?? {}
    yield { market, state, receivedMs, prices, sizes, start, bidsEnd, end }
    start = end
  }
}

/** Number of rows of a book in `levels`: at least one, because an empty book is a state, too. */
export const levelRows = ({ start, end }: Book): number => Math.max(1, end - start)

export const timestampColumn = required(
  'timestamp',
  'time',
  ({ state }: OfState) => state.timestampMs,
)
export const idColumn = required('id', 'int64', ({ state }: OfState) => state.id)
export const outcomeColumn = required('outcome', 'text', ({ state }: OfState) => state.outcome)
export const receivedColumn = optional('receivedAt', 'time', ({ receivedMs }: Book) => receivedMs)

/** `index` counts from the best level, 0. One function per index: a shared one would be slower. */
const ladderReads = {
  bid_price: (index: number) => (book: Book) =>
    book.start + index < book.bidsEnd ? book.prices[book.start + index] : undefined,
  bid_size: (index: number) => (book: Book) =>
    book.start + index < book.bidsEnd ? book.sizes[book.start + index] : undefined,
  ask_price: (index: number) => (book: Book) =>
    book.bidsEnd + index < book.end ? book.prices[book.bidsEnd + index] : undefined,
  ask_size: (index: number) => (book: Book) =>
    book.bidsEnd + index < book.end ? book.sizes[book.bidsEnd + index] : undefined,
}

/** The best levels of each side as columns: bids, then asks, the best level first. */
export function ladderColumns(depth: number): Column<Book>[] {
  const column = (name: keyof typeof ladderReads, index: number) =>
    optional(`${name}_${index + 1}`, 'millionths', ladderReads[name](index))
  const levels = Array.from({ length: depth }, (_, index) => index)
  return [
    ...levels.flatMap((index) => [column('bid_price', index), column('bid_size', index)]),
    ...levels.flatMap((index) => [column('ask_price', index), column('ask_size', index)]),
  ]
}

/** `level`: 1 is the best of its side. */
export const levelColumns = (levelKind: Kind): Columns<Book> => [
  {
    name: 'side',
    kind: 'text',
    fill({ start, bidsEnd, end }, values, at, codeOf) {
      const asksAt = at + bidsEnd - start
      values.fill(codeOf('bid'), at, asksAt)
      values.fill(codeOf('ask'), asksAt, at + end - start)
    },
  },
  {
    name: 'level',
    kind: levelKind,
    fill({ start, bidsEnd, end }, values, at) {
      for (let index = start; index < end; index++)
        values[at + index - start] = 1 + index - (index < bidsEnd ? start : bidsEnd)
    },
  },
  { name: 'price', kind: 'millionths', fill: fillLevels(({ prices }) => prices) },
  { name: 'size', kind: 'millionths', fill: fillLevels(({ sizes }) => sizes) },
]

/** Copies a column of the run for each level of a book. */
const fillLevels =
  (pick: (book: Book) => Int32Array | Float64Array): SpreadColumn<Book>['fill'] =>
  (book, values, at) => {
    const levels = pick(book)
    for (let index = book.start; index < book.end; index++)
      values[at + index - book.start] = levels[index] ?? 0
  }
