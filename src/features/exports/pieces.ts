/** The bytes of an export, piece by piece. */

import { type MarketHistory, PIECE_ROWS, type StreamQuery } from '#src/history/history.ts'
import {
  type Book,
  booksOf,
  idColumn,
  ladderColumns,
  levelColumns,
  levelRows,
  outcomeColumn,
  receivedColumn,
  timestampColumn,
} from '#src/tables/books.ts'
import type { Columns } from '#src/tables/column.ts'
import { createCsv, csvHeader } from '#src/tables/csv.ts'
import { conditionIdColumn, sourceColumn } from '#src/tables/markets.ts'
import { linesWithMembers, type Pieces, type Progress } from '#src/tables/ndjson.ts'
import { createParquet } from '#src/tables/parquet.ts'

import { queriesOf, type Rows, type Shape } from './rows.ts'
import type { Format } from './schema.ts'

/** Values of a row group: what one export holds in memory. */
const GROUP_VALUES = 200_000
/** Books of a piece of CSV; gzip of it depends on where pieces end. */
const PIECE_BOOKS = { levels: 16, states: 100 }

export type Job = {
  format: Format
  shape: Shape
  rows: Rows
}

/** A piece is its reader's. Where there is none others have their turn, after a promise is settled. */
export function makePieces(
  history: MarketHistory,
  { format, shape, rows }: Job,
  progress: Progress,
): Pieces {
  const queries = queriesOf(history, rows)
  const { withReceived = false, withSource = false } = shape
  if (format === 'ndjson')
    return linesWithMembers(history, queries, progress, { withReceived, withSource })
  return tablePieces(history, queries, progress, {
    format,
    shape,
    isAppended: rows.after !== undefined,
  })
}

function columnsOf({ kind, depth, withReceived, withSource }: Shape): Columns<Book> {
  return [
    timestampColumn,
    idColumn,
    conditionIdColumn,
    outcomeColumn,
    ...(kind === 'levels' ? levelColumns('int32') : ladderColumns(depth)),
    ...(withReceived ? [receivedColumn] : []),
    ...(withSource ? [sourceColumn] : []),
  ]
}

/** What is appended to an earlier file lacks the header. */
function* tablePieces(
  history: MarketHistory,
  queries: Iterable<StreamQuery>,
  progress: Progress,
  { format, shape, isAppended }: { format: 'csv' | 'parquet'; shape: Shape; isAppended: boolean },
): Pieces {
  const { kind, depth, withReceived } = shape
  const columns = columnsOf(shape)
  const sink =
    format === 'csv'
      ? createCsv(columns, PIECE_BOOKS[kind])
      : createParquet(columns, {
          numbers: 'decimal',
          valuesMax: GROUP_VALUES,
          hasStatistics: kind === 'levels',
        })
  if (format === 'csv' && !isAppended) yield new TextEncoder().encode(csvHeader(columns))
  for (const query of queries) {
    const runs = history.runs({ ...query, depth, withReceived })
    for (let { after } = query; ;) {
      // Others have their turn here, also as long as a row group is not full.
      yield history.ready([{ ...query, after, order: 'asc', withReceived, limit: PIECE_ROWS }])
      const { done, value: run } = runs.next()
      if (done) break
      after = run.rows.at(-1)
      for (const book of booksOf(query.market, run)) {
        const rows = kind === 'levels' ? levelRows(book) : 1
        // No book is in two row groups.
        if (!sink.hasRoomFor(rows)) yield* sink.flush()
        sink.add(book, rows)
        progress.snapshots++
      }
      if (format === 'csv') yield* sink.flush()
    }
  }
  yield* sink.end()
}
