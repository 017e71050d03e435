import { describe, expect, test } from 'bun:test'

import { noCounts } from '#src/recorder/book-output.ts'
import type { Entry } from '#src/recorder/entry.ts'
import { recordMarket } from '#src/recorder/market-recording.ts'
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
  const spans = () =>
    entries.splice(0).flatMap((entry) => {
      if (entry.kind === 'unknown')
        return `${entry.gap.outcome} from ${entry.gap.fromMs - START_MS}`
      return entry.kind === 'ended' ? `${entry.outcome} to ${entry.atMs - START_MS}` : []
    })
  return { recording, connection, books, opened, spans }
}

describe('recordMarket', () => {
  test('default: a connection that ends leaves a gap in each outcome', () => {
    const { recording, connection, opened } = start()
    recording.unfollow(connection, 'recorder_down', at(5))
    expect(opened()).toEqual(['recorder_down', 'recorder_down'])
  })

  test('behavior: after the market is over it leaves none', () => {
    const { recording, connection, opened } = start()
    recording.finish()
    recording.unfollow(connection, 'venue_silent', at(5))
    expect(opened()).toEqual([])
  })

  test('behavior: what is lost after the recording was ended is a gap up to the end of the window', () => {
    const { recording, connection, books, spans } = start()
    recording.finish()
    books.take(
      { kind: 'fault', reason: 'cut', conditionId: market.conditionId, isOfBook: true },
      at(9),
    )
    expect(spans()).toEqual(['up from 1', 'down from 1'])
    recording.unfollow(connection, 'venue_silent', at(5))
    expect(spans()).toEqual(['up to 300000', 'up from 1', 'down to 300000', 'down from 1'])
  })

  test('behavior: a connection that ends amid what comes late leaves a gap, unless it was heard past the end', () => {
    const endedAfter = (heardMs: number) => {
      const { recording, connection, spans } = start()
      recording.finish()
      recording.heard({
        kind: 'changes',
        conditionId: market.conditionId,
        timestampMs: at(200),
        changes: [],
      })
      recording.unfollow(connection, 'recorder_down', heardMs)
      return spans()
    }
    expect(endedAfter(at(200))).toContain('up from 1')
    expect(endedAfter(at(300_000))).toEqual([])
  })
})
