/** Sources of a fan-out group: rows and gaps of a market, or spot prices of a coin. */
import type { MarketCursor } from '#src/live/feed.ts'
import type { Source } from '#src/live/group.ts'
import {
  type Coming,
  type FeedQuery,
  lastRows,
  type RowFilter,
  type RowReader,
} from '#src/live/rows.ts'
import { latestTicks, type SpotCursor, type SpotFilter, type SpotReads } from '#src/live/spot.ts'

import { gapMessage, type Message, type Messages } from './messages.ts'

/** Rows that are read and sent together. */
const ROWS_MAX = 200
const TICKS_MAX = 5000

export interface RowSource extends Source<Message, RowSource> {
  next(limit?: number): Message[]
  /** The last rows, after which reading continues; a promise if they have to be fetched first. */
  last(): Message[] | Coming
  /** Fetch that `next` waits for, if any. */
  readonly coming: Promise<unknown> | undefined
}

export function createMarketSource(
  cursor: MarketCursor,
  filter: RowFilter,
  rows: RowReader,
  messages: Messages,
): RowSource {
  const read = (query: FeedQuery) => rows.after({ ...filter, ...query })
  let hasMore = false
  return {
    next(limit = ROWS_MAX) {
      const found: Message[] = []
      hasMore = false
      while (found.length < limit) {
        const event = cursor.next(read, limit - found.length)
        if (event === undefined) return found
        const { market } = cursor
        if (event.kind === 'gap') {
          found.push(gapMessage(market, event.gap))
          continue
        }
        for (const row of event.rows.rows) found.push(messages.row('row', market, filter, row))
        if (event.rows.hasMore) break
      }
      hasMore = true
      return found
    },

    last() {
      const market = cursor.look()
      const last = lastRows(rows, { ...filter, market })
      if (last instanceof Promise) return last
      return last.map((row) => {
        cursor.skipTo(row.position)
        return messages.row('snapshot', market, filter, row)
      })
    },

    get hasMore() {
      return hasMore
    },
    get coming() {
      return cursor.coming
    },
    get step() {
      return cursor.step
    },
    fork: () => createMarketSource(cursor.fork(), filter, rows, messages),
    stop() {},
  }
}

export function createSpotSource(
  cursor: SpotCursor,
  filter: SpotFilter,
  history: SpotReads,
  messages: Messages,
): RowSource {
  return {
    next: (limit = TICKS_MAX) =>
      cursor.next(limit).map(({ tick, position }) => messages.tick('row', filter, tick, position)),

    last() {
      const ticks = latestTicks(history, filter)
      return ticks.map((tick) => {
        const position = tick === ticks.at(-1) ? cursor.position : undefined
        return messages.tick('snapshot', filter, tick, position)
      })
    },

    get hasMore() {
      return cursor.hasMore
    },
    coming: undefined,
    get step() {
      return cursor.step
    },
    fork: () => createSpotSource(cursor.fork(), filter, history, messages),
    stop() {},
  }
}
