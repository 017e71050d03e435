/** The contract of the history of books, which every engine implements. */

import type { ChunkCachePlace, ObjectCounts } from '#src/database/stores.ts'
import type { Gap, GapReason } from '#src/domain/coverage.ts'
import type { ChangePosition, MarketPosition } from '#src/domain/cursor.ts'
import type { Statement } from '#src/domain/evidence.ts'
import type {
  Market,
  MarketFacts,
  MarketStatus,
  Outcome,
  Source,
  Timeframe,
} from '#src/domain/market.ts'
import type { RecorderSign } from '#src/domain/recorder-sign.ts'
import type { StatePart } from '#src/domain/series.ts'
import type { Beside, Position, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'
import type { SpotQuery, SpotTick, StoredTick } from '#src/domain/spot.ts'
import type { TimeRange } from '#src/domain/time.ts'
import type { TradeReceipt, UncheckedQuery, UncheckedTrade } from '#src/domain/trade-chain.ts'
import type { StoredTrade, Trade, TradeQuery } from '#src/domain/trade.ts'
import type { WindowOutcome } from '#src/domain/window-outcome.ts'
import type { ChangedState } from '#src/domain/wire/change-text.ts'
import type { CacheCounts } from '#src/platform/cache.ts'

import type { Archiver } from './archiver.ts'
import type { ManifestStore, RevisionLog } from './revisions.ts'

/**
 * The verbs that write. Each is a transaction: after it resolves, reads show the change. Another
 * process may read or write the same history. A verb rejects with `damaged` if the stored data of
 * its market does not match its checksum; then it changes nothing.
 */
export type HistoryWriter = {
  /**
   * Adds snapshots of any markets, in any order, in one transaction. Unknown markets are created. A
   * batch id that was applied before changes nothing. A snapshot whose asset and time are stored
   * already with the same source hash or the same levels is a duplicate, which is dropped and
   * counted. Ids follow the order of the batch. Throws `market_conflict` if a snapshot contradicts
   * its market's coin, timeframe, source or asset, or is more than two days from its window; then
   * nothing of the batch is stored.
   */
  append(batch: Batch): Promise<AppendResult>

  /**
   * Adds the received rows of a recorder, for known markets, in one transaction: snapshots and
   * trades like `append` and `putTrades`, and gaps as they were detected. There is no batch id,
   * because duplicates are dropped anyway; only snapshots are counted. Pauses between snapshots are
   * `venue_silent`. Throws `unknown_market` and `market_conflict`; then nothing is stored.
   */
  record(recording: Recording): Promise<{ accepted: number; duplicates: number }>

  findBatch(id: string): { accepted: number; duplicates: number } | undefined

  /**
   * Stores facts about a market, which is created if needed. Undefined facts leave known ones
   * unchanged; a winner is replaced only by a source of a higher rank. Throws `market_conflict`
   * like `append`, for another winner from any other source, and for a window too far from the
   * stored rows. Facts that `putOutcomes` stored for its window fill in unknown ones.
   */
  putMarket(facts: MarketFacts): Promise<void>

  /**
   * Stores outcomes of windows from tables in one transaction, and adds them to the markets of
   * these windows, now or as soon as the window of a market is known. They never replace facts from
   * other sources. Of contradictory rows one counts, independent of their order: up before down,
   * and of two prices the first by its text. Returns the result for each row.
   */
  putOutcomes(rows: readonly WindowOutcome[]): Promise<PutOutcome[]>

  /**
   * Adds trades of a known market in one transaction. Duplicates are dropped and counted; a batch
   * id that was applied before changes nothing. Throws `unknown_market`, and `market_conflict` for
   * trades more than two days from the market's window.
   */
  putTrades(batch: TradeBatch): Promise<AppendResult>

  /** Stores gaps of a known market; equal gaps are stored once. Throws `unknown_market`. */
  putGaps(conditionId: string, gaps: readonly Gap[]): Promise<void>

  /**
   * Adds reference prices in one transaction and drops duplicates. Returns the number of new ones.
   */
  putSpot(ticks: readonly SpotTick[]): Promise<number>

  /**
   * Deletes some of the oldest data, in a few milliseconds: whole markets that are closed or ended
   * without a book and whose time in lists (`orderMs`) is before a moment, oldest first, with all
   * their data, and reference prices and outcomes of earlier windows. Returns true if anything was
   * deleted; call it until it returns false. A deleted market becomes unknown, and its batches
   * count as applied. The last accepted price is kept.
   */
  deleteOldest(beforeMs: number): Promise<boolean>

  /** Markets that `deleteOldest` would delete, oldest first. */
  listOldest(beforeMs: number): Iterable<OldMarket>

  /** Seals the unfinished run of a market and marks its history final. May be repeated. */
  close(conditionId: string): Promise<void>

  /**
   * Notes that a recorder is alive, and forgets dead recorders whose markets it records. Call it
   * every two seconds, so that the log of changes stays small.
   */
  putRecorder(sign: RecorderSign): Promise<void>

  /** Forgets a recorder that ends in order. */
  endRecorder(id: string): Promise<void>

  /**
   * Stores final receipts of the transactions of trades; a trade that has one keeps it. All trades
   * with smaller ids than `nextId` were checked, or are too old to be.
   */
  putReceipts(receipts: readonly TradeReceipt[], nextId: number): Promise<void>

  /**
   * Performs a write that changes nothing. Throws `storage_unavailable` if writing is impossible.
   */
  probeWrite(): Promise<void>

  dispose(): void
}

/** `bytes` is the size of its sealed books. */
export type OldMarket = Pick<Market, 'conditionId' | 'orderMs'> &
  Record<'snapshots' | 'bytes', number>

/**
 * The reads: synchronous functions over a local file. They throw `damaged` like the verbs that
 * write.
 */
type HistoryReader = {
  findMarket(conditionId: string): Market | undefined

  /**
   * Finds a market by its name at the venue, or by the name of a simulated market, which begins
   * with `sim-`; of several (there should be none) the first in a list. A name of the venue never
   * finds a simulated market.
   */
  findMarketBySlug(slug: string): Market | undefined

  /** Finds the market of an outcome's asset; of several the first in a list. */
  findMarketByAsset(assetId: string): Market | undefined

  /** Markets of a coin by `orderMs`, then by conditionId. */
  listMarkets(query: MarketQuery): Market[]

  /**
   * The position after `count` markets of a list, counting those that do not match; undefined if
   * there are no more markets.
   */
  skipMarkets(query: Omit<MarketQuery, 'limit' | 'upTo'>, count: number): MarketPosition | undefined

  /** Condition ids of unclosed markets, including damaged ones. */
  listUnclosed(): string[]

  /** The sources of the stored markets of a coin. Cheap: reads no market. */
  sourcesOf(coin: Market['coin']): readonly Source[]

  /** Totals of each coin by timeframe and source. Cheap: reads no ended market. */
  coinTotals(nowMs: number): CoinTotals[]

  /** Trades of a market by time; those of one moment in the order of acceptance. */
  trades(query: TradeQuery): StoredTrade[]

  /** The greatest id of a trade of any market; 0 without trades. */
  lastTradeId(): number

  /** The final receipt of the transaction of a trade, if it is known. */
  receiptOf(tradeId: number): TradeReceipt | undefined

  /** Trades with a transaction and without a receipt, by id. */
  uncheckedTrades(query: UncheckedQuery): UncheckedTrade[]

  /** `nextId` of the last `putReceipts`; undefined if no server ever asked for receipts. */
  nextCheckedId(): number | undefined

  /** Reference prices of a coin by time, then by source and average. */
  spot(query: SpotQuery): StoredTick[]

  /** The greatest id of a reference price of any coin; 0 without prices. */
  lastSpotId(): number

  /** Recorders that did not end in order, alive or not. */
  recorders(): RecorderSign[]

  /**
   * Gaps of a market by `fromMs`: recorded ones, and pauses longer than `silenceMs` between two
   * snapshots of an outcome, from a millisecond after the first. The times before the first and
   * after the last snapshot are no gaps.
   */
  gaps(market: Market): readonly Gap[]

  /** A page of a market's snapshots. Reads nothing of the books before `Page.encode`. */
  page(query: RowQuery): Page

  /** The last snapshot of one outcome. */
  latest(query: OutcomeQuery): StoredRow | undefined

  /** The last snapshot at or before `timestampMs`, never after. */
  at(query: OutcomeQuery & { timestampMs: number }): StoredRow | undefined

  /** The position of the last snapshot of a market, which is always on this machine. */
  lastPosition(market: Market): Position | undefined

  /** The position of a snapshot of a market by its id. */
  findPosition(market: Market, id: number): Position | undefined

  /** Best bid and ask of each snapshot in the order of `page`, read only from compact columns. */
  tops(query: RowQuery): Top[]

  /**
   * A stream of rows as lines (NDJSON), one market after another. Before each piece, the next
   * `PIECE_ROWS` rows must be `ready`.
   */
  lines(encoding: Encoding): LineStream

  /** A new stream of events in gzip. */
  events(): EventStream

  /**
   * Rows ascending as columns, in runs of at most 100. Each run is read on demand; before it, the
   * next `PIECE_ROWS` rows must be `ready`.
   */
  runs(query: RunQuery): Generator<RowRun, void>

  /**
   * Changes of books ascending, in runs of at most 100. Each run is read on demand; before the first
   * one, `heldRanges` must be `ready`, and before each the next `PIECE_ROWS` rows.
   */
  changes(query: ChangesQuery): Generator<ChangeRun, void>

  /** Verifies everything and yields each fault found; nothing if the history is sound. */
  verify(onProgress?: (done: number, total: number) => void): Iterable<string>

  totals(): Totals

  /** Used bytes, without deleted space that awaits reuse. */
  usedBytes(): number

  /** 32 secret bytes, created with the history, that sign cursors; they outlive the process. */
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

/** The number of rows from which a piece of lines, or a run, begins. */
export const PIECE_ROWS = 200

/** The history of services and commands. `test/history/conformance.ts` is the contract as tests. */
export type MarketHistory = HistoryWriter &
  HistoryReader & {
    /** The path of the file; undefined in memory. */
    readonly path: string | undefined
    /** The cache file for chunks fetched from the archive; undefined if they are only in memory. */
    readonly chunkCache: ChunkCachePlace | undefined
    /** Counters of the cache of chunks in memory. */
    cacheCounts(): CacheCounts
    /** Counters of this thread's requests to the bucket. */
    archiveCounts(): ObjectCounts
    /**
     * Fetches the archived parts of these rows; a read that may touch archived books begins with
     * it. Returns undefined, without a promise, if everything is on this machine; if nothing was
     * ever archived, it does not read the ranges. Rejects with `storage_unavailable`.
     */
    ready(ranges: Iterable<RowRange>): Promise<void> | undefined
    /** Set by `withDowntime`: the `gaps` that are not stored, and change without a revision. */
    readonly derivedGaps?: (market: Market) => readonly Gap[]
    /** Set by `withDowntime`: the last sign of a recorder that is silent now. */
    readonly silentSinceMs?: () => number | undefined
    /** Runs reads of a market on one state of the history, which costs less than separate reads. */
    consistently<T>(market: Market, read: () => T): T
    archive: Archiver
  }

export type Batch = {
  /** The permanent name of the batch: 1 to 100 characters. */
  id: string
  source: Source
  snapshots: readonly Snapshot[]
  /**
   * The reason of the gaps between distant snapshots. If absent, the batch is part of an import:
   * `import`, or `venue_silent` if another source was listening.
   */
  gapReason?: GapReason | undefined
}

export type PutOutcome = {
  /** False if an equal or better row was stored before. */
  isNew: boolean
  /** True if no market of the window is known. */
  isWaiting: boolean
  /** True if a fact about a market has changed. */
  isChanged: boolean
  /** A sentence if the row contradicts the known winner. */
  conflict: string | undefined
}

type TradeBatch = {
  /** Like `Batch.id`. */
  id: string
  conditionId: string
  trades: readonly Trade[]
}

export type Recording = {
  /** The source of all its markets; `recorded` by default. */
  source?: Source | undefined
  /** True if it is part of an import, whose pauses are those of `Batch`. */
  isImport?: boolean | undefined
  snapshots: readonly Snapshot[]
  trades: readonly { conditionId: string; trade: Trade }[]
  /** Gap changes in the order of their detection. */
  gaps: readonly GapChange[]
}

export type GapChange = { conditionId: string } & (
  | { kind: 'opened'; gap: Gap }
  /**
   * A recorder does not know the book and has written no row of the outcome since. Rows stored
   * after that belong to other recorders, which knew it: a gap begins after the last of them.
   */
  | { kind: 'unknown'; gap: Gap }
  /**
   * A recorder knew the book in this period, which removes gaps noted by others. A gap without an
   * end is removed too; the recorder that noted it reports it again, as `unknown`, once it knows the
   * book.
   */
  | { kind: 'known'; outcome: Outcome; fromMs: number; toMs: number }
  /**
   * Ends every gap of the outcome that ends at `ENDLESS_MS` at `atMs`, exclusive, or removes it.
   * `withdrawn` removes a gap. `said` adds the statements of an import to those of earlier imports,
   * and the gaps follow from all of them.
   */
  | { kind: 'ended'; outcome: Outcome; atMs: number }
  | { kind: 'withdrawn'; gap: Gap }
  | { kind: 'said'; outcome: Outcome; statement: Statement }
)

/** If the batch was `already_applied`, the counts of the first time. */
export type AppendResult = {
  kind: 'appended' | 'already_applied'
  accepted: number
  duplicates: number
}

type OutcomeQuery = { market: Market; outcome: Outcome }

/** Times are compared with `orderMs`. */
export type MarketQuery = TimeRange & {
  coin: Market['coin']
  limit: number
  /** `desc`, newest first, by default. */
  order?: 'asc' | 'desc' | undefined
  timeframe?: Timeframe | undefined
  /** `statusOf` at `nowMs`, which is then required. */
  status?: MarketStatus | undefined
  nowMs?: number | undefined
  winner?: Outcome | undefined
  source?: Source | undefined
  /** Exclusive: continues after this market. */
  after?: MarketPosition | undefined
  /** Inclusive, within `fromMs` and `toMs`: the list ends with this market. */
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
   * Keeps only the last row of an outcome in each step (k·stepMs, (k+1)·stepMs]: the state at the
   * end of each step in which it changed. For a market that is not closed, only ended steps, by
   * `decidedStepsEndMs`. Not for `tops`.
   */
  stepMs?: number | undefined
  /** True to include the time of receipt of each row. */
  withReceived?: boolean | undefined
}
/** The rows and columns to read, as in `RowQuery`. */
export type RowRange = Omit<RowQuery, 'limit'> & {
  /** All rows by default. */
  limit?: number | undefined
  /**
   * True to include the best prices, which `tops` reads; `withReceived` also applies to
   * `StoredRow.snapshot`.
   */
  withTops?: boolean | undefined
  /** Includes chunks that may contain the row of this id, outside the range too. */
  id?: number | undefined
}
/** The rows read by `at`, with those read by its `snapshot` and `receivedMs`. */
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
/** Rows in ascending order, as in `RowQuery`. */
export type StreamQuery = Pick<RowQuery, 'market' | 'outcome' | 'fromMs' | 'toMs' | 'after'>

export type RunQuery = StreamQuery &
  Pick<RowQuery, 'withReceived'> & {
    /** Levels of each side, from the best; all by default. */
    depth?: number | undefined
  }

/** A run of rows, valid until the next is read. */
export type RowRun = {
  rows: readonly (Position & { outcome: Outcome })[]
  /** The additional columns of each row; empty unless requested. */
  besides: readonly Beside[]
  /** Two numbers for each row: the end of its bids, and the end of its asks, which follow them. */
  ends: readonly number[]
  /** The prices of all levels in millionths, the best of each side first. */
  prices: Int32Array
  sizes: Float64Array
}

export type ChangesQuery = Omit<StreamQuery, 'after'> & {
  /** Also identifies the books that the reader has. */
  after?: ChangePosition | undefined
  /** Gaps that no change bridges. */
  gaps: readonly Gap[]
  /** All rows by default, whose chunks are then not kept in memory. */
  limit?: number | undefined
}

export type ChangeRun = {
  rows: readonly (ChangePosition & ChangedState & { from: number; to: number })[]
  /**
   * The JSON objects of the rows with commas between; a row's object is from `from` to `to`. With a
   * `limit`, the rows of all runs so far, else of this run; valid until any other run is read.
   */
  texts: Uint8Array<ArrayBuffer>
}

export type Encoding = 'gzip' | 'identity'

export type Page = {
  /**
   * The market's revision when the page was read; differs from the query's after a concurrent
   * write.
   */
  revision: number
  count: number
  /** Position of the last row; undefined for an empty page. */
  last: Position | undefined
  /** True if at least one more row currently matches the query. */
  hasMore: boolean
  /** Times of receipt in Unix milliseconds, if known; empty unless requested. */
  received: readonly (number | undefined)[]
  /**
   * The rows joined by commas between `prefix` and `suffix` (ASCII), encoded as a whole. The bytes
   * are valid until the next page is encoded: use or copy them at once.
   */
  encode(encoding: Encoding, prefix: string, suffix: string): Uint8Array<ArrayBuffer>

  /**
   * The JSON object of each row in the order of the query (ASCII); valid until the next one is
   * read.
   */
  texts(): Iterable<Uint8Array>
}

/** A snapshot that was found; read it before the next read of the history. */
export type StoredRow = Position & {
  /** The JSON object as served (ASCII); valid until the next read. */
  text(): Uint8Array
  snapshot(): StoredSnapshot
  /** Unix milliseconds by the recorder's clock, if known. */
  receivedMs(): number | undefined
}

/**
 * A stream of rows as lines, each a JSON object and a newline; with gzip, one member (RFC 1952).
 * Bytes are valid until the next piece is read. Memory is that of a piece.
 */
export type LineStream = {
  /** Pieces of a few hundred kilobytes at most; concurrent writes appear. */
  rows(query: StreamQuery): Generator<LinePiece, void>
  /** Ends the stream; nothing may follow. */
  end(): Uint8Array<ArrayBuffer>
  /** Bytes of text so far. */
  readonly textBytes: number
  readonly textCrc: number
}
export type LinePiece = { bytes: Uint8Array<ArrayBuffer>; rows: number; last: Position }

/**
 * Events (their lines, then an empty line) as one gzip member (RFC 1952) that ends with the stream.
 * Each event ends at a byte boundary, so that a reader can decode it on arrival; a comment line may
 * be appended there. Lines contain printable ASCII without spaces.
 */
export type EventStream = {
  /**
   * An event of text only; the first one begins the stream. Text shared with the last event of the
   * same name is not repeated.
   */
  event(lines: string, name?: string): Uint8Array<ArrayBuffer>
  /** An event for each row after a position: the result of `before`, then the JSON object. */
  rows(query: StreamQuery & { limit: number }, before: (row: Position) => string): RowEvents
  /**
   * Identifies everything on which the bytes of the next events depend. The output of one stream
   * may be sent on any stream in the same step.
   */
  readonly step: string
  /** Checksum of the text so far. */
  readonly sum: TextSum
  /** A stream in the same step after another text, none of which is repeated. */
  fork(sum: TextSum): EventStream
  /** Ends the stream; nothing may follow. */
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
  /** Best bid price and size in millionths; both 0 if the side is empty. */
  bidPrice: number
  bidSize: number
  askPrice: number
  askSize: number
  /** Unix milliseconds by the recorder's clock, if known and requested. */
  receivedMs?: number | undefined
}
export type Totals = { markets: number; snapshots: number; bytes: number }
