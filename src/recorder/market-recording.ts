/** A market while it is recorded: both outcomes, from however many connections carry them. */
import { ENDLESS_MS, type GapReason } from '#src/domain/coverage.ts'
import { type Outcome, type OutcomeMap, outcomes } from '#src/domain/market.ts'
import type { FeedEvent } from '#src/venue/feed.ts'
import type { BookVerifier } from '#src/venue/venue.ts'

import type { BookCounts } from './book-output.ts'
import { createMarketBooks, type MarketBooks } from './books.ts'
import { createMerge, type Merge, type SourceId } from './merge.ts'
import type { LiveMarket } from './ports.ts'
import type { RecipeWatch } from './recipe-watch.ts'
import type { Sink } from './sink.ts'
import type { Watermark } from './watermark.ts'

export type RecordingOptions = {
  market: LiveMarket
  verifier: BookVerifier
  /** Both are shared by all markets. */
  watch: RecipeWatch
  counts: BookCounts
  sink: Pick<Sink, 'add'>
  /** Times of the last states that the history holds. */
  heldMs: OutcomeMap<number>
  /** At most so many states a second of an outcome; all where undefined. */
  maxPerSecond: number | undefined
}

/** Begins to record a market. */
export function recordMarket(options: RecordingOptions) {
  const { market, sink, heldMs } = options
  const { conditionId } = market
  let isOver = false

  function mergeOf(outcome: Outcome): Merge {
    const open = (fromMs: number, toMs: number, reason: GapReason) => {
      if (!isOver) sink.add({ kind: 'opened', conditionId, gap: { outcome, fromMs, toMs, reason } })
    }
    return createMerge(
      {
        state: (snapshot) => sink.add({ kind: 'state', snapshot }),
        gapOpened: (fromMs, reason) => open(fromMs, ENDLESS_MS, reason),
        gapEnded: (atMs) => sink.add({ kind: 'ended', conditionId, outcome, atMs }),
        gapFound: open,
      },
      { heldMs: heldMs[outcome], windowStartMs: market.windowStartMs },
    )
  }
  const merges = { up: mergeOf('up'), down: mergeOf('down') }
  const counts = { events: 0, faults: 0, firstFault: undefined as string | undefined }

  return {
    market,

    /** Follows the market on a connection; the books begin unknown. */
    follow(source: SourceId, watermark: Watermark): MarketBooks {
      return createMarketBooks({
        ...{ ...options, watermark },
        output: {
          state: (snapshot) => merges[snapshot.outcome].state(source, snapshot),
          trade: (trade) => sink.add({ kind: 'trade', conditionId, trade }),
          found: ({ outcome, atMs }) => merges[outcome].found(source, atMs),
          missed: (gap) => merges[gap.outcome].missed(source, gap),
          lost: ({ outcome, reason }) => merges[outcome].lost(source, reason),
        },
      })
    },

    /** A connection is gone. */
    unfollow(source: SourceId, reason: GapReason): void {
      for (const outcome of outcomes) merges[outcome].lost(source, reason)
    },

    /** Ends the recording: no gap reaches beyond the window, or begins when its connection ends. */
    finish(): void {
      isOver = true
      for (const outcome of outcomes) merges[outcome].finish(market.windowEndMs)
    },

    /** Counts what any connection said of the market. */
    heard(event: FeedEvent): void {
      counts.events++
      if (event.kind !== 'fault') return
      counts.faults++
      counts.firstFault ??= event.reason
    },
    counts: counts as Readonly<typeof counts>,

    /** Outcomes whose book is not known now. */
    unknown: (): Outcome[] => outcomes.filter((outcome) => !merges[outcome].isKnown),

    /** Times of the last states. */
    heldMs: (): OutcomeMap<number> => ({ up: merges.up.lastMs, down: merges.down.lastMs }),

    /** The venue's time of the last state; undefined before the first. */
    lastMs: (): number | undefined =>
      outcomes.reduce<number | undefined>(
        (last, outcome) => Math.max(last ?? 0, merges[outcome].lastMs ?? 0) || undefined,
        undefined,
      ),
  }
}

export type MarketRecording = ReturnType<typeof recordMarket>
