/** The history of books as verbs, so that engines can be exchanged. */
import type { ChunkCachePlace, ObjectCounts } from '#src/database/stores.ts'
import type { Gap, GapReason } from '#src/domain/coverage.ts'
import type { MarketPosition } from '#src/domain/cursor.ts'
import type { Statement } from '#src/domain/evidence.ts'
import type {
  Market,
  MarketFacts,
  MarketStatus,
  Outcome,
  Source,
  Timeframe,
} from '#src/domain/market.ts'
import type { StatePart } from '#src/domain/series.ts'
import type { Beside, Position, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'
import type { SpotQuery, SpotTick, StoredTick } from '#src/domain/spot.ts'
import type { TimeRange } from '#src/domain/time.ts'
import type { StoredTrade, Trade, TradeQuery } from '#src/domain/trade.ts'
import type { WindowOutcome } from '#src/domain/window-outcome.ts'
import type { CacheCounts } from '#src/platform/cache.ts'
import type { MaybePromise } from '#src/platform/maybe-promise.ts'

import type { Archiver } from './archiver.ts'
import type { ManifestStore, RevisionLog } from './revisions.ts'

/**
 * What writes a history. Every verb is synchronous and atomic; another process may read or write
 * the same history. A verb throws `damaged` when what is stored of its market is not what was
 * written; then nothing of its change is kept.
 */
export type HistoryWriter = {
  /**
   * Adds snapshots of any markets, in any order, in one transaction. Unknown markets are created.
   * A batch id that was applied before changes nothing. A snapshot whose asset and time are stored
   * already with the same source hash or the same levels is a duplicate: it vanishes and is
   * counted. Ids are given in the order of the batch. Throws `market_conflict` when a snapshot
   * contradicts its market's coin, timeframe, source or asset, or is more than two days from its
   * window; then nothing of the batch is kept.
   */
  append(batch: Batch): AppendResult

  /**
   * Adds what a recorder heard, of markets that are known, in one transaction: snapshots and trades
   * as `append` and `putTrades` do, and gaps as they were noticed. It has no batch id, because what
   * is held already vanishes anyway; the counts are those of snapshots. Pauses between snapshots
   * are `venue_silent`. Throws `unknown_market` and `market_conflict`; then nothing is kept.
   */
  record(recording: Recording): { accepted: number; duplicates: number }

  findBatch(id: string): { accepted: number; duplicates: number } | undefined

  /**
   * Records facts of a market, creating it if needed. Undefined facts leave what is known; a winner
   * is replaced only by a source of a higher rank. Throws `market_conflict` as `append` does, for
   * another winner by any other source, and for a window too far from what is held. Facts that
   * `putOutcomes` stored for its window fill in what is unknown.
   */
  putMarket(facts: MarketFacts): void

  /**
   * Keeps what tables of outcomes say of windows, in one transaction, and adds it to the markets of
   * these windows: to those that are known, and to others as soon as their window is. It never
   * replaces what a market is known by otherwise. Of rows that contradict each other one counts,
   * whichever came first: up before down, and of two prices the first by its text. Returns what
   * became of each row.
   */
  putOutcomes(rows: readonly WindowOutcome[]): PutOutcome[]

  /**
   * Adds trades of a known market, in one transaction. Equal ones that are held already vanish and
   * are counted; a batch id that was applied before changes nothing. Throws `unknown_market`, and
   * `market_conflict` for trades more than two days from the market's window.
   */
  putTrades(batch: TradeBatch): AppendResult

  /** Records gaps of a known market; equal ones are kept once. Throws `unknown_market`. */
  putGaps(conditionId: string, gaps: readonly Gap[]): void

  /** Adds reference prices in one transaction; held ones vanish. Returns how many were new. */
  putSpot(ticks: readonly SpotTick[]): number

  /**
   * Deletes some of what is oldest, a few milliseconds of work: markets whose place in lists
   * (`orderMs`) is before a moment, closed or over without a book, whole and oldest first, with all
   * that belongs to them, and reference prices and outcomes of windows of the times before. Returns whether there was
   * anything; call it until there is not. A market that was deleted is unknown from then on, and
   * its batches count as applied. The last price that was accepted stays.
   */
  deleteOldest(beforeMs: number): boolean

  /** The markets that `deleteOldest` would delete, oldest first. */
  listOldest(beforeMs: number): Iterable<OldMarket>

  /** Seals a market's unfinished run and marks its history final. May be repeated. */
  close(conditionId: string): void

  /** Writes what changes nothing. Throws `storage_unavailable` where nothing can be written. */
  probeWrite(): MaybePromise<void>

  dispose(): void
}

/** `bytes` are those of its sealed books. */
export type OldMarket = Pick<Market, 'conditionId' | 'orderMs'> &
  Record<'snapshots' | 'bytes', number>

/** What reads a history: synchronous functions over a local file. Throws `damaged` as the writer does. */
type HistoryReader = {
  findMarket(conditionId: string): Market | undefined

  /**
   * The market of a name, the venue's or that of a simulated one, which begins with `sim-`; of several
   * (there should be none) the one listed first. No name of the venue's finds a simulated market.
   */
  findMarketBySlug(slug: string): Market | undefined

  /** The market that one of its outcomes' assets belongs to; of several the one listed first. */
  findMarketByAsset(assetId: string): Market | undefined

  /** Markets of one coin by `orderMs`, then by conditionId. */
  listMarkets(query: MarketQuery): Market[]

  /**
   * The place to which a list looks at `count` markets, whether they match or not; undefined where
   * there are no more than that.
   */
  skipMarkets(query: Omit<MarketQuery, 'limit' | 'upTo'>, count: number): MarketPosition | undefined

  /** Condition ids, of damaged markets too. */
  listUnclosed(): string[]

  /** Which kinds of markets are held of a coin. Cheap: it looks at no market. */
  sourcesOf(coin: Market['coin']): readonly Source[]

  /** Of each coin by timeframe and source. Cheap: it looks at no market that is over. */
  coinTotals(nowMs: number): CoinTotals[]

  /** Trades of a market, ascending by time, those of one moment in the order of acceptance. */
  trades(query: TradeQuery): StoredTrade[]

  /** The greatest id that a trade of any market has; 0 where there is none. */
  lastTradeId(): number

  /** Reference prices of a coin by time, then by source and average. */
  spot(query: SpotQuery): StoredTick[]

  /** The greatest id that a reference price of any coin has; 0 where there is none. */
  lastSpotId(): number

  /**
   * Gaps of a market, ascending by `fromMs`: those recorded, and pauses between snapshots of an
   * outcome longer than `silenceMs`, from a millisecond after the former; none outside of them.
   */
  gaps(market: Market): readonly Gap[]

  /** One page of a market's snapshots. Reads nothing of the books until `Page.encode`. */
  page(query: RowQuery): Page

  /** The last snapshot of one outcome. */
  latest(query: OutcomeQuery): StoredRow | undefined

  /** The last one at or before `timestampMs`, never after. */
  at(query: OutcomeQuery & { timestampMs: number }): StoredRow | undefined

  /** The position of the last snapshot of a market, which is always on this machine. */
  lastPosition(market: Market): Position | undefined

  /** The position of a snapshot of a market by its id. */
  findPosition(market: Market, id: number): Position | undefined

  /** Best bid and ask of each snapshot in the order of `page`, from compact columns alone. */
  tops(query: RowQuery): Top[]

  /**
   * A stream of rows as lines (NDJSON), of one market after the other. Before each piece the next
   * `PIECE_ROWS` rows are to be `ready`.
   */
  lines(encoding: Encoding): LineStream

  /** A new stream of events in gzip. */
  events(): EventStream

  /**
   * Rows ascending as columns, in runs of at most 100; each run is read when it is asked for, and
   * before it the next `PIECE_ROWS` rows are to be `ready`.
   */
  runs(query: RunQuery): Generator<RowRun, void>

  /** Re-reads everything and yields each fault found; nothing when the history is sound. */
  verify(onProgress?: (done: number, total: number) => void): Iterable<string>

  totals(): Totals

  /** What is stored, without the room that was deleted and waits for what is written next. */
  usedBytes(): number

  /** 32 secret bytes made with the history, which sign cursors: they outlive the process. */
  readonly cursorKey: Uint8Array
  readonly revisions: RevisionLog
  readonly manifests: ManifestStore
}

export const nothingAsked: ObjectCounts = { answered: 0, failed: 0, ms: 0, bytes: 0 }

export const addCounts = (a: ObjectCounts, b: ObjectCounts): ObjectCounts => ({
  answered: a.answered + b.answered,
  failed: a.failed + b.failed,
  ms: a.ms + b.ms,
  bytes: a.bytes + b.bytes,
})

/** Rows of which a piece of lines, or a run, has the first ones. */
export const PIECE_ROWS = 200

/** What services and commands are given. `test/history/conformance.ts` is the contract as tests. */
export type MarketHistory = HistoryWriter &
  HistoryReader & {
    /** The file that it is in; undefined in memory. */
    readonly path: string | undefined
    /** The file that keeps chunks which were fetched from the archive; undefined where they are in memory alone. */
    readonly chunkCache: ChunkCachePlace | undefined
    /** Of chunks in memory. */
    cacheCounts(): CacheCounts
    /** Of requests to the bucket that this thread has made through it. */
    archiveCounts(): ObjectCounts
    /**
     * Fetches what reads of these rows need and the archive has: a read that may touch archived
     * books begins with it. Returns undefined, without a promise, if all of it is on this machine; as
     * long as nothing was ever archived it does not look at the ranges. Rejects with
     * `storage_unavailable`.
     */
    ready(ranges: Iterable<RowRange>): Promise<void> | undefined
    /** Set by `withDowntime`: those of `gaps` that are not stored, and change without a revision. */
    readonly derivedGaps?: (market: Market) => readonly Gap[]
    /** Runs reads of a market on one state of the history, which costs less than each alone. */
    consistently<T>(market: Market, read: () => T): T
    archive: Archiver
  }

export type Batch = {
  /** Names the batch for good: 1 to 100 characters. */
  id: string
  source: Source
  snapshots: readonly Snapshot[]
  /**
   * Why there is nothing where its snapshots are far apart. When absent, it is a part of an import:
   * `import`, or `venue_silent` where another source listened.
   */
  gapReason?: GapReason | undefined
}

export type PutOutcome = {
  /** False if the same, or better, was kept before. */
  isNew: boolean
  /** No market of the window is known. */
  isWaiting: boolean
  /** A fact of a market has changed. */
  isChanged: boolean
  /** A sentence, if the row names another winner than one that is known. */
  conflict: string | undefined
}

type TradeBatch = {
  /** As of `Batch`. */
  id: string
  conditionId: string
  trades: readonly Trade[]
}

export type Recording = {
  /** Of all its markets; `recorded` when absent. */
  source?: Source | undefined
  /** Whether it is a part of an import, whose pauses are as those of `Batch`. */
  isImport?: boolean | undefined
  snapshots: readonly Snapshot[]
  trades: readonly { conditionId: string; trade: Trade }[]
  /** In the order in which they were noticed. */
  gaps: readonly GapChange[]
}

export type GapChange = { conditionId: string } & (
  | { kind: 'opened'; gap: Gap }
  /**
   * One recorder does not know the book, and has written no row of the outcome since. Rows that are
   * held from then on are of other recorders, which had it: a gap begins after the last of them.
   */
  | { kind: 'unknown'; gap: Gap }
  /**
   * One recorder has the book all this time: what another noted as a gap is none. A gap without an
   * end is gone with it; its recorder states it as `unknown` once more when it has the book again.
   */
  | { kind: 'known'; outcome: Outcome; fromMs: number; toMs: number }
  /**
   * Every gap of the outcome that ends at `ENDLESS_MS` ends at `atMs`, exclusive, or is gone. One
   * that is withdrawn never was. What an import says joins what imports said before, and the gaps
   * follow from all of it.
   */
  | { kind: 'ended'; outcome: Outcome; atMs: number }
  | { kind: 'withdrawn'; gap: Gap }
  | { kind: 'said'; outcome: Outcome; statement: Statement }
)

/** With the counts of the first time where the batch was `already_applied`. */
export type AppendResult = {
  kind: 'appended' | 'already_applied'
  accepted: number
  duplicates: number
}

type OutcomeQuery = { market: Market; outcome: Outcome }

/** Its times are of `orderMs`. */
export type MarketQuery = TimeRange & {
  coin: Market['coin']
  limit: number
  /** `desc`, newest first, when absent. */
  order?: 'asc' | 'desc' | undefined
  timeframe?: Timeframe | undefined
  /** `statusOf` at `nowMs`, which must be given with it. */
  status?: MarketStatus | undefined
  nowMs?: number | undefined
  winner?: Outcome | undefined
  source?: Source | undefined
  /** Exclusive: continues after this market. */
  after?: MarketPosition | undefined
  /** Inclusive, and no further than `fromMs` and `toMs`: the list ends with this market. */
  upTo?: MarketPosition | undefined
}

export type CoinTotals = {
  coin: Market['coin']
  timeframe: Timeframe
  source: Source
  markets: number
  /** Markets that are `open` by `statusOf`. */
  openMarkets: number
  snapshots: number
  firstSnapshotMs?: number | undefined
  lastSnapshotMs?: number | undefined
}

export type RowQuery = StatePart & {
  market: Market
  /**
   * Keeps only the last row of an outcome in each step (k·stepMs, (k+1)·stepMs]: the state as of
   * the step's end, once, where it changed in it. Of a market that is not closed only steps that
   * are over, by `decidedStepsEndMs`. Not for `tops`.
   */
  stepMs?: number | undefined
  /** Also when each row was received. */
  withReceived?: boolean | undefined
}
/** Which rows are read, and which columns of them; as of `RowQuery`. */
export type RowRange = Omit<RowQuery, 'limit'> & {
  /** All rows where absent. */
  limit?: number | undefined
  /** Also their best prices, which `tops` reads; `withReceived` is also for `StoredRow.snapshot`. */
  withTops?: boolean | undefined
  /** Chunks that may have the row of this id, whatever the range is. */
  id?: number | undefined
}
/** The rows that `at` reads, with those that its `snapshot` and `receivedMs` read. */
export const prevailingRange = (
  market: Market,
  outcome: Outcome,
  timestampMs: number,
): RowRange => ({
  market,
  outcome,
  order: 'desc',
  toMs: timestampMs + 1,
  limit: 1,
  withReceived: true,
})
/** Rows in ascending order; as of `RowQuery`. */
export type StreamQuery = Pick<RowQuery, 'market' | 'outcome' | 'fromMs' | 'toMs' | 'after'>

export type RunQuery = StreamQuery &
  Pick<RowQuery, 'withReceived'> & {
    /** Levels of each side, from the best; all when absent. */
    depth?: number | undefined
  }

/** Nothing of it may be read after the next is asked for. */
export type RowRun = {
  rows: readonly (Position & { outcome: Outcome })[]
  /** Of each row, empty unless asked for. */
  besides: readonly Beside[]
  /** Of each row, two after another: where its bids end, and its asks, which follow them. */
  ends: readonly number[]
  /** Of all levels, the best of each side first, in millionths. */
  prices: Int32Array
  sizes: Float64Array
}

export type Encoding = 'gzip' | 'identity'

export type Page = {
  /** The market's when the page was read; another than the query's if it was written meanwhile. */
  revision: number
  count: number
  /** Position of the last row; undefined on an empty page. */
  last: Position | undefined
  /** True when at least one further row matches the query right now. */
  hasMore: boolean
  /** When rows were received, Unix milliseconds, where known; empty unless asked for. */
  received: readonly (number | undefined)[]
  /**
   * The rows joined by commas between `prefix` and `suffix` (ASCII), encoded whole. The bytes are
   * valid until the next page is encoded: use or copy them at once.
   */
  encode(encoding: Encoding, prefix: string, suffix: string): Uint8Array<ArrayBuffer>

  /** Each row's JSON object in the query's order (ASCII); valid until the next is asked for. */
  texts(): Iterable<Uint8Array>
}

/** A snapshot that was found, to be read before anything else is asked of the history. */
export type StoredRow = Position & {
  /** The JSON object as it is served (ASCII); valid until the next read. */
  text(): Uint8Array
  snapshot(): StoredSnapshot
  /** Unix milliseconds of the recorder's clock, where known. */
  receivedMs(): number | undefined
}

/**
 * Rows as lines, each a JSON object and a newline, as one stream: for gzip one member (RFC 1952).
 * Bytes are valid until the next piece is asked for. Memory is that of a piece.
 */
export type LineStream = {
  /** Pieces of a few hundred kilobytes at most; what is written meanwhile shows. */
  rows(query: StreamQuery): Generator<LinePiece, void>
  /** What ends the stream; nothing may follow. */
  end(): Uint8Array<ArrayBuffer>
  /** Of the text so far. */
  readonly textBytes: number
  readonly textCrc: number
}
export type LinePiece = { bytes: Uint8Array<ArrayBuffer>; rows: number; last: Position }

/**
 * Events (the lines of each, then an empty line) as one gzip member (RFC 1952) that ends when there
 * will be no more. All bytes of an event are full, so a reader has it whole as it arrives; a
 * comment line may be added to that end. Lines are of printable ASCII without spaces.
 */
export type EventStream = {
  /**
   * An event of text alone; the first begins the stream. What the last one of the same name has too
   * is not repeated.
   */
  event(lines: string, name?: string): Uint8Array<ArrayBuffer>
  /** An event for each row after a place: what `before` returns, and the JSON object after it. */
  rows(query: StreamQuery & { limit: number }, before: (row: Position) => string): RowEvents
  /**
   * Names all that the bytes of the next events depend on. What one stream returns may be sent on
   * any stream that is in the same step.
   */
  readonly step: string
  /** Of the text so far. */
  readonly sum: TextSum
  /** A stream in the same step after another text, of which nothing is repeated. */
  fork(sum: TextSum): EventStream
  /** What ends the stream; nothing may follow. */
  end(): Uint8Array<ArrayBuffer>
}
/** `last` is undefined without rows. */
type RowEvents = {
  bytes: Uint8Array<ArrayBuffer>
  count: number
  last: Position | undefined
  hasMore: boolean
}
export type TextSum = { crc: number; bytes: number }
export type Top = Position & {
  outcome: Outcome
  /** Best bid price and size, in millionths; both 0 when the side is empty. */
  bidPrice: number
  bidSize: number
  askPrice: number
  askSize: number
  /** Unix milliseconds of the recorder's clock, where known and asked for. */
  receivedMs?: number | undefined
}
export type Totals = { markets: number; snapshots: number; bytes: number }
