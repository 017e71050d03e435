/**
 * Every table of `history.db`. Times are Unix milliseconds; prices and sizes are millionths.
 * Everything that is served can be checked: rows by their `checksum`, blobs of chunks by their last
 * bytes, rows that could vanish by a sum over their checksums, beside their market or in `meta`
 * (database/checksum.ts). Columns are in the order of the file, which migrations may only append
 * to: checksums are of values in that order.
 */
import { sql } from 'drizzle-orm/sql/sql'
import { blob } from 'drizzle-orm/sqlite-core/columns/blob'
import { integer } from 'drizzle-orm/sqlite-core/columns/integer'
import { text } from 'drizzle-orm/sqlite-core/columns/text'
import { index, uniqueIndex } from 'drizzle-orm/sqlite-core/indexes'
import { primaryKey } from 'drizzle-orm/sqlite-core/primary-keys'
import { sqliteTable } from 'drizzle-orm/sqlite-core/table'

/** Facts about the file itself, such as the next snapshot id and the key that signs cursors. */
export const meta = sqliteTable('meta', {
  key: text('key').primaryKey(),
  value: blob('value').notNull(),
})

/** Batches that were applied, so that none is applied twice. */
export const batch = sqliteTable('batch', {
  id: text('id').primaryKey(),
  accepted: integer('accepted').notNull(),
  duplicates: integer('duplicates').notNull(),
})

/** One row a market: what is known of it and what is held of it. */
export const market = sqliteTable(
  'market',
  {
    id: integer('id').primaryKey(),
    conditionId: text('condition_id').notNull().unique(),
    coin: text('coin').notNull(),
    timeframe: text('timeframe').notNull(),
    source: text('source').notNull(),
    slug: text('slug'),
    question: text('question'),
    windowStartMs: integer('window_start_ms'),
    windowEndMs: integer('window_end_ms'),
    winner: text('winner'),
    upAssetId: text('up_asset_id'),
    downAssetId: text('down_asset_id'),
    revision: integer('revision').notNull().default(0),
    /** Rises whenever the market's chunks change, which is less often than the revision. */
    layout: integer('layout').notNull().default(0),
    upCount: integer('up_count').notNull().default(0),
    downCount: integer('down_count').notNull().default(0),
    firstMs: integer('first_ms'),
    lastMs: integer('last_ms'),
    isClosed: integer('is_closed').notNull().default(0),
    /** Start of the window; where unknown, the first snapshot; 0 where that is unknown too. */
    orderMs: integer('order_ms').notNull().default(0),
    /** Who named the winner; not null exactly when `winner` is not. */
    winnerSource: text('winner_source'),
    tickSize: integer('tick_size'),
    /** Decimal digits as the source prints them, in USD. */
    strike: text('strike'),
    finalPrice: text('final_price'),
    /** First and last snapshot of each outcome. */
    upFirstMs: integer('up_first_ms'),
    upLastMs: integer('up_last_ms'),
    downFirstMs: integer('down_first_ms'),
    downLastMs: integer('down_last_ms'),
    /**
     * Longest time between two consecutive snapshots of each outcome; null where there are not two.
     */
    upLongestMs: integer('up_silence_ms'),
    downLongestMs: integer('down_silence_ms'),
    /** Snapshots whose books reproduce the venue's hash. */
    upVerifiedCount: integer('up_verified_count').notNull().default(0),
    downVerifiedCount: integer('down_verified_count').notNull().default(0),
    /** Rises whenever the market's gaps change; 0 while it never had any. */
    gapRevision: integer('gap_revision').notNull().default(0),
    /** Sums of the checksums of its trades and its gaps, modulo 2^32. */
    tradeSum: integer('trade_sum').notNull().default(0),
    gapSum: integer('gap_sum').notNull().default(0),
    /** Null only where a market of 0.4.0 was damaged before it had checksums. */
    checksum: integer('checksum'),
    settlementRule: text('settlement_rule'),
    /** Who says what the strike is, and the moment that it is the price of. */
    strikeSource: text('strike_source'),
    strikeMs: integer('strike_ms'),
    finalPriceSource: text('final_price_source'),
    finalPriceMs: integer('final_price_ms'),
    /** JSON of the fees, as `MarketFacts` has it. */
    feeSchedule: text('fee_schedule'),
    /** Delay of taker orders, and age at which orders can be cancelled, in milliseconds. */
    takerDelayMs: integer('taker_delay_ms'),
    orderAgeMs: integer('order_age_ms'),
  },
  (table) => [
    index('market_order').on(table.coin, table.orderMs, table.conditionId),
    index('market_timeframe_order').on(
      table.coin,
      table.timeframe,
      table.orderMs,
      table.conditionId,
    ),
    // The few that can be open among the very many that are over.
    index('market_live_order')
      .on(table.coin, table.orderMs, table.conditionId)
      .where(sql`winner IS NULL AND is_closed = 0`),
    index('market_unresolved_order')
      .on(table.coin, table.orderMs, table.conditionId)
      .where(sql`winner IS NULL`),
    index('market_slug').on(table.slug),
    index('market_up_asset').on(table.upAssetId),
    index('market_down_asset').on(table.downAssetId),
    // Of version 0.5.0, which gave checksums to older markets.
    index('market_unsealed')
      .on(table.id)
      .where(sql`checksum IS NULL`),
  ],
)

