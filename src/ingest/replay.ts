/**
 * Makes rows of what a recorder heard as the recorder does: of its own lines the same rows, and of
 * messages that others kept those that it would have made.
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
import { createMarketBooks, type MarketBooks } from '#src/recorder/books.ts'
import type { Entry } from '#src/recorder/entry.ts'
import { followMarkets } from '#src/recorder/following.ts'
import { createJournal, type Heard } from '#src/recorder/journal.ts'
import { type MarketRecording, recordMarket } from '#src/recorder/market-recording.ts'
import { createRecipeWatch } from '#src/recorder/recipe-watch.ts'
import { createSpotReader } from '#src/recorder/spot-reader.ts'
import type { FeedEvent } from '#src/venue/feed.ts'
import { homeVenue } from '#src/venue/venues.ts'

type Recorded = { add(entry: Entry): void; finish(conditionId: string): void; end(): void }
/** What takes the rows and gaps of messages that others kept. */
type Followed = Pick<Recorded, 'add' | 'end'> & {
  addUnproved(conditionId: string, outcome: Outcome, span: Span): void
}
type ReplayOptions = {
  history: Pick<MarketHistory, 'findMarket'>
  /** Makes what takes the rows and gaps of one recorder. */
  record(): Recorded
  /** Throws what the history's throws. */
  putMarket(facts: MarketFacts, atMs: number): void
  addPrices(ticks: readonly SpotTick[]): void
  /** Everything that was added is to be written. */
  store(): void
}

const venue = homeVenue

/** What is not known is no token's id. */
const recordedOf = ({ assetIds: { up = '', down = '' }, ...market }: Market) => ({
  ...market,
  slug: market.slug ?? '',
  windowStartMs: market.windowStartMs ?? 0,
  windowEndMs: market.windowEndMs ?? ENDLESS_MS,
  assetIds: { up, down },
})

/** What all markets share. */
const createJudges = () => ({
  verifier: venue.createBookVerifier(),
  watch: createRecipeWatch(() => {}),
})

/**
 * Takes the lines of recorders. A file continues what ended when it says, so that nothing runs on
 * over a file that is missing; one that says nothing continues what ended last before it began. Any
 * other is of another recorder, or a copy.
 */
export function createReplays(options: ReplayOptions) {
  const counts = noCounts()
  const all: { replay: Replay; lastMs: number }[] = []
  let current: (typeof all)[number] | undefined
  let currentFile: string | undefined

  function find(file: string, heard: Heard, atMs: number) {
    if (current !== undefined && currentFile === file) return current
    currentFile = file
    const over = all
      .filter(({ lastMs }) => (heard.kind === 'file' ? lastMs === heard.afterMs : lastMs <= atMs))
      .sort((a, b) => b.lastMs - a.lastMs)
    current = over[0] ?? { replay: createReplay(options, counts), lastMs: atMs }
    if (over.length === 0) all.push(current)
    return current
  }

  return {
    counts,

    /** Throws what `putMarket` throws. */
    take(file: string, heard: Heard, atMs: number): void {
      const found = find(file, heard, atMs)
      found.lastMs = Math.max(found.lastMs, atMs)
      found.replay.take(heard, atMs)
    },

    /** Nothing more comes. */
    end(): void {
      for (const { replay } of all) replay.end()
    },
  }
}

type Replay = ReturnType<typeof createReplay>

