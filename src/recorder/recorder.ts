/** The recorder: finds markets, hears their books, and keeps what is true of them. */
import type { Coin, Timeframe } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Catalogue } from '#src/venue/catalogue.ts'
import type { FeedEvent, VenueFeed } from '#src/venue/feed.ts'
import type { Venue } from '#src/venue/venue.ts'

import { createRecipeWatch } from './books.ts'
import { createDiscovery } from './discovery.ts'
import { createLane } from './lane.ts'
import { type MarketRecording, recordMarket } from './market-recording.ts'
import { createReporter, type Every, type OpenSocket } from './ports.ts'
import { createSink } from './sink.ts'

/** How often batches are looked at, and how often everything else is. */
const FAST_MS = 5
const SLOW_MS = 1000
/** Messages of types that are not known, kept for inspection. */
const UNKNOWN_MAX = 20
/** The venue's clock and ours may differ by so much, the way included. */
const DRIFT_MS_MAX = 5000

export type RecorderOptions = {
  history: MarketHistory
  venue: Venue
  feed: VenueFeed
  feedUrl: string
  catalogue: Catalogue
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  /** States of an outcome a second, by timeframe; all where undefined. */
  maxPerSecond: { readonly [timeframe in Timeframe]?: number }
  /** Connections that carry everything at the same time: 1 or 2. */
  lanes: number
  batchMs: number
  freeBytes(): number | undefined
  freeBytesMin: number
  openSocket: OpenSocket
  every: Every
  clock: Clock
  random: () => number
  log: (line: string) => void
  /** Takes every message as it came, where raw messages are kept. */
  keepRaw?: ((text: string, receivedMs: number) => void) | undefined
}

/** Starts to record. Dispose of it before the history. */
export function startRecorder(options: RecorderOptions) {
  const { history, venue, every, clock } = options
  const reporter = createReporter((line) => options.log(`bookfeed: ${line}`))
  const recordings = new Map<string, MarketRecording>()
  const recipe = createRecipeWatch((text) => reporter.report('recipe', text))
  const verifier = venue.createBookVerifier()
  const heard = {
    messages: 0,
    faults: 0,
    unknown: 0,
    lastMessageMs: undefined as number | undefined,
  }
  const unknown: string[] = []
  let driftMs = 0

  const sink = createSink({
    ...options,
    reporter,
    // What is dropped is missed, whatever the connections know: they begin again.
    onOverflow: () => restart(),
  })
  const discovery = createDiscovery({ ...options, windowStarts: venue.windowStarts, reporter })

  function hear(text: string, receivedMs: number, events: readonly FeedEvent[]): void {
    options.keepRaw?.(text, receivedMs)
    heard.messages++
    heard.lastMessageMs = receivedMs
    for (const event of events) {
      if ('timestampMs' in event) driftMs = receivedMs - event.timestampMs
      if (event.kind === 'fault') heard.faults++
      if (event.kind !== 'unknown') continue
      heard.unknown++
      if (unknown.length < UNKNOWN_MAX) unknown.push(text.slice(0, 2000))
    }
  }

  const lanes = Array.from({ length: options.lanes }, () =>
    createLane({ ...options, url: options.feedUrl, reporter, onMessage: hear }),
  )

  function restart(): void {
    for (const lane of lanes) lane.dispose()
  }

  function follow(): void {
    const wanted = discovery.live().map((market) => {
      const known = recordings.get(market.conditionId)
      if (known !== undefined) return known
      const held = history.findMarket(market.conditionId)
      const recording = recordMarket({
        ...{ market, verifier, recipe, sink },
        heldMs: { up: held?.spans.up?.lastMs, down: held?.spans.down?.lastMs },
        maxPerSecond: options.maxPerSecond[market.timeframe],
      })
      recordings.set(market.conditionId, recording)
      return recording
    })
    const ids = new Set(wanted.map(({ market }) => market.conditionId))
    for (const [conditionId, recording] of recordings) {
      if (ids.has(conditionId)) continue
      recording.finish()
      recordings.delete(conditionId)
    }
    for (const lane of lanes) lane.want(wanted)
  }

  function checkClock(): void {
    const text = `The venue's clock and this machine's differ by ${Math.round(driftMs / 1000)} s.`
    if (Math.abs(driftMs) > DRIFT_MS_MAX) reporter.report('drift', text)
    else reporter.settle('drift', "The venue's clock and this machine's agree again.")
  }

  const stops = [
    every(FAST_MS, () => {
      for (const lane of lanes) lane.tick()
      sink.tick()
    }),
    every(SLOW_MS, () => {
      discovery.tick()
      follow()
      checkClock()
    }),
  ]
  discovery.tick()

  return {
    /** What it does now, as `bookfeed status` prints it. */
    status: () => ({
      ...heard,
      driftMs,
      markets: [...recordings.values()].map(({ market, lastMs, unknown: missing }) => ({
        ...{ conditionId: market.conditionId, slug: market.slug, lastMs: lastMs() },
        unknown: missing(),
      })),
      connections: lanes.flatMap((lane, index) =>
        lane.status().map((each) => ({ lane: index, ...each })),
      ),
      lanes: lanes.map(({ counts }) => counts),
      discovery: discovery.status(),
      sink: { ...sink.counts, waiting: sink.waiting },
      unknownMessages: unknown,
    }),

    /** Why it does not record though it should; undefined when it does. */
    fault: (): string | undefined =>
      sink.isFull ? 'The disk is nearly full: nothing is recorded.' : undefined,

    /** Stops hearing, writes what was heard, and leaves gaps open. */
    dispose(): void {
      for (const stop of stops) stop()
      discovery.dispose()
      for (const lane of lanes) lane.dispose()
      sink.flush()
    },
  }
}

export type Recorder = ReturnType<typeof startRecorder>
