/** The recorder: finds markets, hears their books, and keeps what is true of them. */
import type { Coin, Timeframe } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Catalogue } from '#src/venue/catalogue.ts'
import type { FeedEvent, VenueFeed } from '#src/venue/feed.ts'
import type { Venue } from '#src/venue/venue.ts'

import { noCounts } from './book-output.ts'
import { createDiscovery } from './discovery.ts'
import { createLane } from './lane.ts'
import { followLifecycle } from './lifecycle.ts'
import { type MarketRecording, recordMarket } from './market-recording.ts'
import {
  createReporter,
  type Every,
  type LiveMarket,
  type OpenSocket,
  type Reporter,
} from './ports.ts'
import { createRecipeWatch } from './recipe-watch.ts'
import { createSink, type Sink } from './sink.ts'
import { recordSpot, type SpotSource } from './spot.ts'

/** How often batches are looked at, and how often everything else is. */
const FAST_MS = 5
const SLOW_MS = 1000
/** Messages of types that are not known, kept for inspection. */
const UNKNOWN_MAX = 20
const TEXT_MAX = 2000
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
  /** Whether a connection of its own hears what the venue announces. */
  hearsLifecycle: boolean
  batchMs: number
  freeBytes(): number | undefined
  freeBytesMin: number
  openSocket: OpenSocket
  every: Every
  clock: Clock
  random: () => number
  log: (line: string) => void
  spotSources: readonly SpotSource[]
  /** Takes every message as it came, where raw messages are kept. */
  keepRaw?: ((text: string, receivedMs: number) => void) | undefined
}

const RECIPE_TEXT =
  'Hardly any book fits its hash, though best prices do: the venue has changed its recipe. Books are recorded unverified until hashes fit again.'

/** Starts to record. Dispose of it before the history. */
export function startRecorder(options: RecorderOptions) {
  const { venue, every } = options
  const reporter = createReporter((line) => options.log(`bookfeed: ${line}`))
  const hearing = createHearing(options, reporter)
  const closeLanes = (): void => {
    for (const lane of lanes) lane.close()
  }
  const sink = createSink({
    ...options,
    reporter,
    // What is dropped is missed, whatever the connections know: they begin again.
    onOverflow: closeLanes,
  })
  const discovery = createDiscovery({
    ...{ ...options, reporter },
    ...{ windowStarts: venue.windowStarts, slugOf: venue.slugOf },
  })
  const lanes = Array.from({ length: options.lanes }, () =>
    createLane({ ...options, url: options.feedUrl, reporter, onMessage: hearing.hear }),
  )
  const recordings = createRecordings(options, { sink, reporter })
  const lifecycle = options.hearsLifecycle
    ? followLifecycle({
        ...{ ...options, reporter },
        ...{ url: options.feedUrl, live: discovery.live, onEvent: discovery.take },
      })
    : undefined
  const spot = recordSpot({ ...options, sources: options.spotSources, reporter })

  const stops = [
    every(FAST_MS, () => {
      for (const lane of lanes) lane.tick()
      sink.tick()
    }),
    every(SLOW_MS, () => {
      discovery.tick()
      const wanted = recordings.choose(discovery.live())
      for (const lane of lanes) lane.want(wanted)
      hearing.checkClock()
    }),
  ]
  discovery.tick()

  return {
    /** What it does now, as `bookfeed status` prints it. */
    status: () => ({
      ...hearing.status(),
      books: recordings.counts,
      markets: recordings.status(),
      connections: lanes.flatMap((lane, index) =>
        lane.status().map((each) => ({ lane: index, ...each })),
      ),
      lanes: lanes.map(({ counts }) => counts),
      discovery: discovery.status(),
      spot: spot.status(),
      lifecycle: lifecycle?.status(),
      sink: { ...sink.counts, waiting: sink.waiting },
      fault: sink.fault(),
      warning: warningOf(reporter),
    }),

    /** Why it cannot store what it hears; undefined when it can. */
    fault: sink.fault,

    /** What is wrong with the venue; undefined when nothing is. */
    warning: () => warningOf(reporter),

    /** Stops hearing, writes what was heard, and leaves gaps open. */
    dispose(): void {
      for (const stop of stops) stop()
      discovery.dispose()
      spot.dispose()
      lifecycle?.dispose()
      closeLanes()
      sink.flush()
    },
  }
}

