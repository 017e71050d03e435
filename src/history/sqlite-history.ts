/** The embedded engine: books in one SQLite file. */
import { AppError } from '#src/core/errors.ts'
import { closeDatabase, type Database, probeWrite, transact } from '#src/sqlite/database.ts'

import { backfill } from './backfill.ts'
import type { AppendResult, HistoryStore } from './history.ts'
import { createBulkReaders } from './reads/lines.ts'
import { changing, createMarketRead, marketName, naming } from './reads/market-read.ts'
import { createRowReaders } from './reads/row-readers.ts'
import { createSnapshotReader } from './reads/snapshot-reader.ts'
import { createTradeRead } from './reads/trade-read.ts'
import { createViews } from './reads/views.ts'
import { createChunkTable } from './tables/chunk-table.ts'
import { createCoinTotals } from './tables/coin-totals.ts'
import { createGapTable } from './tables/gap-table.ts'
import type { StoredMarket } from './tables/market-row.ts'
import { assertInLife, createMarketTable } from './tables/market-table.ts'
import { createMetaTable } from './tables/meta-table.ts'
import { createTailTable } from './tables/tail-table.ts'
import { createTradeTable } from './tables/trade-table.ts'
import { createVerify } from './verify.ts'
import { createAppend } from './writes/append.ts'
import { createRuns } from './writes/runs.ts'
import { createSilences } from './writes/silences.ts'

type Tables = ReturnType<typeof createTables>
type Writers = Pick<HistoryStore, 'append' | 'putMarket' | 'putTrades' | 'putGaps' | 'close'>
type Readers = Pick<
  HistoryStore,
  | 'coinTotals'
  | 'findMarket'
  | 'findMarketBySlug'
  | 'findMarketByAsset'
  | 'trades'
  | 'gaps'
  | 'listMarkets'
  | 'listUnclosed'
  | 'page'
  | 'at'
  | 'latest'
  | 'findPosition'
  | 'tops'
  | 'lines'
  | 'runs'
>

type BatchCounts = Pick<AppendResult, 'accepted' | 'duplicates'>

/** `chunkCacheBytes` bounds the chunks kept in memory, `lagMs` how late others' commits may show. */
export type EngineOptions = { chunkCacheBytes: number; lagMs: number }

/** Makes the history of an open file. */
export function createSqliteHistory(db: Database, options: EngineOptions): HistoryStore {
  const tables = createTables(db, options)
  const { meta } = tables
  const cursorKey = meta.open()
  backfill(tables)
  return {
    ...createWriters(tables),
    ...createReaders(tables),
    cursorKey,
    findBatch: meta.findBatch,
    probeWrite: () => probeWrite(db),
    verify: createVerify(tables),
    totals: meta.totals,
    dispose: () => closeDatabase(db),
  }
}

function createTables(db: Database, { chunkCacheBytes, lagMs }: EngineOptions) {
  const meta = createMetaTable(db)
  const markets = createMarketTable(db)
  const chunks = createChunkTable(db, chunkCacheBytes)
  const tails = createTailTable(db)
  const reader = createSnapshotReader(chunks)
  const runs = createRuns({ chunks, tails, reader })
  const gaps = createGapTable(db)
  const trades = createTradeTable(db)
  const silences = createSilences({ chunks, tails, gaps })
  const views = createViews(db, { markets, chunks, tails, gaps }, lagMs)
  return { db, meta, markets, chunks, tails, gaps, trades, silences, reader, runs, views }
}

function createWriters(tables: Tables): Writers {
  const { db, meta, markets, gaps, trades, runs, views } = tables
  const applyBatch = createAppend({ ...tables, takeIds: meta.takeIds })

  /** Writes all or nothing; what is kept in memory of a failed change is dropped with it. */
  function write<T>(body: () => T): T {
    try {
      return transact(db, body)
    } catch (error) {
      runs.forgetAll()
      throw error
    } finally {
      views.invalidate()
    }
  }

  const writeTo = <T>(conditionId: string, body: () => T): T =>
    changing(conditionId, () => write(body))

  /** Shows that something besides the books was written. */
  function touch(market: StoredMarket): void {
    markets.touch(market.id)
    runs.keep(market)
  }

  const writeOnce = (id: string, apply: () => BatchCounts): AppendResult =>
    write(() => {
      const applied = meta.findBatch(id)
      if (applied !== undefined) return { kind: 'already_applied', ...applied }
      const counts = apply()
      meta.putBatch(id, counts)
      return { kind: 'appended', ...counts }
    })

  function getMarket(conditionId: string): StoredMarket {
    const market = markets.find(conditionId)
    if (market !== undefined) return market
    throw new AppError(
      'unknown_market',
      `Market ${conditionId} is not known. Put the market before what belongs to it.`,
    )
  }

  return {
    append: (batch) => writeOnce(batch.id, () => applyBatch(batch)),

    putTrades: ({ id, conditionId, trades: found }) =>
      changing(conditionId, () =>
        writeOnce(id, () => {
          const market = getMarket(conditionId)
          for (const { timestampMs } of found) assertInLife(market, timestampMs)
          const accepted = trades.insert(market.id, found)
          if (accepted > 0) touch(market)
          return { accepted, duplicates: found.length - accepted }
        }),
      ),

    putGaps: (conditionId, found) =>
      writeTo(conditionId, () => {
        const market = getMarket(conditionId)
        if (gaps.record(market.id, found) > 0) touch(market)
      }),

    putMarket: (facts) => writeTo(facts.conditionId, () => runs.forget(markets.put(facts).id)),

    close: (conditionId) =>
      writeTo(conditionId, () => {
        const market = markets.find(conditionId)
        if (market === undefined || market.isClosed) return
        runs.change(market, { gone: new Set(), late: [], fresh: [], isClosed: true })
        markets.close(market.id)
      }),
  }
}

function createReaders({ db, markets, trades, views, ...tables }: Tables): Readers {
  const read = createMarketRead(db, views)
  const coinTotals = createCoinTotals(db)
  return {
    findMarket: (conditionId) =>
      naming(marketName(conditionId), () => views.find(conditionId)?.market),
    findMarketBySlug: (slug) => naming(`Market ${slug}`, () => markets.findBySlug(slug)),
    findMarketByAsset: (assetId) =>
      naming(`The market of asset ${assetId}`, () => markets.findByAsset(assetId)),
    listMarkets: markets.list,
    listUnclosed: markets.listUnclosed,
    trades: createTradeRead({ db, markets, trades }, read),
    gaps: (market) => read(market, ({ gaps }) => gaps),
    coinTotals: (nowMs) => naming('The list of coins', () => coinTotals(nowMs)),
    ...createRowReaders(tables, read),
    ...createBulkReaders(tables, read),
  }
}
