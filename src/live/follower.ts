/** Walks a market's rows to their end, and on as they come, for whoever follows. */
import type { Market } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'

import type { LiveRow, RowFilter, RowReader } from './rows.ts'

/** Rows that are read at a time; those of one read are handed on together. */
const ROWS_MAX = 200

/** Is given rows in their order, none twice. */
export type Subscriber = (rows: readonly LiveRow[]) => void

export type FollowerOptions = RowFilter & {
  conditionId: string
  findMarket: (conditionId: string) => Market | undefined
  read: RowReader
}

/** Makes a follower that begins at a place. */
export function createFollower(options: FollowerOptions, start: Position) {
  const { conditionId, findMarket, read } = options
  const subscribers = new Set<Subscriber>()
  let at = start
  let revision: number | undefined

  return {
    /** Everything up to here, inclusive, was handed on. */
    get position() {
      return at
    },

    join: (subscriber: Subscriber): void => void subscribers.add(subscriber),

    /** Returns whether nobody is left. */
    leave(subscriber: Subscriber): boolean {
      subscribers.delete(subscriber)
      return subscribers.size === 0
    },

    /** Hands on what is new, one read of it; returns whether there may be more. */
    wake(): boolean {
      const market = findMarket(conditionId)
      if (market === undefined || market.revision === revision) return false
      const { rows, resume, hasMore } = read.after({
        ...options,
        market,
        after: at,
        limit: ROWS_MAX,
      })
      at = resume
      if (!hasMore) revision = market.revision
      if (rows.length > 0) for (const subscriber of [...subscribers]) subscriber(rows)
      return hasMore
    },
  }
}

export type Follower = ReturnType<typeof createFollower>
