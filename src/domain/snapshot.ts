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
  /** The token id of the outcome: see `assetIdPattern`. */
  readonly assetId: string
  readonly outcome: Outcome
  /** The venue's time, Unix milliseconds. */
  readonly timestampMs: number
  readonly bids: Ladder
  readonly asks: Ladder
  /** The venue's hash of the book, 40 lower-case hex digits, if known. */
  readonly sourceHash?: string | undefined
  /** True if the book reproduces `sourceHash`; undefined if that was not checked. */
  readonly isVerified?: boolean | undefined
  /** Index among the states that the source sent for this asset and millisecond; 0 if absent. */
  readonly sequence?: number | undefined
  /** Number of equal states before this one; 0 if absent. Used on append, not stored. */
  readonly occurrence?: number | undefined
  /** Time of receipt, Unix milliseconds of the recorder's clock, if known. */
  readonly receivedMs?: number | undefined
}

/** Fields of a snapshot that are stored beside the served row. */
export type Beside = Pick<Snapshot, 'sourceHash' | 'isVerified' | 'sequence' | 'receivedMs'>

/** JSON fields of a snapshot in the order in which it is served, and usually recorded. */
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

/** A stored snapshot: `id` rises in the order of acceptance and is never reused. */
export type StoredSnapshot = Snapshot & { readonly id: number }

/** A position in a market's total order: ascending by time, then by id. */
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

/** Number of levels, from the best, that both ladders share. */
export function sameBest(a: Ladder, b: Ladder): number {
  const max = Math.min(a.prices.length, b.prices.length)
  let same = 0
  while (same < max && a.prices[same] === b.prices[same] && a.sizes[same] === b.sizes[same]) same++
  return same
}

/** The same from the worst level, not counting the `best` levels already found equal. */
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
