/** The recorder: finds markets, hears their books, and keeps what is true of them. */

import type { Coin, MarketFacts, Timeframe } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'
import type { Catalogue } from '#src/venue/catalogue.ts'
import type { FaultEvent, FeedEvent, VenueFeed } from '#src/venue/feed.ts'
import type { Venue } from '#src/venue/venue.ts'

import { noCounts } from './book-output.ts'
import { createDiscovery, type DiscoveryOptions } from './discovery.ts'
import { createJournal, type Journal, type KeepHeard, toHeardLine } from './journal.ts'
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
import { recordSpot, type SpotOptions, type SpotSource } from './spot.ts'
import { createUnreadable } from './unreadable.ts'
import { createWindowWatch } from './window-watch.ts'

/** How often batches are looked at, and how often everything else is. */
const FAST_MS = 1
const SLOW_MS = 1000
/** Of the slow ones, for which markets that were found wait for more at most. */
const GATHER_TICKS = 3
/** Messages of types that are not known, kept for inspection. */
const UNKNOWN_MAX = 20
const TEXT_MAX = 2000
/** Books a second whose hash is searched for in full; a search takes some milliseconds. */
const SEARCHES_MAX = 3
/** The venue's clock and ours may differ by so much, the way included. */
const DRIFT_MS_MAX = 5000
/** Of so many seconds the quickest message counts: others were held up. */
const DRIFT_SECONDS = 10

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
  log: Log
  spotSources: readonly SpotSource[]
  spotPage?: SpotOptions['page']
  /** Rows were committed. */
  onStored?: (() => void) | undefined
  /** Keeps what is heard, where that is wanted; `toHeardLine` makes lines of it. */
  keep?: KeepHeard | undefined
}

const RECIPE_TEXT =
  'Hardly any book fits its hash, though best prices do: the venue has changed its recipe. Books are recorded unverified until hashes fit again.'

/** Its parts, and how they hang together. */
function createParts(options: RecorderOptions) {
  const { venue, clock } = options
  const reporter = createReporter((line, level) => options.log(`bookfeed: ${line}`, level))
  const journal = createJournal(options.keep)
  journal.note({ kind: 'started' }, clock())
  const hearing = createHearing(reporter, options.log)
  const closeLanes = (): void => {
    for (const lane of lanes) lane.close()
  }
  const sink = createSink({
    ...options,
    reporter,
    // What is dropped is missed, whatever the connections know: they begin again.
    onOverflow: closeLanes,
    onFlush: () => journal.note({ kind: 'stored' }, clock()),
  })
  const discovery = createDiscovery({
    ...options,
    ...{ windowStarts: venue.windowStarts, slugOf: venue.slugOf, reporter },
    history: notePuts(options, journal),
    isStored: (conditionId) => !sink.holds(conditionId),
  })
  const lanes = Array.from({ length: options.lanes }, () =>
    createLane({
      ...options,
      url: options.feedUrl,
      reporter,
      journal,
      onMessage: hearing.hear,
      onUnfollowed: hearing.unfollowed,
    }),
  )
  const recordings = createRecordings(options, { sink, reporter, journal })
  const spot = recordSpot({
    ...{ ...options, reporter, journal },
    ...{ sources: options.spotSources, page: options.spotPage },
  })
  const lifecycle = options.hearsLifecycle
    ? followLifecycle({
        ...{ ...options, reporter },
        ...{ url: options.feedUrl, live: discovery.live, onEvent: discovery.take },
        onFault: hearing.fault,
      })
    : undefined
  const windows = createWindowWatch(
    {
      reporter,
      recordingOf: recordings.find,
      isConnected: () => lanes.some((lane) => lane.status().some(({ state }) => state === 'live')),
      unfollowed: () => hearing.unreadable.status().unfollowed,
    },
    clock(),
  )
  const dispose = (): void => {
    discovery.dispose()
    spot.dispose()
    lifecycle?.dispose()
    closeLanes()
    sink.end()
  }
  return {
    reporter,
    journal,
    hearing,
    sink,
    discovery,
    lanes,
    recordings,
    spot,
    lifecycle,
    windows,
    dispose,
  }
}

