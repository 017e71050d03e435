import type { MarketHistory } from '#src/history/history.ts'
import { atOnce } from '#src/platform/eventually.ts'

const refuse = (): never => {
  throw new Error('The fake history was asked for more than its test gives it.')
}

/** A history for tests of what lies around the store: empty, and only with the verbs given. */
export function fakeHistory(verbs: Partial<MarketHistory> = {}): MarketHistory {
  return {
    append: refuse,
    findBatch: () => undefined,
    putMarket: refuse,
    putOutcomes: refuse,
    findMarket: () => undefined,
    findMarketBySlug: () => undefined,
    findMarketByAsset: () => undefined,
    listMarkets: () => [],
    listUnclosed: () => [],
    putTrades: refuse,
    trades: () => [],
    putGaps: refuse,
    record: refuse,
    putSpot: refuse,
    spot: () => [],
    lastSpotId: () => 0,
    gaps: () => [],
    coinTotals: () => [],
    sourcesOf: () => [],
    close: refuse,
    page: refuse,
    at: refuse,
    latest: refuse,
    tops: refuse,
    runs: refuse,
    lines: refuse,
    events: refuse,
    lastPosition: refuse,
    findPosition: refuse,
    probeWrite: () => {},
    verify: () => [],
    deleteOldest: refuse,
    listOldest: refuse,
    usedBytes: () => 0,
    eventually: atOnce,
    fetch: () => undefined,
    isWhole: () => true,
    chunkCache: undefined,
    consistently: (_, read) => read(),
    archive: {
      ...{ place: () => undefined, setPlace: refuse, due: () => [], pack: refuse },
      ...{ takeOrphans: () => [], forget: refuse, totals: () => ({ objects: 0, bytes: 0 }) },
    },
    totals: () => ({ markets: 0, snapshots: 0, bytes: 0 }),
    path: undefined,
    cacheCounts: () => ({ bytes: 0, hits: 0, misses: 0 }),
    revisions: {
      sinceMs: () => 0,
      lastIdBefore: () => 0,
      lastRemovalMs: () => 0,
      firstIdFrom: () => 0,
      lastChangeMs: () => 0,
      eventsSinceMs: () => 0,
      ...{ firstTradeIdFrom: () => 0, firstSpotIdFrom: () => 0, factsSince: () => [] },
      ...{ isNewSince: () => false, isClosedSince: () => false, gapsAt: () => [] },
      list: () => [],
    },
    manifests: {
      ...{ publicKey: refuse, add: refuse, days: () => [], list: () => [], sequencesOf: () => [] },
      ...{ newest: () => undefined, find: () => undefined, ofDay: () => undefined },
    },
    cursorKey: new Uint8Array(32),
    dispose: () => {},
    ...verbs,
  }
}
