import type { Micros } from './decimal.ts'
import type { Coin, Outcome, Timeframe } from './market.ts'

/**
 * One side of a book, best level first: bids descend in price, asks ascend. `prices[i]` and
 * `sizes[i]` are one level. Prices are strictly monotonic and no size is zero.
 */
export type Ladder = { readonly prices: readonly Micros[]; readonly sizes: readonly Micros[] }

/** A full-depth order book of one outcome at one moment, before the store gives it an id. */
export type Snapshot = {
  readonly coin: Coin
  /** `0x` and 64 lower-case hex digits. */
  readonly conditionId: string
  readonly timeframe: Timeframe
  /** The outcome's token: 1 to 78 decimal digits. */
  readonly assetId: string
  readonly outcome: Outcome
  /** The venue's time, Unix milliseconds. */
  readonly timestampMs: number
  readonly bids: Ladder
  readonly asks: Ladder
  /** The venue's hash of the book, 40 lower-case hex digits, where known. */
  readonly sourceHash?: string | undefined
  /** True when the book reproduces `sourceHash`; only counted, not kept with the row. */
  readonly isVerified?: boolean | undefined
}

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

/** A snapshot as the store holds it: `id` rises in the order of acceptance and is never used twice. */
export type StoredSnapshot = Snapshot & { readonly id: number }

/** A place in a market's total order: ascending by time, then by id. */
export type Position = { readonly timestampMs: number; readonly id: number }

/** Orders positions by time, then by id. */
export const comparePositions = (a: Position, b: Position): number =>
  a.timestampMs - b.timestampMs || a.id - b.id
