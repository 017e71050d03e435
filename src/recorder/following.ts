import type { GapReason } from '#src/domain/coverage.ts'
import type { FeedEvent } from '#src/venue/feed.ts'

import type { MarketBooks } from './books.ts'
import type { MarketRecording } from './market-recording.ts'
import { Watermark } from './watermark.ts'

/** The books of the markets carried by one connection. */
export function followMarkets(recordings: readonly MarketRecording[], nowMs: number) {
  const source = {}
  const watermark = new Watermark()
  const follows = new Map<
    string,
    { recording: MarketRecording; books: MarketBooks; heardMs: number }
  >()
  for (const recording of recordings) {
    const books = recording.follow(source, watermark)
    follows.set(recording.market.conditionId, { recording, books, heardMs: nowMs })
  }
  return {
    follows: follows as Pick<typeof follows, 'get' | 'has' | 'keys' | 'values' | 'size'>,

    /** The newest time received over the connection, by the venue's clock. */
    heardMs: (): number => watermark.newestMs,

    /** Returns false for an event of a market that is not followed. */
    take(event: FeedEvent, receivedMs: number): boolean {
      if (event.kind === 'unknown' || event.kind === 'announced') return true
      if (event.kind === 'fault' && event.conditionId === undefined) {
        // The message names no market, so it may belong to any of them.
        for (const { books } of follows.values()) books.take(event, receivedMs)
        return true
      }
      const follow = follows.get(event.conditionId ?? '')
      if (follow === undefined) return false
      follow.heardMs = receivedMs
      follow.recording.heard(event)
      follow.books.take(event, receivedMs)
      return true
    },

    settle(nowMs: number): void {
      for (const { books } of follows.values()) books.settle(nowMs)
    },

    /** Ends the books, because the connection was closed. */
    end(reason: GapReason): void {
      for (const { recording, books } of follows.values()) {
        books.end()
        recording.unfollow(source, reason, watermark.newestMs)
      }
    },
  }
}

export type Following = ReturnType<typeof followMarkets>
