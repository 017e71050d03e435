import { expect, test } from 'bun:test'

import type { HistoryReader, HistoryWriter } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, getMarket } from './books.ts'
import { conform } from './conformance.ts'

conform('in memory', () => openHistory(':memory:'), { seeds: 4, steps: 50 })
conform('in memory, next to no cache', () => openHistory(':memory:', { chunkCacheBytes: 1000 }), {
  seeds: 1,
  steps: 40,
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
    skipMarkets: engine.skipMarkets({ coin }, 1),
    listUnclosed: engine.listUnclosed(),
    coinTotals: engine.coinTotals(0),
    sourcesOf: engine.sourcesOf('btc'),
    trades: engine.trades({ market }),
    spot: engine.spot({ coin, order: 'asc', limit: 1 }),
    lastSpotId: engine.lastSpotId(),
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
