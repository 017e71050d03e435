/**
 * Rebuilds rows from a journal as the recorder does: from its own lines the same rows, and from
 * captured messages the rows that the recorder would have stored.
 */

import { ENDLESS_MS, type Span } from '#src/domain/coverage.ts'
import {
  type Market,
  type MarketFacts,
  type Outcome,
  type OutcomeMap,
  outcomes,
} from '#src/domain/market.ts'
import { recordFault } from '#src/domain/record-fault.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { type BookCounts, noCounts } from '#src/recorder/book-output.ts'
import { createMarketBooks } from '#src/recorder/books.ts'
import type { Entry } from '#src/recorder/entry.ts'
import { followMarkets } from '#src/recorder/following.ts'
import { createJournal, type Heard } from '#src/recorder/journal.ts'
import { type MarketRecording, recordMarket } from '#src/recorder/market-recording.ts'
import { createRecipeWatch } from '#src/recorder/recipe-watch.ts'
import { createSpotReader } from '#src/recorder/spot-reader.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { createEventOrder, type MarketFeedEvent } from './event-order.ts'

/** An unknown token gets an id that no message contains. */
const toLiveMarket = ({ assetIds: { up = '', down = '' }, ...market }: Market) => ({
  ...market,
  slug: market.slug ?? '',
  windowStartMs: market.windowStartMs ?? 0,
  windowEndMs: market.windowEndMs ?? ENDLESS_MS,
  assetIds: { up, down },
})

/** State shared by the books of all markets. */
const createShared = (counts: BookCounts) => ({
  verifier: homeVenue.createBookVerifier(),
  counts,
})

/** The receiver of the rows of a journal. */
type ReplayTarget = {
  history: Pick<MarketHistory, 'findMarket'>
  /** Begins to take the rows and gaps of one recorder. */
  record(): { add(entry: Entry): void; finish(conditionId: string): void; end(): void }
  /** Stores facts before the next line is read. */
  putMarket(facts: MarketFacts, atMs: number): void
  addPrices(ticks: readonly SpotTick[]): void
  /** Writes all added rows before the next line is read. */
  store(): void
}

/**
 * Replays the lines of recorders. A file that names its predecessor continues the one that ended at
 * that time, so that nothing continues across a missing file; any other file continues the one that
 * ended last before it began. A file without a predecessor belongs to another recorder, or is a
 * copy.
 */
export function createReplays(target: ReplayTarget) {
  const counts = noCounts()
  const all: { replay: ReturnType<typeof createReplay>; lastMs: number }[] = []
  let current: (typeof all)[number] | undefined
  let currentFile: string | undefined

  function find(file: string, heard: Heard, atMs: number) {
    if (current !== undefined && currentFile === file) return current
    currentFile = file
    const over = all
      .filter(({ lastMs }) => (heard.kind === 'file' ? lastMs === heard.afterMs : lastMs <= atMs))
      .sort((a, b) => b.lastMs - a.lastMs)
    current = over[0] ?? { replay: createReplay(target, counts), lastMs: atMs }
    if (over.length === 0) all.push(current)
    return current
  }

  return {
    counts,

    /** Takes a line; throws a `record` fault if it is out of order. */
    take(file: string, heard: Heard, atMs: number): void {
      const found = find(file, heard, atMs)
      found.lastMs = Math.max(found.lastMs, atMs)
      found.replay.take(heard, atMs)
    },

    /** Ends the input. */
    end(): void {
      for (const { replay } of all) replay.end()
    },
  }
}

/** Replays the lines of one recorder. */
function createReplay(
  { history, record, putMarket, addPrices, store }: ReplayTarget,
  counts: BookCounts,
) {
  const sink = record()
  const shared = { ...createShared(counts), sink }
  const journal = createJournal()
  const rates = new Map<string, number | undefined>()
  const recordings = new Map<string, MarketRecording>()
  /** The last states of markets that it recorded before. */
  const held = new Map<string, OutcomeMap<number>>()
  const spotReaders = new Map(
    Object.entries({ ...homeVenue.spotFeeds, page: homeVenue.pricePage }).map(([name, feed]) => [
      name,
      createSpotReader(feed),
    ]),
  )

  function findSpotReader(source: string) {
    const reader = spotReaders.get(source)
    if (reader !== undefined) return reader
    throw recordFault(`source: none of ${[...spotReaders.keys()].join(', ')}`)
  }

  function findRecording(conditionId: string): MarketRecording[] {
    const known = recordings.get(conditionId)
    if (known !== undefined) return [known]
    const market = history.findMarket(conditionId)
    if (market === undefined) return []
    const heldMs = held.get(conditionId) ?? {}
    const maxPerSecond = rates.get(conditionId)
    const recording = recordMarket({
      ...shared,
      market: toLiveMarket(market),
      heldMs,
      maxPerSecond,
    })
    recordings.set(conditionId, recording)
    return [recording]
  }

  function forget(conditionId: string, recording: MarketRecording): void {
    held.set(conditionId, recording.heldMs())
    recordings.delete(conditionId)
  }

  function endAll(nowMs: number): void {
    for (const connection of [...journal.open.keys()])
      journal.end(connection, 'recorder_down', nowMs)
  }

  function finish(conditionId: string): void {
    const recording = recordings.get(conditionId)
    if (recording === undefined) return
    recording.finish()
    sink.finish(conditionId)
    forget(conditionId, recording)
  }

  return {
    take(heard: Heard, atMs: number): void {
      journal.settle(atMs)
      if (heard.kind === 'message') {
        const following = journal.open.get(heard.connection)
        if (following === undefined)
          throw recordFault(
            `a message of connection ${heard.connection}, whose beginning is not before it; a recorder's lines are read in the order in which it wrote them`,
          )
        for (const event of homeVenue.feed.decode(heard.text)) following.take(event, atMs)
      } else if (heard.kind === 'started') {
        endAll(atMs)
        for (const [conditionId, recording] of recordings) forget(conditionId, recording)
        for (const reader of spotReaders.values()) reader.begin()
      } else if (heard.kind === 'market') {
        rates.set(heard.facts.conditionId, heard.maxPerSecond)
        putMarket(heard.facts, atMs)
      } else if (heard.kind === 'opened') {
        if (journal.open.has(heard.connection)) return
        const followed = heard.markets.flatMap(findRecording)
        journal.begin(followMarkets(followed, atMs), atMs, heard.connection)
      } else if (heard.kind === 'dropped') journal.end(heard.connection, heard.reason, atMs)
      else if (heard.kind === 'finished') finish(heard.conditionId)
      else if (heard.kind === 'spotOpened') findSpotReader(heard.source).begin()
      else if (heard.kind === 'spotMessage')
        addPrices(findSpotReader(heard.source).read(heard.text, atMs) ?? [])
      else if (heard.kind === 'stored') store()
    },

    /** Ends the input. Gaps left open by a killed recorder stay open. */
    end(): void {
      for (const following of journal.open.values()) following.settle(Number.POSITIVE_INFINITY)
      endAll(Number.NEGATIVE_INFINITY)
      sink.end()
    },
  }
}

