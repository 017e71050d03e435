/** The embedded engine: books in one SQLite file. */
import { assertSound } from '#src/database/checksum.ts'
import { type Database, readConsistently } from '#src/database/database.ts'
import { closeFile, usedBytesOf } from '#src/database/sqlite/database.ts'
import type { ChunkCachePlace } from '#src/database/stores.ts'
import { probe, type StoreHandles, type Transact } from '#src/database/transact.ts'
import { AppError } from '#src/domain/errors.ts'
import type { Market, MarketFacts } from '#src/domain/market.ts'
import { factChanges, type MarketChange } from '#src/domain/revision.ts'
import type { Clock } from '#src/domain/time.ts'
import { createCache } from '#src/platform/cache.ts'

import { createArchiver } from './archiver.ts'
import type { AppendResult, HistoryWriter, MarketHistory, Recording } from './history.ts'
import { createChangeReads } from './reads/changes.ts'
import { createEventReads } from './reads/events.ts'
import {
  changing,
  createMarketRead,
  createViews,
  marketName,
  naming,
  type ReadMarket,
  type Views,
} from './reads/market-read.ts'
import { createBulkReads, createPageReads } from './reads/pages.ts'
import { createReady } from './reads/ready.ts'
import { createFetchedChunks } from './tables/fetched-chunks.ts'
import { createCoinTotals, createMarketList, createSources } from './tables/market-list.ts'
import { assertNearWindow, type StoredMarket } from './tables/market-table.ts'
import { createLogMeta, createMetaTable } from './tables/meta-table.ts'
import { createRevisionReads } from './tables/revision-table.ts'
import { createTables, type TableOptions, type Tables } from './tables/tables.ts'
import { createVerify } from './verify.ts'
import { createAppend } from './writes/append.ts'
import { type Coverage, createCoverage } from './writes/coverage.ts'
import { createDelete, createOldestList } from './writes/delete.ts'
import { checkedIn, createEvidence, type Said } from './writes/evidence.ts'
import { createPutOutcomes } from './writes/outcomes.ts'
import { createRecord, lateTrades, spanOfGaps } from './writes/record.ts'
import { createRuns, type Runs } from './writes/runs.ts'

type FileVerbs =
  | 'cacheCounts'
  | 'archiveCounts'
  | 'findBatch'
  | 'listOldest'
  | 'probeWrite'
  | 'dispose'
  | 'verify'
  | 'totals'
  | 'usedBytes'
  | 'cursorKey'
  | 'revisions'
  | 'manifests'
  | 'path'
  | 'archive'
  | 'ready'
  | 'chunkCache'
type Writers = Omit<HistoryWriter, FileVerbs>
type Readers = Omit<MarketHistory, keyof HistoryWriter | FileVerbs>

/** Views take a hundredth of the bytes of their chunks; the rest is for markets that are not cached. */
const CHUNK_BYTES_PER_VIEW_BYTE = 16
const VIEW_BYTES_MIN = 4 * 1024 * 1024

export type SqliteOptions = Omit<TableOptions, 'fetched' | 'clock'> & {
  /** The time of logged changes; by default that of the handles. */
  clock?: Clock | undefined
  /** The maximum delay of commits of other connections; 0 asks at each use. */
  lagMs: number
  /**
   * The file that caches parts fetched from the archive; by default they are cached in memory only.
   */
  chunkCache?: ChunkCachePlace | undefined
}

export function createSqliteHistory(
  { reading, writing, transact, clock: databaseClock }: StoreHandles,
  { lagMs, chunkCache, clock = databaseClock, ...options }: SqliteOptions,
): MarketHistory {
  const make = (db: Database): Tables =>
    createTables(db, { ...options, clock, fetched: createFetchedChunks(chunkCache) })
  const tables = make(reading)
  const written = writing === reading ? tables : make(writing)
  const runs = createRuns(written)
  const bytesMax = Math.max(VIEW_BYTES_MIN, options.chunkCacheBytes / CHUNK_BYTES_PER_VIEW_BYTE)
  const views = createViews({ ...tables, runs }, { lagMs, bytesMax })
  const { meta } = tables
  const ready = createReady(tables, views)
  const cursorKey = written.meta.open()
  written.revisions.begin()
  return {
    ...createWriters({ ...written, runs, coverage: createCoverage(written) }, views, transact),
    ...createReaders(tables, views, ready),
    cursorKey,
    revisions: createRevisionReads(reading, tables.logMeta),
    manifests: {
      ...tables.manifests,
      add: (made) => transact(() => written.manifests.add(made)),
    },
    chunkCache,
    path: reading.filename === ':memory:' ? undefined : reading.filename,
    findBatch: meta.findBatch,
    listOldest: createOldestList(reading),
    probeWrite: () => probe({ reading, writing, transact }, TOUCH),
    verify: createVerify(tables),
    totals: meta.totals,
    cacheCounts: tables.chunks.cacheCounts,
    archiveCounts: tables.archiveCounts,
    usedBytes: () => usedBytesOf(reading),
    archive: createArchiver(tables, written, transact),
    ready,
    dispose() {
      for (const each of new Set([tables, written])) {
        each.closeElsewhere()
        closeFile(each.db)
      }
    },
  }
}

