/** The recorder: finds markets, follows their books and stores the proved states. */

import type { Coin, MarketFacts, Timeframe } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'
import type { Catalogue } from '#src/venue/catalogue.ts'
import type { FaultEvent, FeedEvent, VenueFeed } from '#src/venue/feed.ts'
import type { Venue } from '#src/venue/venue.ts'

import { noCounts } from './book-output.ts'
import { createDiscovery, LINGER_MS } from './discovery.ts'
import { createFeedGroups } from './feed-groups.ts'
import { createJournal, type KeepHeard, toHeardLine } from './journal.ts'
import { followLifecycle } from './lifecycle.ts'
import { type MarketRecording, recordMarket } from './market-recording.ts'
import {
  createReporter,
  type Every,
  type LiveMarket,
  type OpenSocket,
  type Reporter,
} from './ports.ts'
import { createSink } from './sink.ts'
import { recordSpot, type SpotOptions } from './spot.ts'
import { createUnreadable } from './unreadable.ts'
import { createWindowWatch } from './window-watch.ts'

/** The interval at which batches are processed. */
const FAST_MS = 1
/** The interval of all other work. */
const SLOW_MS = 1000
/** The maximum number of slow ticks for which found markets wait for more. */
const GATHER_TICKS = 3
/** Messages of unknown types that are kept for inspection. */
const UNKNOWN_MAX = 20
const TEXT_MAX = 2000
/** Books per second whose hash is tried with every recipe, a millisecond each. */
const SEARCHES_MAX = 3
/** The tolerated difference between the venue's clock and ours, including latency. */
const DRIFT_MS_MAX = 5000
/** Seconds of which only the fastest message counts, because others were delayed. */
const DRIFT_SECONDS = 10

export type RecorderOptions = {
  history: MarketHistory
  venue: Venue
  feed: VenueFeed
  feedUrl: string
  catalogue: Catalogue
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  /**
   * The maximum number of states of an outcome per second, by timeframe; unlimited if undefined.
   */
  maxPerSecond: { readonly [timeframe in Timeframe]?: number }
  /** The number of concurrent connections that carry each market: 1 or 2. */
  feedCopies: number
  /** True if a separate connection receives the venue's announcements. */
  hearsLifecycle: boolean
  batchMs: number
  freeBytes(): number | undefined
  freeBytesMin: number
  openSocket: OpenSocket
  every: Every
  clock: Clock
  random: () => number
  log: Log
  spotSources: SpotOptions['sources']
  spotPage?: SpotOptions['page']
  /**
   * Returns why the clock cannot be used; undefined if it can. While it returns a reason, no end of
   * a window and no gap is stored.
   */
  clockFault?: (() => string | undefined) | undefined
  /** Called when rows were committed. */
  onStored?: (() => void) | undefined
  /** Receives the entries of the journal, if wanted; `toHeardLine` prints them. */
  keep?: KeepHeard | undefined
}

const RECIPE_TEXT =
  'Nothing known reproduces the hashes of a market, though best prices fit: the venue has another recipe. Its books are recorded unverified until hashes fit.'