/** Replays events of messages from unknown connections; `follow` begins to take rows. */
export function createRebuild(
  follow: () => {
    add(entry: Entry): void
    addUnproved(conditionId: string, outcome: Outcome, span: Span): void
    end(): void
  },
) {
  const counts = noCounts()
  const shared = createShared(counts)
  const rebuilt = new Map<string, ReturnType<typeof begin>>()
  const all: ReturnType<typeof begin>[] = []

  function begin(market: Market) {
    const { conditionId } = market
    const { add, addUnproved, end } = follow()
    /** The time of the first message of each book that is not known yet. */
    const firstMs = new Map<Outcome, number>()
    const found = new Set<Outcome>()

    function find(outcome: Outcome, atMs: number): void {
      const fromMs = found.has(outcome) ? undefined : firstMs.get(outcome)
      found.add(outcome)
      if (fromMs !== undefined) addUnproved(conditionId, outcome, { fromMs, toMs: atMs })
    }
    const books = createMarketBooks({
      ...shared,
      market: toLiveMarket(market),
      watch: createRecipeWatch(() => {}),
      output: {
        state: (snapshot) => add({ kind: 'state', snapshot }),
        trade: (trade) => add({ kind: 'trade', conditionId, trade }),
        lost: (loss) => add({ kind: 'opened', conditionId, gap: { ...loss, toMs: ENDLESS_MS } }),
        found({ outcome, atMs }) {
          find(outcome, atMs)
          add({ kind: 'ended', conditionId, outcome, atMs })
        },
        missed: (gap) => add({ kind: 'opened', conditionId, gap }),
      },
    })
    return {
      file: '',
      lastMs: 0,
      take(event: MarketFeedEvent, receivedMs: number | undefined): void {
        const ids: string[] = []
        if (event.kind === 'book') ids.push(event.assetId)
        if (event.kind === 'changes') ids.push(...event.changes.map(({ assetId }) => assetId))
        for (const outcome of outcomes)
          if (ids.includes(market.assetIds[outcome] ?? '') && !firstMs.has(outcome))
            firstMs.set(outcome, event.timestampMs)
        books.take(event, receivedMs ?? event.timestampMs, receivedMs !== undefined)
      },
      end(): void {
        books.settle(Number.POSITIVE_INFINITY)
        books.end()
        for (const outcome of outcomes) find(outcome, ENDLESS_MS)
        end()
      },
    }
  }

  /** Finds the recording; a file that begins before the last one ended is a separate recording. */
  function find(market: Market, file: string, atMs: number) {
    const known = rebuilt.get(market.conditionId)
    if (known !== undefined && (known.file === file || known.lastMs <= atMs)) return known
    const made = begin(market)
    all.push(made)
    rebuilt.set(market.conditionId, made)
    return made
  }

  const order = createEventOrder({
    follow(file, market, events) {
      for (const { event, receivedMs } of events) {
        const found = find(market, file, event.timestampMs)
        found.file = file
        found.lastMs = Math.max(found.lastMs, event.timestampMs)
        found.take(event, receivedMs)
      }
    },
    // The events between these books are unknown, so they count as a separate recording.
    keepApart(market, events) {
      const made = begin(market)
      all.push(made)
      for (const { event, receivedMs } of events) made.take(event, receivedMs)
    },
  })

  return {
    counts,

    /** Takes an event; throws a `record` fault for changes out of order. */
    take(
      file: string,
      market: Market,
      event: MarketFeedEvent,
      receivedMs: number | undefined,
    ): void {
      order.take(file, market, { event, receivedMs })
    },

    /** Ends the input. */
    end(): void {
      order.end()
      for (const { end } of all) end()
    },
  }
}