/** A write that changes nothing. */
const TOUCH = "UPDATE meta SET value = value WHERE key = 'cursor_key'"

/** Puts what a new history has first, in a transaction that writes. */
export function beginHistory({ writing, clock }: Pick<StoreHandles, 'writing' | 'clock'>): void {
  createMetaTable(writing).prepare()
  createLogMeta(writing).prepare(clock)
}

function createWriters(
  tables: Tables & { coverage: Coverage; runs: Runs },
  views: Views,
  transact: Transact,
): Writers {
  const { meta, markets, gaps, trades, runs } = tables
  const applyBatch = createAppend(tables)
  const deleteStep = createDelete(tables)

  /**
   * Writes in one transaction; if it fails, the changed caches are dropped too. `changed` names the
   * only markets that the body may change; without it, the body may change any.
   */
  async function write<T>(body: () => T, changed?: Iterable<string>): Promise<T> {
    try {
      const { result, kept } = await transact(() => {
        try {
          const result = body()
          for (const { conditionId, seal } of markets.takeChanged()) changing(conditionId, seal)
          return { result, kept: runs.takeChanged() }
        } catch (error) {
          runs.takeChanged()
          markets.forgetChanged()
          throw error
        }
      })
      runs.putBack(kept)
      views.invalidate(changed)
      return result
    } catch (error) {
      views.invalidate()
      throw error
    }
  }

  const writeTo = <T>(conditionId: string, body: () => T): Promise<T> =>
    write(() => changing(conditionId, body), [conditionId])

  /** Applies a batch in a transaction, unless a batch with this id was applied before. */
  function applyOnce(id: string, apply: () => Omit<AppendResult, 'kind'>): AppendResult {
    const applied = meta.findBatch(id)
    if (applied !== undefined) return { kind: 'already_applied', ...applied }
    const counts = apply()
    meta.putBatch(id, counts)
    return { kind: 'appended', ...counts }
  }

  const getMarket = (conditionId: string): StoredMarket =>
    requireMarket(conditionId, markets.find(conditionId))

  const { putMarket, noteFacts, touch } = createNoting(tables)
  const putOutcomes = createPutOutcomes({ ...tables, noteFacts })

  const evidence = createEvidence(tables)

  /** Writes a part of an import; `said` contains its statements about the books of each market. */
  function importing<T>(said: ReadonlyMap<string, Said>, body: () => T): T {
    for (const conditionId of said.keys())
      changing(conditionId, () => {
        const market = markets.find(conditionId)
        if (market !== undefined) evidence.begin(market)
      })
    const result = body()
    for (const [conditionId, own] of said)
      changing(conditionId, () => {
        const market = getMarket(conditionId)
        const { came, went, isChanged } = evidence.add(market, own)
        const changes = [
          ...(came.length > 0 ? [{ why: 'gap_noted' as const, ...spanOfGaps(came) }] : []),
          ...(went.length > 0 ? [{ why: 'gap_closed' as const, ...spanOfGaps(went) }] : []),
        ]
        if (isChanged) touch(market, changes)
      })
    return result
  }

  const record = createRecord({ ...tables, applyBatch, requireMarket, touch })

  return {
    append: (batch) =>
      write(() => {
        const apply = () => applyBatch(batch).counts
        return applyOnce(batch.id, () =>
          batch.gapReason === undefined ? importing(checkedIn(batch.snapshots), apply) : apply(),
        )
      }),

    record: (recording) =>
      write(() => {
        const apply = () => record(recording)
        return recording.isImport ? importing(saidIn(recording), apply) : apply()
      }, marketsOf(recording)),

    putTrades: ({ id, conditionId, trades: found }) =>
      write(() =>
        changing(conditionId, () =>
          applyOnce(id, () => {
            const market = getMarket(conditionId)
            for (const { timestampMs } of found) assertNearWindow(market, timestampMs)
            const own = found.map((trade) => ({ marketId: market.id, trade }))
            const accepted = trades.insert(own).size
            if (accepted > 0) touch(market, lateTrades(market, accepted))
            return { accepted, duplicates: found.length - accepted }
          }),
        ),
      ),

    putSpot: (ticks) => write(() => tables.spot.insert(ticks)),

    putGaps: (conditionId, found) =>
      writeTo(conditionId, () => {
        const market = getMarket(conditionId)
        if (gaps.record(market.id, found) > 0)
          touch(market, [{ why: 'gap_noted', ...spanOfGaps(found) }])
      }),

    putMarket: (facts) => writeTo(facts.conditionId, () => putMarket(facts)),
    putOutcomes(rows) {
      const changed = new Set<string>()
      return write(() => putOutcomes(rows, changed), changed)
    },

    putRecorder: (sign) => write(() => tables.recorders.put(sign), []),
    endRecorder: (id) => write(() => tables.recorders.remove(id), []),
    putReceipts: (receipts, nextId) => write(() => tables.tradeChain.put(receipts, nextId), []),

    deleteOldest: (beforeMs) => write(() => deleteStep(beforeMs)),
    close: (conditionId) =>
      writeTo(conditionId, () => {
        const market = markets.find(conditionId)
        if (market === undefined || market.isClosed) return
        const run = runs.load(market)
        runs.change(market, run, { refs: [], gone: [], late: [], fresh: [], isClosed: true })
        markets.close(market)
      }),
  }
}

