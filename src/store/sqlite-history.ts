/** The embedded engine: books in one SQLite file. */
import type { Market } from '#src/core/market.ts'

import { createAppend } from './append.ts'
import { ChunkGone, createChunkTable } from './chunk-table.ts'
import { PageEncoder } from './codec/page-encoder.ts'
import { closeDatabase, type Database, readConsistently, transact } from './database.ts'
import type { AppendResult, Batch, Encoding, HistoryStore, Page, RowQuery } from './history.ts'
import { findLastSnapshot } from './last-snapshot.ts'
import { createMarketTable } from './market-table.ts'
import { createMetaTable } from './meta-table.ts'
import { select, type Selection } from './page.ts'
import { createRuns } from './runs.ts'
import { createSnapshotReader } from './snapshot-reader.ts'
import { createTailTable } from './tail-table.ts'
import { listTops } from './tops.ts'
import { createVerify } from './verify.ts'
import { createViews, type MarketView } from './views.ts'

/** For the pages that must be compressed at request: the level that costs least. */
const GZIP_LEVEL = 1

type Tables = ReturnType<typeof createTables>
type Writers = Pick<HistoryStore, 'append' | 'putMarket' | 'close'>
type Readers = Pick<HistoryStore, 'findMarket' | 'listMarkets' | 'page' | 'at' | 'latest' | 'tops'>

/** `chunkCacheBytes` bounds the chunks kept in memory, `lagMs` how late others' commits may show. */
export type EngineOptions = { chunkCacheBytes: number; lagMs: number }

/** Makes the history of an open file. */
export function createSqliteHistory(db: Database, options: EngineOptions): HistoryStore {
  const tables = createTables(db, options)
  const { meta } = tables
  return {
    ...createWriters(tables),
    ...createReaders(tables),
    cursorKey: meta.cursorKey(),
    findBatch: meta.findBatch,
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
  const views = createViews(db, { markets, chunks, tails }, lagMs)
  return { db, meta, markets, chunks, tails, reader, runs, views }
}

function createWriters(tables: Tables): Writers {
  const { db, meta, markets, runs, views } = tables
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

  return {
    append: (batch: Batch): AppendResult =>
      write(() => {
        const applied = meta.findBatch(batch.id)
        if (applied !== undefined) return { kind: 'already_applied', ...applied }
        const counts = applyBatch(batch)
        meta.putBatch(batch.id, counts)
        return { kind: 'appended', ...counts }
      }),

    putMarket: (facts) => write(() => runs.forget(markets.put(facts).id)),

    close: (conditionId) =>
      write(() => {
        const market = markets.find(conditionId)
        if (market === undefined || market.isClosed) return
        runs.change(market, { late: [], fresh: [], isClosed: true })
        markets.update({ ...market, isClosed: true })
      }),
  }
}

function createReaders(tables: Tables): Readers {
  const { db, markets, chunks, views } = tables
  const encoder = new PageEncoder()

  /**
   * Reads a market as it is now, not as it was when it was found. A view was read in one state of the
   * file and chunks never change, so this needs no transaction; only when another process has cut a market
   * anew in between is a chunk gone, and the second time nothing can be.
   */
  function read<T>({ conditionId }: Market, body: (view: MarketView) => T): T {
    try {
      return body(getView(conditionId))
    } catch (error) {
      if (!(error instanceof ChunkGone)) throw error
      return readConsistently(db, () => body(getView(conditionId)))
    }
  }

  function getView(conditionId: string): MarketView {
    const view = views.find(conditionId)
    if (view === undefined) throw new Error(`Market ${conditionId} is gone.`)
    return view
  }

  return {
    findMarket: (conditionId) => views.find(conditionId)?.market,
    listMarkets: (query) => markets.list(query),

    page(query: RowQuery): Page {
      const [selection, { revision }] = read(query.market, (view) => [
        select(view, chunks, query),
        view.market,
      ])
      const { count, last, hasMore } = selection
      return {
        revision,
        count,
        last,
        hasMore,
        encode: (encoding, prefix, suffix) =>
          encode(encoder, selection, { order: query.order, encoding, prefix, suffix }),
      }
    },

    at: ({ market, outcome, timestampMs }) =>
      read(market, (view) => findLastSnapshot(view, tables, { outcome, toMs: timestampMs + 1 })),
    latest: ({ market, outcome }) =>
      read(market, (view) => findLastSnapshot(view, tables, { outcome, toMs: undefined })),
    tops: (query) => read(query.market, (view) => listTops(view, chunks, query)),
  }
}

type PageParts = { order: RowQuery['order']; encoding: Encoding; prefix: string; suffix: string }

function encode(
  encoder: PageEncoder,
  { slices }: Selection,
  { order, encoding, prefix, suffix }: PageParts,
): Uint8Array<ArrayBuffer> {
  if (order === 'asc') return encoder[encoding](slices, prefix, suffix)
  const text = encoder.reversed(slices, prefix, suffix)
  return encoding === 'gzip' ? Bun.gzipSync(text, { level: GZIP_LEVEL }) : text
}
