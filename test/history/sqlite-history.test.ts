import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { HistoryReader, HistoryWriter, MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, getMarket } from './books.ts'
import { conform } from './conformance.ts'

let folder = ''
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-history-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Every other history reads nearly all chunks from its file. */
function openNext(): MarketHistory {
  const path = join(folder, `${++files}.db`)
  return openHistory(path, files % 2 === 0 ? { chunkCacheBytes: 1000 } : {})
}

conform('a history on SQLite', openNext, { seeds: 2, steps: 50 })

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
    skipMarkets: engine.skipMarkets({ coin }, 1),
    listUnclosed: engine.listUnclosed(),
    coinTotals: engine.coinTotals(0),
    sourcesOf: engine.sourcesOf('btc'),
    trades: engine.trades({ market }),
    spot: engine.spot({ coin, order: 'asc', limit: 1 }),
    lastSpotId: engine.lastSpotId(),
    lastTradeId: engine.lastTradeId(),
    gaps: engine.gaps(market),
    page: engine.page(rows),
    at: engine.at(moment),
    latest: engine.latest(moment),
    lastPosition: engine.lastPosition(market),
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
