import { describe, expect, test } from 'bun:test'

import { noCounts } from '#src/recorder/book-output.ts'
import type { Entry } from '#src/recorder/entry.ts'
import { recordMarket } from '#src/recorder/market-recording.ts'
import { createRecipeWatch } from '#src/recorder/recipe-watch.ts'
import { Watermark } from '#src/recorder/watermark.ts'
import { polymarket } from '#src/venue/polymarket/polymarket.ts'

import { at, openVenue } from './stage.ts'
import { market, START_MS } from './venue-model.ts'

/** Records a market on a connection that has sent both books. */
function start() {
  const entries: Entry[] = []
  const window = { windowStartMs: START_MS, windowEndMs: at(300_000) }
  const recording = recordMarket({
    market: { ...market, ...window, slug: 'market' },
    verifier: polymarket.createBookVerifier(),
    watch: createRecipeWatch(() => {}),
    counts: noCounts(),
    sink: { add: (entry) => void entries.push(entry) },
    heldMs: { up: undefined, down: undefined },
    maxPerSecond: undefined,
  })
  const connection = {}
  const books = recording.follow(connection, new Watermark())
  for (const outcome of ['up', 'down'] as const) {
    const frame = openVenue().bookFrame(outcome, at(0))
    for (const event of polymarket.feed.decode(JSON.stringify(frame))) books.take(event, at(5))
  }
  books.settle(at(50))
  const opened = () =>
    entries.splice(0).flatMap((entry) => (entry.kind === 'unknown' ? entry.gap.reason : []))
  opened()
  return { recording, connection, opened }
}

describe('recordMarket', () => {
  test('default: a connection that ends leaves a gap in each outcome', () => {
    const { recording, connection, opened } = start()
    recording.unfollow(connection, 'recorder_down')
    expect(opened()).toEqual(['recorder_down', 'recorder_down'])
  })

  test('behavior: after the market is over it leaves none', () => {
    const { recording, connection, opened } = start()
    recording.finish()
    recording.unfollow(connection, 'venue_silent')
    expect(opened()).toEqual([])
  })
})
