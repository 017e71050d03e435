import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { HistoryReader, HistoryWriter, MarketHistory } from '#src/history/history.ts'
import { type HistoryOptions, openHistory } from '#src/history/open.ts'
import { atOnce } from '#src/lib/eventually.ts'

import { appendAll, aSnapshot, getMarket } from './books.ts'
import { conform } from './conformance.ts'

let folder = ''
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-history-'))
})
afterAll(() => rm(folder, { recursive: true }))

/**
 * A history that is closed and opened again before every verb, as if
 * the process had ended in between.
 */
function openForgetful(options: HistoryOptions): MarketHistory {
  const path = join(folder, `${++files}.db`)
  let history = openHistory(path, options)
  const again = (): MarketHistory => {
    history.dispose()
    history = openHistory(path, options)
    return history
  }
  /** What is read piece by piece must stay open while the others come and go. */
  const readers: MarketHistory[] = []
  const reading = (): MarketHistory => {
    const reader = openHistory(path, options)
    readers.push(reader)
    return reader
  }
  return {
    append: (batch) => again().append(batch),
    findBatch: (id) => again().findBatch(id),
    putMarket: (facts) => again().putMarket(facts),
    findMarket: (conditionId) => again().findMarket(conditionId),
    listMarkets: (query) => again().listMarkets(query),
    listUnclosed: () => again().listUnclosed(),
    findMarketBySlug: (slug) => again().findMarketBySlug(slug),
    findMarketByAsset: (assetId) => again().findMarketByAsset(assetId),
    coinTotals: (nowMs) => again().coinTotals(nowMs),
    putTrades: (batch) => again().putTrades(batch),
    trades: (query) => again().trades(query),
    putGaps: (conditionId, gaps) => again().putGaps(conditionId, gaps),
    gaps: (market) => again().gaps(market),
    record: (recording) => again().record(recording),
    putSpot: (ticks) => again().putSpot(ticks),
    spot: (query) => again().spot(query),
    lastSpotId: () => again().lastSpotId(),
    close: (conditionId) => again().close(conditionId),
    page: (query) => again().page(query),
    at: (query) => again().at(query),
    latest: (query) => again().latest(query),
    findPosition: (market, id) => again().findPosition(market, id),
    tops: (query) => again().tops(query),
    lines: (encoding) => reading().lines(encoding),
    events: () => reading().events(),
    runs: (query) => reading().runs(query),
    probeWrite: () => again().probeWrite(),
    verify: (onProgress) => again().verify(onProgress),
    totals: () => again().totals(),
    usedBytes: () => again().usedBytes(),
    deleteOldest: (beforeMs) => again().deleteOldest(beforeMs),
    listOldest: (beforeMs) => again().listOldest(beforeMs),
    path: undefined,
    eventually: atOnce,
    consistently: (market, read) => again().consistently(market, read),
    get archive() {
      return again().archive
    },
    cacheCounts: () => again().cacheCounts(),
    get cursorKey() {
      return again().cursorKey
    },
    get revisions() {
      return again().revisions
    },
    get manifests() {
      return again().manifests
    },
    dispose() {
      for (const reader of [history, ...readers]) reader.dispose()
    },
  }
}

conform('in memory', () => openHistory(':memory:'), { seeds: 4, steps: 50 })
conform('in memory, next to no cache', () => openHistory(':memory:', { chunkCacheBytes: 1000 }), {
  seeds: 1,
  steps: 40,
})
conform('in a file opened again before every verb', () => openForgetful({}), {
  seeds: 1,
  steps: 25,
})

test('default: the embedded engine is a reader that never returns a promise', () => {
  const history = openHistory(':memory:')
  // The contract of any engine, by type.
  const engine: HistoryWriter & HistoryReader = history
  appendAll(history, [aSnapshot({ assetId: '7' })])
  const market = getMarket(history)
  const { conditionId, coin } = market
  const rows = { market, order: 'asc', limit: 1 } as const
  const moment = { market, outcome: 'up', timestampMs: Number.MAX_SAFE_INTEGER } as const
  const results: Record<
    Exclude<keyof HistoryReader, 'cursorKey' | 'revisions' | 'manifests'>,
    unknown
  > = {
    findMarket: engine.findMarket(conditionId),
    findMarketBySlug: engine.findMarketBySlug('a'),
    findMarketByAsset: engine.findMarketByAsset('7'),
    listMarkets: engine.listMarkets({ coin, limit: 1 }),
    listUnclosed: engine.listUnclosed(),
    coinTotals: engine.coinTotals(0),
    trades: engine.trades({ market }),
    spot: engine.spot({ coin, order: 'asc', limit: 1 }),
    lastSpotId: engine.lastSpotId(),
    gaps: engine.gaps(market),
    page: engine.page(rows),
    at: engine.at(moment),
    latest: engine.latest(moment),
    findPosition: engine.findPosition(market, 1),
    tops: engine.tops(rows),
    lines: engine.lines('gzip').rows({ market }),
    events: engine.events().rows({ market, limit: 1 }, () => ''),
    runs: engine.runs({ market }),
    verify: engine.verify(),
    totals: engine.totals(),
    usedBytes: engine.usedBytes(),
  }
  for (const [verb, result] of Object.entries(results)) {
    const isLater = result instanceof Promise || Object(result)[Symbol.asyncIterator] !== undefined
    expect([verb, isLater]).toEqual([verb, false])
  }
  history.dispose()
})