/**
 * A sealed run of a market's snapshots. Never updated: a run that changes is deleted and written
 * again under new ids, and no id is used twice, so what was read of one stays true. The blobs are
 * in the order of how often they are read alone; each ends with its checksum
 * (database/checksum.ts).
 */
export const chunk = sqliteTable(
  'chunk',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    marketId: integer('market_id').notNull(),
    firstMs: integer('first_ms').notNull(),
    firstId: integer('first_id').notNull(),
    lastMs: integer('last_ms').notNull(),
    lastId: integer('last_id').notNull(),
    upCount: integer('up_count').notNull(),
    downCount: integer('down_count').notNull(),
    /** Best bid and ask of each row: history/codec/beside.ts. */
    tops: blob('tops').$type<Uint8Array>().notNull(),
    /** The rows: history/codec/chunk.ts. */
    rows: blob('rows').$type<Uint8Array>().notNull(),
    /** Source hashes: history/codec/beside.ts. */
    hashes: blob('hashes').$type<Uint8Array>().notNull(),
    /**
     * Verdicts, sequences and times of receipt: history/codec/beside.ts.
     * The default: nothing is noted.
     */
    notes: blob('notes')
      .$type<Uint8Array>()
      .notNull()
      .default(sql`x'00'`),
  },
  (table) => [
    // Holds all that a page needs to choose its chunks, so that it opens no other.
    index('chunk_order').on(
      table.marketId,
      table.lastMs,
      table.lastId,
      table.firstMs,
      table.firstId,
      table.upCount,
      table.downCount,
    ),
  ],
)

/**
 * The newest, unfinished run of each market, a row a snapshot, moved into a chunk when it is full.
 */
export const tail = sqliteTable(
  'tail',
  {
    marketId: integer('market_id').notNull(),
    timeMs: integer('time_ms').notNull(),
    id: integer('id').notNull(),
    /** 0 up, 1 down. */
    outcome: integer('outcome').notNull(),
    bidPrice: integer('bid_price').notNull(),
    bidSize: integer('bid_size').notNull(),
    askPrice: integer('ask_price').notNull(),
    askSize: integer('ask_size').notNull(),
    textLength: integer('text_length').notNull(),
    bitLength: integer('bit_length').notNull(),
    textCrc: integer('text_crc').notNull(),
    frame: blob('frame').$type<Uint8Array>().notNull(),
    sourceHash: blob('source_hash').$type<Uint8Array>(),
    checksum: integer('checksum'),
    /** As of a chunk, for one row. */
    notes: blob('notes')
      .$type<Uint8Array>()
      .notNull()
      .default(sql`x'00'`),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.timeMs, table.id] })],
)

