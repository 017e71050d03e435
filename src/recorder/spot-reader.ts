import { seriesOf } from '#src/domain/spot.ts'
import type { SpotFeed } from '#src/venue/feed.ts'

/** Reads what a feed of prices says over its connections, one after the other. */
export function createSpotReader({ decode }: Pick<SpotFeed, 'decode'>) {
  const sequences = new Map<string, number>()
  return {
    /** Begins another connection, which counts from the start. */
    begin: () => sequences.clear(),

    /** Undefined for a message that cannot be read. */
    read: (text: string, receivedMs: number) =>
      decode(text, receivedMs)?.map((tick) => {
        if (tick.sequence === undefined) return tick
        const series = `${tick.coin} ${seriesOf(tick)}`
        const before = sequences.get(series)
        sequences.set(series, tick.sequence)
        // Where the feed does not count what it dropped, its sequence numbers do.
        const missed = before === undefined ? 0 : tick.sequence - before - 1
        return missed > 0 && tick.dropped === undefined ? { ...tick, dropped: missed } : tick
      }),
  }
}
