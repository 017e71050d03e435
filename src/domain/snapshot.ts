import type { Millionths } from './decimal.ts'
import type { Coin, Outcome, Timeframe } from './market.ts'

/** One side of a book, best level first. Prices are strictly monotonic, and no size is zero. */
export type Ladder = {
  readonly prices: readonly Millionths[]
  readonly sizes: readonly Millionths[]
}

/** A full-depth order book of one outcome at one moment, before the store gives it an id. */
export type Snapshot = {
  readonly coin: Coin
  readonly conditionId: string
  readonly timeframe: Timeframe
  /** The outcome's token: see `assetIdPattern`. */
  readonly assetId: string
  readonly outcome: Outcome
  /** The venue's time, Unix milliseconds. */
  readonly timestampMs: number
  readonly bids: Ladder
  readonly asks: Ladder
  /** The venue's hash of the book, 40 lower-case hex digits, where known. */
  readonly sourceHash?: string | undefined
  /** Whether the book reproduces `sourceHash`; undefined when that was not checked. */
  readonly isVerified?: boolean | undefined
  /** Place among the states that its source gave of this asset and millisecond; 0 when absent. */
  readonly sequence?: number | undefined
  /** How many equal states came before it; 0 when absent. Given on append, not kept. */
  readonly occurrence?: number | undefined
  /** When the recorder received it, Unix milliseconds of the recorder's clock, where known. */
  readonly receivedMs?: number | undefined
}

/** What is kept of a snapshot beside the row that is served. */
export type Beside = Pick<Snapshot, 'sourceHash' | 'isVerified' | 'sequence' | 'receivedMs'>

/** Fields of a snapshot in JSON, in the order in which it is served and mostly recorded. */
export const snapshotFields = [
  'id',
  'assetId',
  'conditionId',
  'symbol',
  'outcome',
  'timeframe',
  'timestamp',
  'bids',
  'asks',
] as const
export type SnapshotField = (typeof snapshotFields)[number]

/** As the store holds it: `id` rises in the order of acceptance and is never used twice. */
export type StoredSnapshot = Snapshot & { readonly id: number }

/** A place in a market's total order: ascending by time, then by id. */
export type Position = { readonly timestampMs: number; readonly id: number }

export const comparePositions = (a: Position, b: Position): number =>
  a.timestampMs - b.timestampMs || a.id - b.id

/** Both sides of a book. */
export type Levels = Pick<Snapshot, 'bids' | 'asks'>

export const compareLevels = (a: Levels, b: Levels): number =>
  a === b
    ? 0
    : compareColumns(a.bids.prices, b.bids.prices) ||
      compareColumns(a.bids.sizes, b.bids.sizes) ||
      compareColumns(a.asks.prices, b.asks.prices) ||
      compareColumns(a.asks.sizes, b.asks.sizes)

function compareColumns(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const order = (a[at] ?? 0) - (b[at] ?? 0)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** How many levels from the best one on are the same on both. */
export function sameBest(a: Ladder, b: Ladder): number {
  const max = Math.min(a.prices.length, b.prices.length)
  let same = 0
  while (same < max && a.prices[same] === b.prices[same] && a.sizes[same] === b.sizes[same]) same++
  return same
}

/** The same from the worst one on, but for the `best` ones that are the same as well. */
export function sameWorst(a: Ladder, b: Ladder, best: number): number {
  const last = a.prices.length - 1
  const otherLast = b.prices.length - 1
  const max = Math.min(last, otherLast) + 1 - best
  let same = 0
  while (
    same < max &&
    a.prices[last - same] === b.prices[otherLast - same] &&
    a.sizes[last - same] === b.sizes[otherLast - same]
  )
    same++
  return same
}