const marketsOf = ({ snapshots, trades, gaps }: Recording): Set<string> =>
  new Set([...snapshots, ...trades, ...gaps].map(({ conditionId }) => conditionId))

/** The statements about all its markets, including empty ones. */
function saidIn(recording: Recording): Map<string, Said> {
  const all = new Map(
    [...marketsOf(recording)].map((id): [string, Said] => [id, { up: [], down: [] }]),
  )
  for (const change of recording.gaps)
    if (change.kind === 'said') all.get(change.conditionId)?.[change.outcome].push(change.statement)
  return all
}

function requireMarket(conditionId: string, found: StoredMarket | undefined): StoredMarket {
  if (found !== undefined) return found
  throw new AppError(
    'unknown_market',
    `Market ${conditionId} is not known. Put the market before what belongs to it.`,
  )
}

function createNoting({ markets, runs, revisions }: Tables & { runs: Runs }) {
  function noteFacts(known: StoredMarket | undefined, put: StoredMarket): void {
    runs.forget(put.id)
    const changes = known === undefined ? [] : factChanges(known, put)
    if (changes.length > 0) revisions.note(put, { why: 'fact_changed', facts: changes })
  }

  return {
    noteFacts,

    putMarket(facts: MarketFacts): void {
      const known = markets.find(facts.conditionId)
      noteFacts(known, markets.put(facts, known))
    },

    /**
     * Raises the revision after a change of data other than books, and logs the changes of served
     * data.
     */
    touch(market: Market, changes: readonly MarketChange[]): void {
      markets.touch(market)
      runs.keep(market)
      const revised = { ...market, revision: market.revision + 1 }
      for (const change of changes) revisions.note(revised, change)
    },
  }
}

function createReaders(tables: Tables, views: Views, ready: MarketHistory['ready']): Readers {
  const { db, markets } = tables
  const read = createMarketRead(db, views)
  const coinTotals = createCoinTotals(db)
  const sourcesOf = createSources(db)
  return {
    findMarket: (conditionId) =>
      naming(marketName(conditionId), () => views.find(conditionId)?.market),
    findMarketBySlug: (slug) => naming(`Market ${slug}`, () => markets.findBySlug(slug)),
    findMarketByAsset: (assetId) =>
      naming(`The market of asset ${assetId}`, () => markets.findByAsset(assetId)),
    ...createMarketList(db),
    listUnclosed: markets.listUnclosed,
    trades: createTradeRead(tables, read),
    spot: (query) => naming(`The price of ${query.coin}`, () => tables.spot.list(query)),
    lastTradeId: () => naming('The list of trades', tables.trades.lastId),
    receiptOf: (id) => naming('The receipts of trades', () => tables.tradeChain.find(id)),
    uncheckedTrades: (query) =>
      naming('The list of trades', () => tables.tradeChain.unchecked(query)),
    nextCheckedId: () => naming('The receipts of trades', tables.logMeta.nextCheckedId),
    lastSpotId: () => naming('The list of prices', tables.spot.lastId),
    recorders: () => naming('The list of recorders', tables.recorders.list),
    gaps: (market) => read(market, ({ gaps }) => gaps),
    consistently: ({ conditionId }, body) =>
      naming(marketName(conditionId), () => readConsistently(db, body)),
    sourcesOf: (coin) => naming('The list of coins', () => sourcesOf(coin)),
    coinTotals: (nowMs) => naming('The list of coins', () => coinTotals(nowMs)),
    ...createPageReads(tables, read),
    ...createBulkReads(tables, read, ready),
    ...createChangeReads(tables, read),
    ...createEventReads(tables, read),
  }
}

/** Markets that are remembered; each takes some 100 bytes. */
const MARKETS_MAX = 50_000

/** Creates the verb that reads trades, after a check that none is missing. */
function createTradeRead(
  { db, markets, trades }: Tables,
  read: ReadMarket,
): MarketHistory['trades'] {
  /** The sum, by market, under which all trades were found. */
  const whole = createCache<number, number>(MARKETS_MAX)

  function assertWhole(conditionId: string): void {
    const market = markets.find(conditionId)
    if (market === undefined) return
    assertSound(trades.sum(market.id) === market.tradeSum, `the trades of market ${market.id}`)
    whole.set(market.id, market.tradeSum, { size: 1 })
  }

  return (query) =>
    read(query.market, ({ market }) => {
      // The cached market may be old, so it is read again.
      if (whole.get(market.id) !== market.tradeSum)
        readConsistently(db, () => assertWhole(market.conditionId))
      return trades.list(query)
    })
}