function warningOf({ isOpen }: Reporter): string | undefined {
  if (isOpen('feed')) return "The venue's feed is down; the recorder keeps trying."
  if (isOpen('catalogue'))
    return "The venue's catalogue does not answer; the recorder keeps trying."
  return undefined
}

export type Recorder = ReturnType<typeof startRecorder>

/** Counts messages, and watches the venue's clock. */
function createHearing({ keepRaw }: RecorderOptions, reporter: Reporter) {
  const heard = { messages: 0, faults: 0, unknown: 0, driftMs: 0 }
  const unknownMessages: string[] = []
  let lastMessageMs: number | undefined

  function count(event: FeedEvent, text: string, receivedMs: number): void {
    if ('timestampMs' in event) heard.driftMs = receivedMs - event.timestampMs
    if (event.kind === 'fault') heard.faults++
    if (event.kind !== 'unknown') return
    heard.unknown++
    if (unknownMessages.length < UNKNOWN_MAX) unknownMessages.push(text.slice(0, TEXT_MAX))
  }

  return {
    hear(text: string, receivedMs: number, events: readonly FeedEvent[]): void {
      keepRaw?.(text, receivedMs)
      heard.messages++
      lastMessageMs = receivedMs
      for (const event of events) count(event, text, receivedMs)
    },
    checkClock(): void {
      const seconds = Math.round(heard.driftMs / 1000)
      if (Math.abs(heard.driftMs) > DRIFT_MS_MAX)
        reporter.report('drift', `The venue's clock and this machine's differ by ${seconds} s.`)
      else reporter.settle('drift', "The venue's clock and this machine's agree again.")
    },
    status: () => ({ ...heard, lastMessageMs, unknownMessages }),
  }
}

/** Keeps a recording of each market for as long as it is heard. */
function createRecordings(options: RecorderOptions, tools: { sink: Sink; reporter: Reporter }) {
  const { history, venue, maxPerSecond } = options
  const { sink, reporter } = tools
  const recordings = new Map<string, MarketRecording>()
  const counts = noCounts()
  const watch = createRecipeWatch({
    changed(isAdvisory) {
      if (isAdvisory) reporter.report('recipe', RECIPE_TEXT)
      else reporter.settle('recipe', 'Books fit their hashes again.')
    },
  })
  const verifier = venue.createBookVerifier()

  function begin(market: LiveMarket): MarketRecording {
    const held = history.findMarket(market.conditionId)?.spans
    const heldMs = { up: held?.up?.lastMs, down: held?.down?.lastMs }
    const rate = maxPerSecond[market.timeframe]
    return recordMarket({
      ...{ market, verifier, watch, counts, sink, heldMs },
      maxPerSecond: rate,
    })
  }

  return {
    /** Returns the recordings of markets, and ends all others. */
    choose(markets: readonly LiveMarket[]): MarketRecording[] {
      const chosen = markets.map((market) => {
        const recording = recordings.get(market.conditionId) ?? begin(market)
        recordings.set(market.conditionId, recording)
        return recording
      })
      for (const [conditionId, recording] of recordings) {
        if (chosen.includes(recording)) continue
        recording.finish()
        recordings.delete(conditionId)
      }
      return chosen
    },
    counts,
    status: () =>
      [...recordings.values()].map(({ market: { conditionId, slug }, lastMs, unknown }) => ({
        ...{ conditionId, slug },
        ...{ lastMs: lastMs(), unknown: unknown() },
      })),
  }
}
