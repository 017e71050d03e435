import { seriesOf } from '#src/domain/spot.ts'
import type { SpotFeed } from '#src/venue/feed.ts'

/** Reads the messages of a price feed over its successive connections. */
export function createSpotReader({ decode }: Pick<SpotFeed, 'decode'>) {
  const sequences = new Map<string, number>()
  return {
    /** Starts a new connection, whose sequence numbers start again. */
    begin: () => sequences.clear(),

    /** Returns undefined for a message that cannot be read. */
    read: (text: string, receivedMs: number) =>
      decode(text, receivedMs)?.map((tick) => {
        if (tick.sequence === undefined) return tick
        const series = `${tick.coin} ${seriesOf(tick)}`
        const before = sequences.get(series)
        sequences.set(series, tick.sequence)
        // If the feed does not report dropped ticks, gaps in its sequence numbers do.
        const missed = before === undefined ? 0 : tick.sequence - before - 1
        return missed > 0 && tick.dropped === undefined ? { ...tick, dropped: missed } : tick
      }),
  }
}
