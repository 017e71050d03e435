/** Changes of books as tables, one row per changed level, and as lines. */

import type { Market } from '#src/domain/market.ts'
import { LevelColumns } from '#src/domain/wire/level-columns.ts'
import type { ChangeRun, MarketHistory, StreamQuery } from '#src/history/history.ts'
import { readyRuns } from '#src/history/reads/until-ready.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'

import {
  type Book,
  idColumn,
  levelColumns,
  outcomeColumn,
  receivedColumn,
  timestampColumn,
} from './books.ts'
import { type Columns, optional, required } from './column.ts'
import { conditionIdColumn, type OfMarket } from './markets.ts'
import type { Pieces, Progress } from './ndjson.ts'

/** A change with the levels that differ, size 0 if a level is gone. */
export type Change = Book & Pick<ChangeRun['rows'][number], 'prevId' | 'isVerified'>

/** The rows of a run with their levels as numbers; each row is valid until the next. */
export function* changesIn(market: Market, { rows, texts }: ChangeRun): Generator<Change> {
  const columns = new LevelColumns(Number.POSITIVE_INFINITY)
  for (const row of rows) {
    columns.read(texts.subarray(row.from, row.to))
    const { prices, sizes } = columns
    const [bidsEnd = 0, end = 0] = columns.ends
    const { receivedMs, prevId, isVerified } = row
    yield {
      market,
      state: row,
      receivedMs,
      prevId,
      isVerified,
      prices,
      sizes,
      start: 0,
      bidsEnd,
      end,
    }
  }
}

export type ChangeReads = Pick<MarketHistory, 'changes' | 'gaps' | 'ready'>

/** Runs of changes, which begin with whole books. */
export function changeRuns(history: ChangeReads, query: StreamQuery) {
  const runs = history.changes({ ...query, gaps: history.gaps(query.market) })
  return readyRuns(history, { ...query, withReceived: true }, runs)
}

/** Without `condition_id`, for tables that begin with columns of the market. */
export const ownChangeColumns: Columns<Change> = [
  timestampColumn,
  idColumn,
  optional('prevId', 'int64', ({ prevId }: Change) => prevId),
  outcomeColumn,
  receivedColumn,
  optional('verified', 'boolean', ({ isVerified }: Change) => isVerified),
  required('snapshot', 'boolean', ({ prevId }: Change) => prevId === undefined),
  ...levelColumns('int32').filter(({ name }) => name !== 'level'),
]

export const changeColumns: Columns<Change & OfMarket> = [conditionIdColumn, ...ownChangeColumns]

/** Rows of the list as lines, each with its `conditionId`. */
export async function* changeLines(
  history: ChangeReads,
  queries: Iterable<StreamQuery>,
  progress: Progress,
): Pieces {
  for (const query of queries) {
    const { conditionId, source } = query.market
    const start = `{"conditionId":"${conditionId}",`
    const end = source === 'simulated' ? `,"source":"${source}"}\n` : '}\n'
    for await (const { rows, texts } of changeRuns(history, query)) {
      const piece = new ByteWriter(texts.length + rows.length * (start.length + end.length))
      for (const { from, to } of rows) {
        piece.text(start)
        piece.bytes(texts.subarray(from + 1, to - 1))
        piece.text(end)
      }
      progress.snapshots += rows.length
      yield piece.view()
    }
  }
}