/** Starts to record. Dispose of it before the history. */
export function startRecorder(options: RecorderOptions) {
  const { every, clock } = options
  const parts = createParts(options)
  const { reporter, journal, hearing, sink, discovery, lanes, recordings, spot, lifecycle } = parts
  const { windows } = parts
  const warning = () =>
    [
      ...venueWarnings(reporter),
      ...refusalsOf(spot),
      hearing.unreadable.warning(),
      windows.warning(),
    ]
      .filter((text) => text !== undefined)
      .join(' ') || undefined

  let gathered = 0
  function follow(): void {
    // What is found a moment later is carried by the same connection.
    if (discovery.isAsking() && gathered++ < GATHER_TICKS) return
    gathered = 0
    const wanted = recordings.choose(discovery.live())
    for (const lane of lanes) lane.want(wanted)
  }

  const stops = [
    every(FAST_MS, () => {
      journal.settle(clock())
      for (const lane of lanes) lane.tick()
      sink.tick()
    }),
    every(SLOW_MS, () => {
      discovery.tick()
      follow()
      hearing.tick()
      windows.check(discovery.windows(), clock())
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
      windows: windows.status(),
      warning: warning(),
    }),

    /** Why it cannot store what it hears; undefined when it can. */
    fault: sink.fault,

    /** What is wrong with the venue, or not recorded of it; undefined when nothing is. */
    warning,

    /** Lines with which what is kept can begin in the middle: what is followed now. */
    preamble(): string[] {
      const nowMs = clock()
      journal.settle(nowMs)
      const markets = recordings.markets().map((market) => factsOf(options, market))
      const opened = [...journal.open].map(([connection, { follows }]) => {
        return { kind: 'opened', connection, markets: [...follows.keys()] } as const
      })
      return [...markets, ...opened].map((heard) => toHeardLine(heard, nowMs))
    },

    /** Stops hearing, writes what was heard, and leaves gaps open. */
    dispose(): void {
      for (const stop of stops) stop()
      parts.dispose()
    },
  }
}

const refusalsOf = (spot: ReturnType<typeof recordSpot>): string[] =>
  spot
    .status()
    .sources.flatMap(({ name, refused }) =>
      refused === undefined ? [] : [`The price feed ${name} refuses: ${refused}.`],
    )

function venueWarnings({ isOpen }: Reporter): string[] {
  if (isOpen('feed')) return ["The venue's feed is down; the recorder keeps trying."]
  if (isOpen('catalogue'))
    return ["The venue's catalogue does not answer; the recorder keeps trying."]
  return []
}

export type Recorder = ReturnType<typeof startRecorder>

const factsOf = ({ maxPerSecond }: RecorderOptions, facts: Omit<MarketFacts, 'source'>) =>
  ({
    kind: 'market',
    facts: { ...facts, source: 'recorded' },
    maxPerSecond: maxPerSecond[facts.timeframe],
  }) as const

/** A history that notes what is put into it of markets. */
function notePuts(options: RecorderOptions, journal: Journal): DiscoveryOptions['history'] {
  const { history, clock } = options
  return {
    ...history,
    putMarket(facts) {
      journal.note(factsOf(options, facts), clock())
      history.putMarket(facts)
    },
  }
}