/** Starts the recorder. Dispose of it, and await that, before closing the history. */
export function startRecorder(options: RecorderOptions) {
  const { history, venue, feed, coins, openSocket, every, clock, random, maxPerSecond } = options
  const { clockFault = () => undefined } = options
  const reporter = createReporter((line, level) => options.log(`bookfeed: ${line}`, level))
  const journal = createJournal(options.keep)
  journal.note({ kind: 'started' }, clock())
  const messages = createMessageCounts(reporter, options.log)

  const closeFeeds = (): void => {
    for (const each of feeds) each.close()
  }
  const sink = createSink({
    history,
    clock,
    reporter,
    batchMs: options.batchMs,
    freeBytes: options.freeBytes,
    freeBytesMin: options.freeBytesMin,
    // Rows were lost, whatever the connections know, so every connection is opened again.
    onOverflow: closeFeeds,
    onFlush: () => journal.note({ kind: 'stored' }, clock()),
    onStored: options.onStored,
  })

  const toEntry = (facts: Omit<MarketFacts, 'source'>) =>
    ({
      kind: 'market',
      facts: { ...facts, source: 'recorded' },
      maxPerSecond: maxPerSecond[facts.timeframe],
    }) as const
  const discovery = createDiscovery({
    history: {
      ...history,
      putMarket(facts) {
        journal.note(toEntry(facts), clock())
        return history.putMarket(facts)
      },
    },
    catalogue: options.catalogue,
    venue,
    coins,
    timeframes: options.timeframes,
    clock,
    clockFault,
    random,
    reporter,
    isStored: (conditionId) => !recordings.has(conditionId) && !sink.holds(conditionId),
  })

  /** Feeds, each of which carries every market. */
  const feeds = Array.from({ length: options.feedCopies }, () =>
    createFeedGroups({
      url: options.feedUrl,
      feed,
      isRestart: venue.isRestart,
      openSocket,
      every,
      clock,
      random,
      reporter,
      journal,
      onMessage: messages.hear,
      onUnfollowed: messages.unfollowed,
    }),
  )

  const recordings = new Map<string, MarketRecording>()
  const books = noCounts()
  const verifier = venue.createBookVerifier({ searchesMax: SEARCHES_MAX, clock })
  /** Markets whose hashes no known recipe reproduces. */
  const unknownRecipes = new Set<string>()

  function noteRecipe(conditionId: string, isUnknown: boolean): void {
    if (isUnknown) {
      unknownRecipes.add(conditionId)
      // Reported once for all of them.
      reporter.report('recipe', RECIPE_TEXT)
      return
    }
    unknownRecipes.delete(conditionId)
    if (unknownRecipes.size === 0)
      reporter.settle('recipe', 'No market that is recorded has hashes of an unknown recipe.')
  }

  const spot = recordSpot({
    history,
    sources: options.spotSources,
    page: options.spotPage,
    coins,
    openSocket,
    every,
    clock,
    random,
    reporter,
    journal,
  })
  const lifecycle = options.hearsLifecycle
    ? followLifecycle({
        feed,
        url: options.feedUrl,
        live: discovery.live,
        onEvent: discovery.take,
        onFault: messages.fault,
        openSocket,
        every,
        clock,
        random,
        reporter,
      })
    : undefined
  const windows = createWindowWatch(
    {
      reporter,
      recordingOf: (conditionId) => recordings.get(conditionId),
      isConnected: () => feeds.some((each) => each.status().some(({ state }) => state === 'live')),
      unfollowed: () => messages.lastMinute().unfollowed,
    },
    clock(),
  )

  /** Starts to record a market, unless it is recorded already. */
  function record(market: LiveMarket): MarketRecording[] {
    const { conditionId, timeframe } = market
    const known = recordings.get(conditionId)
    if (known !== undefined) return [known]
    try {
      const held = history.findMarket(conditionId)?.spans
      const recording = recordMarket({
        market,
        verifier,
        onRecipe: (isUnknown) => noteRecipe(conditionId, isUnknown),
        counts: books,
        sink,
        heldMs: { up: held?.up?.lastMs, down: held?.down?.lastMs },
        maxPerSecond: maxPerSecond[timeframe],
      })
      recordings.set(conditionId, recording)
      return [recording]
    } catch (error) {
      // A fault of one market does not stop the others.
      reporter.report(`market ${conditionId}`, messageOf(error))
      return []
    }
  }

  /** True if all messages up to the end of a window have arrived, even if late. */
  const isHeard = ({ conditionId, windowEndMs }: LiveMarket): boolean =>
    feeds.every((each) => each.hasPassed(conditionId, windowEndMs, LINGER_MS))

  /** Records the live markets, and others until all their messages have arrived. */
  function recordLive(): void {
    const wanted = discovery.live().flatMap(record)
    for (const [conditionId, recording] of recordings) {
      if (wanted.includes(recording) || !isHeard(recording.market)) continue
      journal.note({ kind: 'finished', conditionId }, clock())
      recording.finish()
      recordings.delete(conditionId)
      noteRecipe(conditionId, false)
    }
    for (const each of feeds) each.want(wanted)
  }

  function warning(): string | undefined {
    const wrong = clockFault()
    const texts: (string | undefined)[] = [
      wrong && `${wrong} No window is closed, and no gap is stored, until that is mended.`,
    ]
    if (reporter.isOpen('feed')) texts.push("The venue's feed is down; the recorder keeps trying.")
    else if (reporter.isOpen('catalogue'))
      texts.push("The venue's catalogue does not answer; the recorder keeps trying.")
    for (const { name, refused } of spot.status().sources)
      if (refused !== undefined) texts.push(`The price feed ${name} refuses: ${refused}.`)
    texts.push(messages.warning(), windows.warning())
    return texts.filter((text) => text !== undefined).join(' ') || undefined
  }

  let gathered = 0
  const stops = [
    every(FAST_MS, () => {
      journal.settle(clock())
      for (const each of feeds) each.tick()
      sink.tick()
    }),
    every(SLOW_MS, () => {
      discovery.tick()
      // Waits so that markets found a moment later share the connection.
      if (!discovery.isAsking() || gathered++ >= GATHER_TICKS) {
        gathered = 0
        recordLive()
      }
      messages.tick()
      windows.check(discovery.windows(), clock())
    }),
  ]
  discovery.tick()

  return {
    /** The current state, as printed by `bookfeed status`. */
    status: () => ({
      ...messages.status(),
      books,
      markets: [...recordings.values()].map(({ market, lastMs, unknown, counts }) => ({
        conditionId: market.conditionId,
        slug: market.slug,
        lastMs: lastMs(),
        unknown: unknown(),
        events: counts.events,
        faults: counts.faults,
        firstFault: counts.firstFault,
      })),
      // The status file calls feeds lanes, because other versions of this service read it.
      connections: feeds.flatMap((each, lane) =>
        each.status().map((connection) => ({ lane, ...connection })),
      ),
      lanes: feeds.map(({ counts }) => counts),
      discovery: discovery.status(),
      spot: spot.status(),
      lifecycle: lifecycle?.status(),
      sink: { ...sink.counts, waiting: sink.waiting },
      fault: sink.fault(),
      windows: windows.status(),
      warning: warning(),
    }),

    /** Why received rows cannot be stored; undefined if they can. */
    fault: sink.fault,

    /** A problem of the venue, or a window that is not recorded; undefined if there is none. */
    warning,

    /** The first lines of a journal file: the markets that are followed now. */
    preamble(): string[] {
      const nowMs = clock()
      journal.settle(nowMs)
      const markets = [...recordings.values()].map(({ market }) => toEntry(market))
      const opened = [...journal.open].map(([connection, { follows }]) => {
        return { kind: 'opened', connection, markets: [...follows.keys()] } as const
      })
      return [...markets, ...opened].map((heard) => toHeardLine(heard, nowMs))
    },

    /** Closes the connections, writes what was received and leaves gaps open. */
    async dispose(): Promise<void> {
      for (const stop of stops) stop()
      const ended = [discovery.dispose(), spot.dispose()]
      lifecycle?.dispose()
      closeFeeds()
      await Promise.all([...ended, sink.end()])
    },
  }
}

