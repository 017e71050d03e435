/** Walks a market's rows to their end, and on as they come, for whoever follows. */
import { AppError } from '#src/domain/errors.ts'
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'

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
  let hasMore = false
  /** Rows that were read, and who does not have them yet. */
  let rows: readonly LiveRow[] = []
  let owed: Subscriber[] = []

  function read(market: Market): void {
    const query = { ...options, market, after: at, limit: ROWS_MAX }
    const page = options.read.after(query)
    rows = page.rows
    at = page.resume
    hasMore = page.hasMore
    if (!hasMore) revision = market.revision
    if (rows.length > 0) owed = [...subscribers.keys()].reverse()
  }

  function handOn(isOver: () => boolean): void {
    for (let subscriber = owed.pop(); subscriber; subscriber = owed.pop()) {
      if (subscribers.has(subscriber)) subscriber(rows)
      if (isOver()) return
    }
  }

  /** False where there is nothing new, or nothing that can be read. */
  function readNew(): boolean {
    const market = findMarket(conditionId)
    if (market === undefined || market.revision === revision) return false
    try {
      read(market)
      return true
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // Every other market goes on; this one may be whole again when it is written to.
      revision = market.revision
      for (const onFault of [...subscribers.values()]) onFault?.(error)
      return false
    }
  }

  return {
    /** Everything up to here, inclusive, was handed on, or is about to be. */
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

    /** Everybody has all that was written of the market. */
    isAt: ({ revision: now }: Market): boolean => owed.length === 0 && revision === now,

    /** Not everybody has the rows that were read. */
    get isOwing() {
      return owed.length > 0
    },

    /** Hands on what is new, one read of it, until `isOver`; returns whether there may be more. */
    wake(isOver: () => boolean): boolean {
      if (owed.length === 0 && !readNew()) return false
      handOn(isOver)
      return hasMore
    },
  }
}

export type Follower = ReturnType<typeof createFollower>