/** Takes the lines of one recorder. */
function createReplay(
  { history, record, putMarket, addPrices, store }: ReplayOptions,
  counts: BookCounts,
) {
  const recorded = record()
  const shared = { ...createJudges(), counts, sink: recorded }
  const journal = createJournal()
  const rates = new Map<string, number | undefined>()
  const recordings = new Map<string, MarketRecording>()
  const sources = createSources()
  /** The last states of markets that it recorded before. */
  const held = new Map<string, OutcomeMap<number>>()

  function recordingOf(conditionId: string): MarketRecording[] {
    const known = recordings.get(conditionId)
    if (known !== undefined) return [known]
    const market = history.findMarket(conditionId)
    if (market === undefined) return []
    const heldMs = held.get(conditionId) ?? {}
    const maxPerSecond = rates.get(conditionId)
    const recording = recordMarket({ ...shared, market: recordedOf(market), heldMs, maxPerSecond })
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

  const takers: Takers = {
    started(_, atMs) {
      endAll(atMs)
      for (const [conditionId, recording] of recordings) forget(conditionId, recording)
      sources.beginAll()
    },
    file() {},
    market({ facts, maxPerSecond }, atMs) {
      rates.set(facts.conditionId, maxPerSecond)
      putMarket(facts, atMs)
    },
    opened({ connection, markets }, atMs) {
      if (journal.open.has(connection)) return
      const followed = markets.flatMap((conditionId) => recordingOf(conditionId))
      journal.begin(followMarkets(followed, atMs), atMs, connection)
    },
    message({ connection, text }, atMs) {
      const following = journal.open.get(connection)
      if (following === undefined) return
      for (const event of venue.feed.decode(text)) following.take(event, atMs)
    },
    dropped: ({ connection, reason }, atMs) => journal.end(connection, reason, atMs),
    finished({ conditionId }) {
      const recording = recordings.get(conditionId)
      if (recording === undefined) return
      recording.finish()
      recorded.finish(conditionId)
      forget(conditionId, recording)
    },
    spotOpened: ({ source }) => sources.find(source).begin(),
    spotMessage: ({ source, text }, atMs) => addPrices(sources.find(source).read(text, atMs) ?? []),
    stored: store,
  }

  return {
    take<Kind extends Heard['kind']>(heard: Extract<Heard, { kind: Kind }>, atMs: number): void {
      journal.settle(atMs)
      takers[heard.kind](heard, atMs)
    },

    /** Nothing more comes: what a recorder that was killed left open stays so. */
    end(): void {
      for (const following of journal.open.values()) following.settle(Number.POSITIVE_INFINITY)
      endAll(Number.NEGATIVE_INFINITY)
      recorded.end()
    },
  }
}

/** What reads the prices of each source. */
function createSources() {
  const readers = new Map(
    Object.entries({ ...venue.spotFeeds, page: venue.pricePage }).map(([name, source]) => [
      name,
      createSpotReader(source),
    ]),
  )
  return {
    beginAll(): void {
      for (const reader of readers.values()) reader.begin()
    },
    find(source: string) {
      const reader = readers.get(source)
      if (reader !== undefined) return reader
      throw recordFault(`source: none of ${[...readers.keys()].join(', ')}`)
    },
  }
}

type Takers = {
  [kind in Heard['kind']]: (heard: Extract<Heard, { kind: kind }>, atMs: number) => void
}

type Rebuilt = {
  books: MarketBooks
  file: string
  lastMs: number
  /** To be called with what speaks of the book of an outcome. */
  noteFirst(outcome: Outcome, atMs: number): void
  end(): void
}

/** Takes what messages say of which nobody says what connections they came by. */
export function createRebuild(follow: () => Followed) {
  const counts = noCounts()
  const shared = { ...createJudges(), counts }
  const rebuilt = new Map<string, Rebuilt>()
  const all: Rebuilt[] = []

  function begin(market: Market): Rebuilt {
    const { conditionId } = market
    const { add, addUnproved, end } = follow()
    /** When the first message came of each book that is not known yet. */
    const firstMs = new Map<Outcome, number>()
    const found = new Set<Outcome>()

    function find(outcome: Outcome, atMs: number): void {
      const fromMs = found.has(outcome) ? undefined : firstMs.get(outcome)
      found.add(outcome)
      if (fromMs !== undefined) addUnproved(conditionId, outcome, { fromMs, toMs: atMs })
    }
    const books = createMarketBooks({
      ...shared,
      market: recordedOf(market),
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
      books,
      file: '',
      lastMs: 0,
      noteFirst(outcome, atMs) {
        if (!firstMs.has(outcome)) firstMs.set(outcome, atMs)
      },
      end() {
        books.settle(Number.POSITIVE_INFINITY)
        books.end()
        for (const outcome of outcomes) find(outcome, ENDLESS_MS)
        end()
      },
    }
  }

  /** A file that begins before the one before it ended is another recording. */
  function find(market: Market, file: string, atMs: number): Rebuilt {
    const known = rebuilt.get(market.conditionId)
    if (known !== undefined && (known.file === file || known.lastMs <= atMs)) return known
    const made = begin(market)
    all.push(made)
    rebuilt.set(market.conditionId, made)
    return made
  }

  return {
    counts,

    take({ file, market, event, receivedMs }: Message): void {
      const found = find(market, file, event.timestampMs)
      found.file = file
      found.lastMs = Math.max(found.lastMs, event.timestampMs)
      for (const outcome of outcomesOf(event, market)) found.noteFirst(outcome, event.timestampMs)
      found.books.take(event, receivedMs)
    },

    /** Nothing more comes. */
    end(): void {
      for (const { end } of all) end()
    },
  }
}

/** Whose books an event speaks of. */
function outcomesOf(event: OfMarket, { assetIds }: Market): Outcome[] {
  const ids: string[] = []
  if (event.kind === 'book') ids.push(event.assetId)
  if (event.kind === 'changes') ids.push(...event.changes.map(({ assetId }) => assetId))
  return outcomes.filter((outcome) => ids.includes(assetIds[outcome] ?? ''))
}

type Message = { file: string; market: Market; event: OfMarket; receivedMs: number }
export type OfMarket = Extract<FeedEvent, { conditionId: string; timestampMs: number }>