/** Trades; what a source does not report is null. */
export const trade = sqliteTable(
  'trade',
  {
    /** Rises in the order of acceptance. */
    id: integer('id').primaryKey(),
    marketId: integer('market_id').notNull(),
    timeMs: integer('time_ms').notNull(),
    price: integer('price').notNull(),
    /** 0 up, 1 down. */
    outcome: integer('outcome'),
    size: integer('size'),
    /** Side of the taker: 0 buy, 1 sell. */
    side: integer('side'),
    checksum: integer('checksum'),
    /** Of the chain: `0x` and 64 lower-case hex digits. */
    transactionHash: text('transaction_hash'),
    /** The same trade with its transaction, which was accepted later. */
    replacedBy: integer('replaced_by'),
  },
  // With the checksum, so that the sum of a market's needs no other page.
  (table) => [index('trade_order').on(table.marketId, table.timeMs, table.id, table.checksum)],
)

/** Whether the chain executed the transaction of a trade: domain/trade-chain.ts. Only added to. */
export const tradeChain = sqliteTable('trade_chain', {
  tradeId: integer('trade_id').primaryKey(),
  /** 1 if it succeeded, 0 if it reverted. */
  isSuccess: integer('is_success').notNull(),
  checksum: integer('checksum').notNull(),
})

/** Times without snapshots: `from_ms` inclusive, `to_ms` exclusive. */
export const gap = sqliteTable(
  'gap',
  {
    marketId: integer('market_id').notNull(),
    /** 0 up, 1 down. */
    outcome: integer('outcome').notNull(),
    /**
     * 0 when it was recorded; -1 when it follows from what imports said (`evidence`); when it
     * follows from the snapshots, 1 from their times and 2 from their verdicts.
     */
    kind: integer('is_derived').notNull(),
    fromMs: integer('from_ms').notNull(),
    toMs: integer('to_ms').notNull(),
    reason: text('reason').notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.marketId, table.outcome, table.kind, table.fromMs, table.toMs, table.reason],
    }),
  ],
)

/** What the sources of imports said of a market's books: domain/evidence.ts. */
export const evidence = sqliteTable('evidence', {
  marketId: integer('market_id').primaryKey(),
  /** JSON: history/tables/evidence-table.ts. */
  said: text('said').notNull(),
  checksum: integer('checksum').notNull(),
})

/**
 * What tables of outcomes say of a window, which name no market: it holds for every market of the
 * window, also for one that is known later. Of a winner one row: domain/window-outcome.ts.
 */
export const windowOutcome = sqliteTable(
  'window_outcome',
  {
    windowStartMs: integer('window_start_ms').notNull(),
    coin: text('coin').notNull(),
    timeframe: text('timeframe').notNull(),
    source: text('source').notNull(),
    winner: text('winner').notNull(),
    /** Of the coin, at the start and the end of the window, as in `market`. */
    strike: text('strike'),
    finalPrice: text('final_price'),
    checksum: integer('checksum').notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.windowStartMs, table.coin, table.timeframe, table.source, table.winner],
    }),
  ],
)

/**
 * What is held of each coin, kept by triggers on `market`, so that
 * nobody has to look at every market.
 */
export const coinTotal = sqliteTable(
  'coin_total',
  {
    coin: text('coin').notNull(),
    timeframe: text('timeframe').notNull(),
    source: text('source').notNull(),
    markets: integer('markets').notNull(),
    snapshots: integer('snapshots').notNull(),
    firstMs: integer('first_ms'),
    lastMs: integer('last_ms'),
    /** Of the four numbers, by the triggers too. */
    checksum: integer('checksum'),
  },
  (table) => [primaryKey({ columns: [table.coin, table.timeframe, table.source] })],
)

/** Reference prices of coins: `price` is the source's decimal digits, in USD. */
export const spot = sqliteTable(
  'spot',
  {
    /** Rises in the order of acceptance. */
    id: integer('id').primaryKey(),
    coin: text('coin').notNull(),
    source: text('source').notNull(),
    /** Seconds that it is an average of; 0 for the price of the moment. */
    windowSeconds: integer('window_seconds').notNull(),
    timeMs: integer('time_ms').notNull(),
    price: text('price').notNull(),
    receivedMs: integer('received_ms'),
    sequence: integer('sequence'),
    dropped: integer('dropped'),
    checksum: integer('checksum').notNull(),
  },
  (table) => [
    uniqueIndex('spot_series').on(table.coin, table.source, table.windowSeconds, table.timeMs),
    index('spot_order').on(table.coin, table.timeMs, table.id),
    index('spot_dropped')
      .on(table.coin, table.source, table.windowSeconds, table.timeMs)
      .where(sql`dropped > 0`),
  ],
)

