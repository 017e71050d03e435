/** The recording of a market: both outcomes, from all connections that carry them. */

import { ENDLESS_MS, type GapReason } from '#src/domain/coverage.ts'
import { type Outcome, type OutcomeMap, outcomes } from '#src/domain/market.ts'
import type { FeedEvent } from '#src/venue/feed.ts'
import type { BookVerifier } from '#src/venue/venue.ts'

import type { BookCounts } from './book-output.ts'
import { createMarketBooks, type MarketBooks } from './books.ts'
import type { Entry } from './entry.ts'
import { createMerge } from './merge.ts'
import type { LiveMarket } from './ports.ts'
import { createRecipeWatch } from './recipe-watch.ts'
import type { Watermark } from './watermark.ts'

/** Starts to record a market. */
export function recordMarket({
  market,
  verifier,
  onRecipe,
  counts: bookCounts,
  sink,
  heldMs,
  maxPerSecond,
}: {
  market: LiveMarket
  verifier: BookVerifier
  /**
   * Called with true when no known recipe reproduces the hashes of the market, and with false when
   * one does again.
   */
  onRecipe?: ((isUnknown: boolean) => void) | undefined
  /** Counters shared by all markets. */
  counts: BookCounts
  sink: { add(entry: Entry): void }
  /** Times of the last states in the history. */
  heldMs: OutcomeMap<number>
  /** The maximum number of states of an outcome kept per second; unlimited if undefined. */
  maxPerSecond: number | undefined
}) {
  const { conditionId, windowStartMs, windowEndMs } = market
  const watch = createRecipeWatch((isUnknown) => onRecipe?.(isUnknown))
  const counts = { events: 0, faults: 0, firstFault: undefined as string | undefined }
  let isOver = false
  /** True if books from before the end of the window arrived after `finish`. */
  let isLate = false
  const merges = { up: mergeOutcome('up'), down: mergeOutcome('down') }

  function mergeOutcome(outcome: Outcome) {
    const note =
      (kind: 'opened' | 'unknown') => (fromMs: number, toMs: number, reason: GapReason) =>
        sink.add({ kind, conditionId, gap: { outcome, fromMs, toMs, reason } })
    const noteUnknown = note('unknown')
    return createMerge(
      {
        state: (snapshot, knownFromMs) => sink.add({ kind: 'state', snapshot, knownFromMs }),
        gapOpened: (fromMs, reason) => noteUnknown(fromMs, ENDLESS_MS, reason),
        gapEnded(fromMs, atMs, reason) {
          sink.add({ kind: 'ended', conditionId, outcome, atMs })
          noteUnknown(fromMs, atMs, reason)
        },
        gapFound: note('opened'),
        known: (fromMs, toMs) => sink.add({ kind: 'known', conditionId, outcome, fromMs, toMs }),
      },
      { heldMs: heldMs[outcome], windowStartMs },
    )
  }

  function finish(): void {
    isOver = true
    for (const outcome of outcomes) merges[outcome].finish(windowEndMs)
  }

  return {
    market,

    /** Follows the market on a connection, whose books begin unknown. */
    follow: (source: object, watermark: Watermark): MarketBooks =>
      createMarketBooks({
        market,
        verifier,
        watch,
        counts: bookCounts,
        maxPerSecond,
        watermark,
        output: {
          state: (snapshot) => merges[snapshot.outcome].state(source, snapshot),
          trade: (trade) => sink.add({ kind: 'trade', conditionId, trade }),
          found: ({ outcome, atMs }) => merges[outcome].found(source, atMs),
          missed: (gap) => merges[gap.outcome].missed(source, gap),
          lost: ({ outcome, reason }) => merges[outcome].lost(source, reason),
        },
      }),

    /**
     * Removes a closed connection, which received messages up to `heardMs` by the venue's clock.
     */
    unfollow(source: object, reason: GapReason, heardMs: number): void {
      const isWhole = isOver && (!isLate || heardMs >= windowEndMs)
      for (const outcome of outcomes) merges[outcome].lost(source, isWhole ? undefined : reason)
      if (isOver) finish()
    },

    /**
     * Ends the recording once the messages of the window have arrived: no gap extends past the
     * window or begins when a connection closes. States and gaps from late messages of the window
     * are still recorded.
     */
    finish,

    /** Counts an event of the market from any connection. */
    heard(event: FeedEvent): void {
      const isOfBook = event.kind === 'book' || event.kind === 'changes'
      if (isOver && isOfBook && event.timestampMs < windowEndMs) isLate = true
      counts.events++
      if (event.kind !== 'fault') return
      counts.faults++
      counts.firstFault ??= event.reason
    },
    counts: counts as Readonly<typeof counts>,

    /** Outcomes whose book is currently unknown. */
    unknown: (): Outcome[] => outcomes.filter((outcome) => !merges[outcome].isKnown),

    /** Times of the last states. */
    heldMs: (): OutcomeMap<number> => ({ up: merges.up.lastMs, down: merges.down.lastMs }),

    /** The time of the last state by the venue's clock; undefined before the first. */
    lastMs: (): number | undefined =>
      Math.max(merges.up.lastMs ?? 0, merges.down.lastMs ?? 0) || undefined,
  }
}

export type MarketRecording = ReturnType<typeof recordMarket>
