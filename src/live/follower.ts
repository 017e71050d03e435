/** Walks a market's rows to their end, and on as they come, for whoever follows. */
import { AppError } from '#src/core/errors.ts'
import type { Market } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'

import type { LiveRow, RowFilter, RowReader } from './rows.ts'

/** Rows that are read at a time; those of one read are handed on together. */
const ROWS_MAX = 200

/** Is given rows in their order, none twice. */
export type Subscriber = (rows: readonly LiveRow[]) => void

/** Is given why no more rows come. */
export type OnFault = (error: AppError) => void

export type FollowerOptions = RowFilter & {
  conditionId: string
  findMarket: (conditionId: string) => Market | undefined
  read: RowReader
}

/** Makes a follower that begins at a place. */
export function createFollower(options: FollowerOptions, start: Position) {
  const { conditionId, findMarket } = options
  const subscribers = new Map<Subscriber, OnFault | undefined>()
  let at = start
  let revision: number | undefined

  function read(market: Market): boolean {
    const query = { ...options, market, after: at, limit: ROWS_MAX }
    const { rows, resume, hasMore } = options.read.after(query)
    at = resume
    if (!hasMore) revision = market.revision
    if (rows.length > 0) for (const subscriber of [...subscribers.keys()]) subscriber(rows)
    return hasMore
  }

  return {
    /** Everything up to here, inclusive, was handed on. */
    get position() {
      return at
    },

    join: (subscriber: Subscriber, onFault?: OnFault): void =>
      void subscribers.set(subscriber, onFault),

    /** Returns whether nobody is left. */
    leave(subscriber: Subscriber): boolean {
      subscribers.delete(subscriber)
      return subscribers.size === 0
    },

    /** Hands on what is new, one read of it; returns whether there may be more. */
    wake(): boolean {
      const market = findMarket(conditionId)
      if (market === undefined || market.revision === revision) return false
      try {
        return read(market)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // Every other market goes on; this one may be whole again when it is written to.
        revision = market.revision
        for (const onFault of [...subscribers.values()]) onFault?.(error)
        return false
      }
    },
  }
}

export type Follower = ReturnType<typeof createFollower>