/**
 * As meta, of the logs: sums of their checksums, and since when they are kept. Apart, because each
 * change of meta reads all of it, and snapshots change it.
 */
export const logMeta = sqliteTable('log_meta', {
  key: text('key').primaryKey(),
  value: blob('value').notNull(),
})

/**
 * What changed of a market after it could be served. Only added to; what a market gains after its
 * last snapshot while it is recorded is no change of what was served. See domain/revision.ts.
 */
export const revision = sqliteTable(
  'revision',
  {
    id: integer('id').primaryKey(),
    /** Never before that of a smaller id. */
    atMs: integer('at_ms').notNull(),
    why: text('why').notNull(),
    conditionId: text('condition_id').notNull(),
    coin: text('coin').notNull(),
    timeframe: text('timeframe').notNull(),
    orderMs: integer('order_ms').notNull(),
    /** Of the market after the change. */
    revision: integer('revision').notNull(),
    added: integer('added').notNull(),
    changed: integer('changed').notNull(),
    removed: integer('removed').notNull(),
    /** Inclusive and exclusive; null where no time is concerned. */
    fromMs: integer('from_ms'),
    toMs: integer('to_ms'),
    /** JSON: [name, before, after] of each fact. */
    facts: text('facts'),
    checksum: integer('checksum').notNull(),
  },
  (table) => [
    index('revision_time').on(table.atMs),
    index('revision_market').on(table.conditionId, table.id),
  ],
)

/** Objects of the archive. A row is there before its object, and goes after it. */
export const segment = sqliteTable(
  'segment',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    /** Null once the market is deleted. */
    marketId: integer('market_id'),
    /** Of the market, when nothing of it was left to put; else null. */
    layout: integer('layout'),
    /** In the archive: history/tables/segment-table.ts. */
    name: text('name').notNull(),
    bytes: integer('bytes').notNull(),
    /** In hex. */
    sha256: text('sha256').notNull(),
    madeMs: integer('made_ms').notNull(),
    /** 1 once chunks are read from it, 0 before. */
    isSealed: integer('is_sealed').notNull(),
    checksum: integer('checksum').notNull(),
  },
  (table) => [index('segment_market').on(table.marketId, table.layout)],
)

/**
 * The last sign of life of each recorder that did not end in order: while it is silent, what it
 * recorded has a gap.
 */
export const recorder = sqliteTable('recorder', {
  /** Of one run of a process. */
  id: text('id').primaryKey(),
  /** Of the machine. */
  name: text('name').notNull(),
  /** What it records, separated by commas. */
  coins: text('coins').notNull(),
  timeframes: text('timeframes').notNull(),
  startedMs: integer('started_ms').notNull(),
  signMs: integer('sign_ms').notNull(),
  checksum: integer('checksum').notNull(),
})

/** The digests of a day's markets, chained and signed: domain/manifest.ts. Only added to. */
export const manifest = sqliteTable(
  'manifest',
  {
    /** From 1 on, none left out. */
    sequence: integer('sequence').primaryKey(),
    /** UTC, as `2026-04-14`. */
    day: text('day').notNull(),
    /** Of the day, from 1 on. */
    revision: integer('revision').notNull(),
    madeMs: integer('made_ms').notNull(),
    /** SHA-256 in hex of its body; that of the manifest before. */
    digest: text('digest').notNull(),
    previous: text('previous'),
    /** In base64. */
    signature: text('signature').notNull(),
    publicKey: text('public_key').notNull(),
    checksum: integer('checksum').notNull(),
  },
  (table) => [uniqueIndex('manifest_day').on(table.day, table.revision)],
)

/** Canonical JSON, some 300 bytes a market: apart, so that a list of manifests reads none. */
export const manifestBody = sqliteTable('manifest_body', {
  sequence: integer('sequence').primaryKey(),
  body: text('body').notNull(),
})
