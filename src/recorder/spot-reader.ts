/** Reads what a feed of prices says over its connections, one after the other. */
import { seriesOf, type SpotTick } from '#src/domain/spot.ts'
import type { SpotFeed } from '#src/venue/feed.ts'

export function createSpotReader({ decode }: Pick<SpotFeed, 'decode'>) {
  const sequences = new Map<string, number>()

  /** Where the feed does not count what it dropped, its numbers do. */
  function withGaps(tick: SpotTick): SpotTick {
    const { sequence, dropped } = tick
    if (sequence === undefined) return tick
    const series = `${tick.coin} ${seriesOf(tick)}`
    const before = sequences.get(series)
    sequences.set(series, sequence)
    const missed = before === undefined ? 0 : sequence - before - 1
    return missed > 0 && dropped === undefined ? { ...tick, dropped: missed } : tick
  }

  return {
    /** Another connection, which counts from the start. */
    begin: () => sequences.clear(),

    /** Undefined for a message that cannot be read. */
    read: (text: string, receivedMs: number) => decode(text, receivedMs)?.map(withGaps),
  }
}

export type SpotReader = ReturnType<typeof createSpotReader>
