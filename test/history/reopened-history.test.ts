import { afterAll, beforeAll } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

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
function openForgetful(): MarketHistory {
  const path = join(folder, `${++files}.db`)
  let history = openHistory(path)
  const again = (): MarketHistory => {
    history.dispose()
    history = openHistory(path)
    return history
  }
  /** What is read piece by piece must stay open while the others come and go. */
  const readers: MarketHistory[] = []
  const reading = (): MarketHistory => {
    const reader = openHistory(path)
    readers.push(reader)
    return reader
  }
  return {
    append: (batch) => again().append(batch),
    findBatch: (id) => again().findBatch(id),
    putMarket: (facts) => again().putMarket(facts),
    putOutcomes: (rows) => again().putOutcomes(rows),
    findMarket: (conditionId) => again().findMarket(conditionId),
    listMarkets: (query) => again().listMarkets(query),
    skipMarkets: (query, count) => again().skipMarkets(query, count),
    listUnclosed: () => again().listUnclosed(),
    findMarketBySlug: (slug) => again().findMarketBySlug(slug),
    findMarketByAsset: (assetId) => again().findMarketByAsset(assetId),
    coinTotals: (nowMs) => again().coinTotals(nowMs),
    sourcesOf: (coin) => again().sourcesOf(coin),
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
    fetch: () => undefined,
    isWhole: () => true,
    chunksAt: undefined,
    chunkCache: undefined,
    lastPosition: (market) => again().lastPosition(market),
    consistently: (market, read) => again().consistently(market, read),
    get archive() {
      return again().archive
    },
    cacheCounts: () => again().cacheCounts(),
    archiveCounts: () => again().archiveCounts(),
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

conform('in a file opened again before every verb', openForgetful, {
  seeds: 1,
  steps: 25,
})
