/** The input and output of the order books of a market. */

import type { Gap, GapReason } from '#src/domain/coverage.ts'
import type { Outcome } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { BookVerifier } from '#src/venue/venue.ts'

import type { LiveMarket } from './ports.ts'
import type { RecipeWatch } from './recipe-watch.ts'
import type { Watermark } from './watermark.ts'

export type BooksOptions = {
  market: Pick<LiveMarket, 'conditionId' | 'coin' | 'timeframe' | 'assetIds'>
  verifier: BookVerifier
  /** The watch of the market, shared by all connections that carry it. */
  watch: RecipeWatch
  output: BooksOutput
  /** Counters, which several books may share. */
  counts: BookCounts
  /** The maximum number of true states of an outcome passed on per second; unlimited if absent. */
  maxPerSecond?: number | undefined
  /** Raised by every message of the connection; all its markets share it. */
  watermark?: Watermark | undefined
}

export type BooksOutput = {
  /**
   * A true state; states of an outcome come in order of time and never change. `isVerified` is
   * true, or undefined if there was no hash or hashes are no evidence at present.
   */
  state(snapshot: Snapshot): void
  trade(trade: Trade, conditionId: string): void
  /** The book is unknown from `fromMs`, the millisecond after its last true state. */
  lost(loss: { outcome: Outcome; fromMs: number; reason: GapReason }): void
  /**
   * The book is known, again or for the first time. `atMs` is the time of the state that follows.
   * If it equals `fromMs` of the loss, no state follows: the venue's book was still the last true
   * state, so nothing was missed.
   */
  found(find: { outcome: Outcome; atMs: number }): void
  /**
   * A gap that has ended: for some time before a true state the book was different, but the
   * messages about that time came too late.
   */
  missed(gap: Gap): void
}

export type BookCounts = ReturnType<typeof noCounts>

export const noCounts = () => ({
  /** Whole books received. */
  books: 0,
  /** Changed levels received. */
  changes: 0,
  trades: 0,
  /** States that matched their hash. */
  verified: 0,
  /** States that did not match their hash; they are not true. */
  mismatched: 0,
  /** True states whose hash no known recipe reproduces. */
  unknown: 0,
  /** States that could not be checked. */
  unchecked: 0,
  /** Books and changes that came too late, or before the first book. */
  stale: 0,
  /** Invalid messages. */
  faults: 0,
  /** True states with a bid at or above an ask. */
  crossed: 0,
  /** True states omitted because of `maxPerSecond`. */
  leftOut: 0,
})
