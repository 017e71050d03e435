/** Encodes an export piece by piece. */

import type { Encoding, MarketHistory, StreamQuery } from '#src/history/history.ts'
import { readyRuns } from '#src/history/reads/until-ready.ts'
import type { StreamTask } from '#src/http/tasks.ts'
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
import {
  type Change,
  changeColumns,
  changeLines,
  changeRuns,
  changesIn,
} from '#src/tables/changes.ts'
import type { Columns } from '#src/tables/column.ts'
import { createCsv, csvHeader } from '#src/tables/csv.ts'
import { enginePieces } from '#src/tables/engine-files.ts'
import { conditionIdColumn, sourceColumn } from '#src/tables/markets.ts'
import { linesWithMembers, type Pieces, type Progress, storedLines } from '#src/tables/ndjson.ts'
import { createParquet } from '#src/tables/parquet.ts'

import { queriesOf, type Rows, type Shape } from './rows.ts'
import { type Format, isEngineFormat } from './schema.ts'

/** Books in a piece of CSV. Changing it changes the bytes of gzip, and so the digest. */
const PIECE_BOOKS = { levels: 16, states: 100, changes: 100 }

export type Job = {
  format: Format
  shape: Shape
  rows: Rows
  /** Encoding of lines that are sent as stored; undefined for lines that are computed. */
  encoding: Encoding | undefined
}

/** A piece of the file, and the number of snapshots up to its end. */
type Piece = { bytes: Uint8Array; snapshots: number }

export const exportTask: StreamTask<Job, Piece> = {
  name: 'export',
  async *stream({ history }, job) {
    const progress = { snapshots: 0 }
    for await (const bytes of makePieces(history, job, progress))
      yield { bytes, snapshots: progress.snapshots }
  },
}

function makePieces(
  history: MarketHistory,
  { format, shape, rows, encoding }: Job,
  progress: Progress,
): Pieces {
  const queries = queriesOf(history, rows)
  const { withReceived = false, withSource = false } = shape
  if (isEngineFormat(format)) {
    const file = { format, outcome: rows.outcome, kind: shape.tardisKind }
    return enginePieces(history, queries, progress, file)
  }
  if (encoding !== undefined) return storedLines(history, queries, progress, encoding)
  if (format === 'ndjson' && shape.kind === 'changes')
    return changeLines(history, queries, progress)
  if (format === 'ndjson')
    return linesWithMembers(history, queries, progress, { withReceived, withSource })
  const options = { format, kind: shape.kind, isAppended: rows.after !== undefined }
  return shape.kind === 'changes'
    ? tablePieces(changeColumnsOf(shape), changesOf(history, queries), progress, options)
    : tablePieces(columnsOf(shape), booksIn(history, queries, shape), progress, options)
}

async function* changesOf(
  history: MarketHistory,
  queries: Iterable<StreamQuery>,
): AsyncGenerator<Iterable<Change>, void> {
  for (const query of queries)
    for await (const run of changeRuns(history, query)) yield changesIn(query.market, run)
}

async function* booksIn(
  history: MarketHistory,
  queries: Iterable<StreamQuery>,
  { depth, withReceived }: Shape,
): AsyncGenerator<Iterable<Book>, void> {
  for (const query of queries) {
    const runs = history.runs({ ...query, depth, withReceived })
    for await (const run of readyRuns(history, { ...query, withReceived }, runs))
      yield booksOf(query.market, run)
  }
}

const changeColumnsOf = ({ withSource }: Shape): Columns<Change> =>
  withSource ? [...changeColumns, sourceColumn] : changeColumns

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

type TableOptions = { format: 'csv' | 'parquet'; kind: Shape['kind']; isAppended: boolean }

/** A resumed download is appended to the earlier file, so it has no header. */
async function* tablePieces<Row extends Book>(
  columns: Columns<Row>,
  runs: AsyncIterable<Iterable<Row>>,
  progress: Progress,
  { format, kind, isAppended }: TableOptions,
): Pieces {
  const isCsv = format === 'csv'
  const sink = isCsv
    ? createCsv(columns, PIECE_BOOKS[kind])
    : createParquet(columns, {
        numbers: 'decimal',
        hasStatistics: kind !== 'states',
      })
  if (isCsv && !isAppended) yield csvHeader(columns)
  for await (const books of runs) {
    for (const book of books) {
      const rows = kind === 'states' ? 1 : levelRows(book)
      // A book is never split between row groups.
      if (!sink.hasRoomFor(rows)) yield* sink.flush()
      sink.add(book, rows)
      progress.snapshots++
    }
    if (isCsv) yield* sink.flush()
  }
  yield* sink.end()
}