export type Recorder = ReturnType<typeof startRecorder>

/** Counts messages and monitors the venue's clock. */
function createMessageCounts(reporter: Reporter, log: Log) {
  const counts = {
    messages: 0,
    faults: 0,
    unknown: 0,
    /** Events of markets to which no connection has subscribed. */
    unfollowed: 0,
    driftMs: undefined as number | undefined,
  }
  const unreadable = createUnreadable(log)
  const unknownMessages: string[] = []
  const drifts: number[] = []
  let leastMs = Number.POSITIVE_INFINITY
  let lastMessageMs: number | undefined

  function countFault({ reason, conditionId }: FaultEvent): void {
    counts.faults++
    unreadable.fault(conditionId === undefined ? reason : `${reason} (market ${conditionId})`)
  }

  function checkClock(): void {
    if (leastMs !== Number.POSITIVE_INFINITY) drifts.push(leastMs)
    leastMs = Number.POSITIVE_INFINITY
    if (drifts.length > DRIFT_SECONDS) drifts.shift()
    if (drifts.length === 0) return
    counts.driftMs = Math.min(...drifts)
    const seconds = Math.round(counts.driftMs / 1000)
    if (Math.abs(counts.driftMs) > DRIFT_MS_MAX)
      reporter.report('drift', `The venue's clock and this machine's differ by ${seconds} s.`)
    else reporter.settle('drift', "The venue's clock and this machine's agree again.")
  }

  return {
    hear(text: string, receivedMs: number, events: readonly FeedEvent[]): void {
      counts.messages++
      lastMessageMs = receivedMs
      for (const event of events) {
        unreadable.heard()
        // Only changes count: a book may be sent again long after its time.
        if (event.kind === 'changes') leastMs = Math.min(leastMs, receivedMs - event.timestampMs)
        if (event.kind === 'fault') countFault(event)
        if (event.kind !== 'unknown') continue
        counts.unknown++
        if (unknownMessages.length < UNKNOWN_MAX) unknownMessages.push(text.slice(0, TEXT_MAX))
      }
    },
    /** Counts an unreadable message of a connection whose other messages are not counted. */
    fault(event: FaultEvent): void {
      unreadable.heard()
      countFault(event)
    },
    unfollowed(): void {
      counts.unfollowed++
      unreadable.unfollowed()
    },
    /** Completes the counts of a second. Call it every second. */
    tick(): void {
      checkClock()
      unreadable.tick()
    },
    warning: unreadable.warning,
    lastMinute: unreadable.status,
    status: () => ({ ...counts, lastMessageMs, unknownMessages, lastMinute: unreadable.status() }),
  }
}