/** Counts messages, and watches the venue's clock. */
function createHearing(reporter: Reporter, log: Log) {
  const heard = {
    messages: 0,
    faults: 0,
    unknown: 0,
    /** Events of markets that no connection was asked for. */
    unfollowed: 0,
    driftMs: undefined as number | undefined,
  }
  const unreadable = createUnreadable(log)
  const unknownMessages: string[] = []
  const drifts: number[] = []
  let leastMs = Number.POSITIVE_INFINITY
  let lastMessageMs: number | undefined

  function fault({ reason, conditionId }: FaultEvent): void {
    heard.faults++
    unreadable.fault(conditionId === undefined ? reason : `${reason} (market ${conditionId})`)
  }

  function count(event: FeedEvent, text: string, receivedMs: number): void {
    unreadable.heard()
    // A book is sent again long after its time.
    if (event.kind === 'changes') leastMs = Math.min(leastMs, receivedMs - event.timestampMs)
    if (event.kind === 'fault') fault(event)
    if (event.kind !== 'unknown') return
    heard.unknown++
    if (unknownMessages.length < UNKNOWN_MAX) unknownMessages.push(text.slice(0, TEXT_MAX))
  }

  function checkClock(): void {
    if (leastMs !== Number.POSITIVE_INFINITY) drifts.push(leastMs)
    leastMs = Number.POSITIVE_INFINITY
    if (drifts.length > DRIFT_SECONDS) drifts.shift()
    if (drifts.length === 0) return
    heard.driftMs = Math.min(...drifts)
    const seconds = Math.round(heard.driftMs / 1000)
    if (Math.abs(heard.driftMs) > DRIFT_MS_MAX)
      reporter.report('drift', `The venue's clock and this machine's differ by ${seconds} s.`)
    else reporter.settle('drift', "The venue's clock and this machine's agree again.")
  }

  return {
    hear(text: string, receivedMs: number, events: readonly FeedEvent[]): void {
      heard.messages++
      lastMessageMs = receivedMs
      for (const event of events) count(event, text, receivedMs)
    },
    /** A message that cannot be read, of a connection that is not counted otherwise. */
    fault(event: FaultEvent): void {
      unreadable.heard()
      fault(event)
    },
    unfollowed(): void {
      heard.unfollowed++
      unreadable.unfollowed()
    },
    unreadable,
    /** To be called every second. */
    tick(): void {
      checkClock()
      unreadable.tick()
    },
    status: () => ({ ...heard, lastMessageMs, unknownMessages, lastMinute: unreadable.status() }),
  }
}

/** Keeps a recording of each market for as long as it is heard. */
function createRecordings(
  { history, venue, maxPerSecond, clock }: RecorderOptions,
  { sink, reporter, journal }: { sink: Sink; reporter: Reporter; journal: Journal },
) {
  const recordings = new Map<string, MarketRecording>()
  const counts = noCounts()
  const watch = createRecipeWatch({
    changed(isAdvisory) {
      if (isAdvisory) reporter.report('recipe', RECIPE_TEXT)
      else reporter.settle('recipe', 'Books fit their hashes again.')
    },
  })
  const verifier = venue.createBookVerifier({ searchesMax: SEARCHES_MAX })

  function begin(market: LiveMarket): MarketRecording[] {
    const { conditionId, timeframe } = market
    const tools = { market, verifier, watch, counts, sink, maxPerSecond: maxPerSecond[timeframe] }
    try {
      const held = history.findMarket(conditionId)?.spans
      const heldMs = { up: held?.up?.lastMs, down: held?.down?.lastMs }
      const recording = recordMarket({ ...tools, heldMs })
      recordings.set(conditionId, recording)
      return [recording]
    } catch (error) {
      // What is wrong with one market stops no other.
      reporter.report(`market ${conditionId}`, messageOf(error))
      return []
    }
  }

  return {
    /** Returns the recordings of markets, and ends all others. */
    choose(markets: readonly LiveMarket[]): MarketRecording[] {
      const chosen = markets.flatMap(
        (market) => recordings.get(market.conditionId) ?? begin(market),
      )
      for (const [conditionId, recording] of recordings) {
        if (chosen.includes(recording)) continue
        journal.note({ kind: 'finished', conditionId }, clock())
        recording.finish()
        recordings.delete(conditionId)
      }
      return chosen
    },
    counts,
    find: (conditionId: string) => recordings.get(conditionId),
    markets: () => [...recordings.values()].map(({ market }) => market),
    status: () =>
      [...recordings.values()].map(({ market, lastMs, unknown, counts: heard }) => ({
        conditionId: market.conditionId,
        slug: market.slug,
        lastMs: lastMs(),
        unknown: unknown(),
        events: heard.events,
        faults: heard.faults,
        firstFault: heard.firstFault,
      })),
  }
}
