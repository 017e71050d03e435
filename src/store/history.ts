import type { Market, MarketFacts, Outcome, Source } from '#src/core/market.ts'
import type { Position, Snapshot, StoredSnapshot } from '#src/core/snapshot.ts'

/**
 * The history of books behind verbs, so that engines can be exchanged: `test/store/conformance.ts`
 * is the contract as tests. Every verb is synchronous and atomic; another process may read or write
 * the same history at the same time.
 */
export type HistoryStore = {
  /**
   * Adds snapshots of any markets, in any order, in one transaction. Unknown markets are created.
   * A batch id that was applied before changes nothing. A snapshot whose asset and time are stored
   * already with the same source hash or the same levels is a duplicate: it vanishes and is counted.
   * Ids are given in the order of the batch. Throws `market_conflict` when a snapshot contradicts
   * its market's coin, timeframe, source or asset; then nothing of the batch is kept.
   */
  append(batch: Batch): AppendResult

  /** What became of a batch, if it was applied. */
  findBatch(id: string): { accepted: number; duplicates: number } | undefined

  /** Records facts of a market, creating it if needed. Undefined facts leave what is known. */
  putMarket(facts: MarketFacts): void

  findMarket(conditionId: string): Market | undefined

  /** Markets of one coin, newest first by `orderMs`, then by descending conditionId. */
  listMarkets(query: MarketQuery): Market[]

  /** Seals a market's unfinished run and marks its history final. May be repeated. */
  close(conditionId: string): void

  /** One page of a market's snapshots. Reads nothing of the books until `Page.encode`. */
  page(query: RowQuery): Page

  /** The last snapshot at or before `timestampMs` (never after) of one outcome. */
  at(query: { market: Market; outcome: Outcome; timestampMs: number }): StoredSnapshot | undefined

  /** The last snapshot of one outcome. */
  latest(query: { market: Market; outcome: Outcome }): StoredSnapshot | undefined

  /** Best bid and ask of each snapshot in the order of `page`, from compact columns alone. */
  tops(query: RowQuery): Iterable<Top>

  /** Re-reads everything and yields each fault found; nothing when the store is sound. */
  verify(onProgress?: (done: number, total: number) => void): Iterable<string>

  /** What the file holds. */
  totals(): Totals

  /** 32 secret bytes made with the history, which sign cursors: they outlive the process. */
  readonly cursorKey: Uint8Array

  /** Closes the file; the store is not usable afterwards. */
  dispose(): void
}

export type Batch = {
  /** Names the batch for good: 1 to 100 characters. */
  id: string
  source: Source
  snapshots: readonly Snapshot[]
}

export type AppendResult =
  | { kind: 'appended'; accepted: number; duplicates: number }
  /** With the counts of the first time. */
  | { kind: 'already_applied'; accepted: number; duplicates: number }

export type MarketQuery = {
  coin: Market['coin']
  limit: number
  /** Exclusive: continues after this market. */
  after?: { orderMs: number; conditionId: string } | undefined
}

export type RowQuery = {
  market: Market
  /** Undefined for both. */
  outcome?: Outcome | undefined
  /** Unix milliseconds, inclusive. */
  fromMs?: number | undefined
  /** Unix milliseconds, exclusive. */
  toMs?: number | undefined
  order: 'asc' | 'desc'
  /** Exclusive: the page continues past this position in the direction of `order`. */
  after?: Position | undefined
  limit: number
}

export type Encoding = 'gzip' | 'identity'

export type Page = {
  /** Of the market when the page was read; another one than the query's if it was written meanwhile. */
  revision: number
  count: number
  /** Position of the last row; undefined on an empty page. */
  last: Position | undefined
  /** True when at least one further row matches the query right now. */
  hasMore: boolean
  /**
   * The rows as JSON objects joined by commas between `prefix` and `suffix` (ASCII), encoded whole.
   * The bytes are valid until the next page is encoded: use or copy them at once.
   */
  encode(encoding: Encoding, prefix: string, suffix: string): Uint8Array<ArrayBuffer>
}

export type Top = Position & {
  outcome: Outcome
  /** Best bid price and size, in millionths; both 0 when the side is empty. */
  bidPrice: number
  bidSize: number
  askPrice: number
  askSize: number
}

export type Totals = { markets: number; snapshots: number; bytes: number }
