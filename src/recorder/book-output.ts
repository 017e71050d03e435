/** What the books of a market are given, and what they report. */

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
  /** The market's, shared by all connections that carry it. */
  watch: RecipeWatch
  output: BooksOutput
  /** May be shared. */
  counts: BookCounts
  /** The most true states of an outcome that are passed on in a second; all when absent. */
  maxPerSecond?: number | undefined
  /** Every message of the connection raises it; its markets share it. */
  watermark?: Watermark | undefined
}

export type BooksOutput = {
  /**
   * A true state, in order of time for each outcome. It never changes. `isVerified` is true, or
   * undefined where there was no hash or hashes say nothing at present.
   */
  state(snapshot: Snapshot): void
  trade(trade: Trade, conditionId: string): void
  /** The book is unknown from `fromMs` on, the millisecond after its last true state. */
  lost(loss: { outcome: Outcome; fromMs: number; reason: GapReason }): void
  /**
   * The book is known again, or for the first time. `atMs` is the time of the state that follows.
   * If it is `fromMs` of the loss, no state follows: the venue's book was still the last true
   * state, so nothing was missed.
   */
  found(find: { outcome: Outcome; atMs: number }): void
  /**
   * A gap that is over: up to a true state, which may be the next, the book was different for a
   * while, and the messages about that came too late.
   */
  missed(gap: Gap): void
}

export type BookCounts = ReturnType<typeof noCounts>

export const noCounts = () => ({
  /** Whole books that came. */
  books: 0,
  /** Levels that changed. */
  changes: 0,
  trades: 0,
  /** States that reproduced their hash. */
  verified: 0,
  /** States that did not, and are not true. */
  mismatched: 0,
  /** True states whose hash nothing known reproduces. */
  unknown: 0,
  /** States that could not be checked. */
  unchecked: 0,
  /** Books and changes that came too late to count, or before the first book. */
  stale: 0,
  /** Messages that were not sound. */
  faults: 0,
  /** True states with a bid at or above an ask. */
  crossed: 0,
  /** True states that were left out because of `maxPerSecond`. */
  leftOut: 0,
})
