/** Every table of `history.db`. Times are Unix milliseconds; prices and sizes are millionths. */
import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

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
    /** Rises whenever the market's chunks change, which is seldomer than the revision. */
    layout: integer('layout').notNull().default(0),
    upCount: integer('up_count').notNull().default(0),
    downCount: integer('down_count').notNull().default(0),
    firstMs: integer('first_ms'),
    lastMs: integer('last_ms'),
    isClosed: integer('is_closed').notNull().default(0),
    /** Start of the window; where unknown, the first snapshot; 0 where that is unknown too. */
    orderMs: integer('order_ms').notNull().default(0),
  },
  (table) => [index('market_order').on(table.coin, table.orderMs, table.conditionId)],
)

/**
 * A sealed run of a market's snapshots. Never updated: a run that changes is deleted and written
 * anew under new ids, and no id is used twice, so what was read of one stays true. The blobs stand
 * in the order of how often they are read alone.
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
    /** Best bid and ask of each row: store/codec/tops.ts. */
    tops: blob('tops').notNull(),
    /** The rows: store/codec/chunk.ts. */
    rows: blob('rows').notNull(),
    /** Source hashes: store/codec/hashes.ts. */
    hashes: blob('hashes').notNull(),
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

/** The newest, unfinished run of each market, a row a snapshot, moved into a chunk when it is full. */
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
    frame: blob('frame').notNull(),
    sourceHash: blob('source_hash'),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.timeMs, table.id] })],
)
