/** What the books of a market say to whoever keeps them. */
import type { Gap, GapReason } from '#src/domain/coverage.ts'
import type { Coin, Outcome, Timeframe } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'

export type RecordedMarket = {
  conditionId: string
  coin: Coin
  timeframe: Timeframe
  assetIds: Record<Outcome, string>
}

export type BooksOutput = {
  /**
   * A true state, in order of time for each outcome. It never changes. `isVerified` is true, or
   * undefined where there was no hash or hashes say nothing at present.
   */
  state(snapshot: Snapshot): void
  trade(trade: Trade, conditionId: string): void
  /** From `fromMs` on, the millisecond after its last true state, the book is not known. */
  lost(loss: { outcome: Outcome; fromMs: number; reason: GapReason }): void
  /**
   * The book is known again, or for the first time. `atMs` is the time of the state that follows;
   * or `fromMs` of the loss, and then no state follows, because the venue's book was still the last
   * true state: nothing was missed.
   */
  found(find: { outcome: Outcome; atMs: number }): void
  /**
   * Up to a true state, which may be the next, the book was another for a while: what was said of
   * that came too late. A gap that is over.
   */
  missed(gap: Gap): void
}

/** How often each thing happened. */
export type BookCounts = {
  /** Whole books that came. */
  books: number
  /** Levels that changed. */
  changes: number
  trades: number
  /** States that reproduced their hash, those that did not, and those that could not be checked. */
  verified: number
  mismatched: number
  unchecked: number
  /** Books and changes that came too late to count, or before the first book. */
  stale: number
  /** Messages that were not sound. */
  faults: number
  /** True states in which somebody bid what another asked. */
  crossed: number
  /** True states that were not passed on, because there were more than asked for. */
  leftOut: number
}

export const noCounts = (): BookCounts => ({
  books: 0,
  changes: 0,
  trades: 0,
  verified: 0,
  mismatched: 0,
  unchecked: 0,
  stale: 0,
  faults: 0,
  crossed: 0,
  leftOut: 0,
})
