/** Applies batches: settles what is new, gives ids, and puts every row where it belongs. */
import type { GapReason } from '#src/core/coverage.ts'
import { comparePositions, type StoredSnapshot } from '#src/core/snapshot.ts'

import type { Batch } from '../history.ts'
import { changing } from '../reads/market-read.ts'
import { assertAsset, assertNearWindow, assertSame } from '../tables/market-facts.ts'
import type { StoredMarket } from '../tables/market-row.ts'
import type { Tables } from '../tables/tables.ts'
import { type Arrival, createArrivals, type MadeRow, type MarketChange } from './arrivals.ts'
import type { Coverage } from './coverage.ts'
import { createMerge } from './merge.ts'
import type { Runs } from './runs.ts'

/** Why there is nothing between snapshots of a batch that does not say. */
const GAP_REASON: GapReason = 'import'

type Group = { market: StoredMarket; change: MarketChange }
/**
 * A row that nothing has an id for, and the greatest place in the
 * batch up to it in its millisecond.
 */
type Unnamed = { row: MadeRow; place: number }

/** Returns the function that applies a batch; it needs a transaction around it. */
export function createAppend(tables: Tables & { runs: Runs; coverage: Coverage }) {
  const { markets, meta, runs, coverage } = tables
  const settle = createArrivals(tables)
  const mergeIntoChunks = createMerge(tables)

  function sortOut(batch: Batch): Group[] {
    const byCondition = Map.groupBy(
      batch.snapshots.map((snapshot, index) => ({ snapshot, index })),
      ({ snapshot }) => snapshot.conditionId,
    )
    return [...byCondition].map(([conditionId, arrivals]) =>
      changing(conditionId, () => {
        const market = toMarket(arrivals, batch)
        arrivals.sort((a, b) => a.snapshot.timestampMs - b.snapshot.timestampMs)
        return { market, change: settle(market, arrivals) }
      }),
    )
  }

  function toMarket(entries: readonly Arrival[], { source }: Batch): StoredMarket {
    const first = entries[0]?.snapshot
    if (first === undefined) throw new Error('A group has an entry.')
    const { conditionId, coin, timeframe } = first
    const market =
      markets.find(conditionId) ?? markets.put({ conditionId, coin, timeframe, source })
    const assetIds = { ...market.assetIds }
    for (const { snapshot } of entries) {
      assertSame(market, { ...snapshot, source })
      assertAsset(assetIds, snapshot)
      assertNearWindow(market, snapshot.timestampMs)
      assetIds[snapshot.outcome] = snapshot.assetId
    }
    return { ...market, assetIds }
  }

  function apply({ market, change }: Group, ids: Ids, reason: GapReason): void {
    const { gone } = change
    const rows = change.made
      .map((row) => ({ ...row.snapshot, id: row.id ?? ids.of.get(row) ?? 0 }))
      .sort(comparePositions)
    const { lastSnapshotMs: lastMs = -1 } = market
    const isFresh = ({ timestampMs, id }: StoredSnapshot): boolean =>
      timestampMs > lastMs || (timestampMs === lastMs && id >= ids.first)
    const firstFresh = rows.findIndex(isFresh)
    const fresh = firstFresh < 0 ? [] : rows.slice(firstFresh)
    const late = rows.slice(0, rows.length - fresh.length)
    const afterChunks = mergeIntoChunks(market, { rows: late, gone })
    const goneIds = new Set(gone.map(({ id }) => id))
    runs.change(market, { gone: goneIds, late: afterChunks, fresh, isClosed: market.isClosed })
    markets.update(coverage.add(market, { rows, gone, firstNewId: ids.first }, reason))
  }

  return (batch: Batch): { accepted: number; duplicates: number } => {
    const groups = sortOut(batch)
    const unnamed = groups.flatMap(({ change }) => listUnnamed(change))
    unnamed.sort((a, b) => a.place - b.place)
    const first = meta.takeIds(unnamed.length)
    const of = new Map(unnamed.map(({ row }, at) => [row, first + at]))
    for (const group of groups) {
      if (group.change.made.length + group.change.gone.length === 0) continue
      changing(group.market.conditionId, () =>
        apply(group, { first, of }, batch.gapReason ?? GAP_REASON),
      )
    }
    const accepted = groups.reduce((sum, { change }) => sum + change.accepted, 0)
    return { accepted, duplicates: batch.snapshots.length - accepted }
  }
}

/** Ids that nothing had before: the least, and whose they are. */
type Ids = { first: number; of: ReadonlyMap<MadeRow, number> }

/** Ids rise in the order of the batch, but for rows of one millisecond, whose order is settled. */
function listUnnamed({ made }: MarketChange): Unnamed[] {
  let [timestampMs, place] = [-1, -1]
  return made
    .filter(({ id }) => id === undefined)
    .map((row) => {
      const isSame = row.snapshot.timestampMs === timestampMs
      timestampMs = row.snapshot.timestampMs
      place = isSame ? Math.max(place, row.index) : row.index
      return { row, place }
    })
}
