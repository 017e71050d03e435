/** Takes in batches: sorts out duplicates, gives ids, and puts every row where it belongs. */
import type { GapReason } from '#src/core/coverage.ts'
import type { Market } from '#src/core/market.ts'
import { comparePositions, type Snapshot, type StoredSnapshot } from '#src/core/snapshot.ts'

import type { ChunkTable } from './chunk-table.ts'
import { createDuplicates } from './duplicates.ts'
import type { Batch } from './history.ts'
import { assertAsset, assertInLife, assertSame, type MarketTable } from './market-table.ts'
import { createMerge } from './merge.ts'
import type { Runs } from './runs.ts'
import type { Silences } from './silences.ts'
import type { SnapshotReader } from './snapshot-reader.ts'
import type { TailTable } from './tail-table.ts'

type Tables = {
  markets: MarketTable
  chunks: ChunkTable
  tails: TailTable
  reader: SnapshotReader
  runs: Runs
  silences: Silences
  /** Returns the first of `count` ids that nothing has. */
  takeIds: (count: number) => number
}

/** Why there is nothing between snapshots of a batch that does not say. */
const SILENCE_REASON: GapReason = 'import'

/** A snapshot of the batch that is kept, with its place in the batch. */
type Accepted = { snapshot: Snapshot; index: number }
type Group = { market: Market; accepted: Accepted[] }

/** Returns the function that applies a batch; it needs a transaction around it. */
export function createAppend(tables: Tables) {
  const { markets, runs, silences, takeIds } = tables
  const findDuplicates = createDuplicates(tables)
  const mergeIntoChunks = createMerge(tables)

  function sortOut(batch: Batch): Group[] {
    const byCondition = Map.groupBy(
      batch.snapshots.map((snapshot, index) => ({ snapshot, index })),
      ({ snapshot }) => snapshot.conditionId,
    )
    return [...byCondition.values()].map((entries) => {
      const market = toMarket(entries, batch)
      // Sorting is stable, so rows of one moment keep the order of the batch, which is that of their ids.
      entries.sort((a, b) => a.snapshot.timestampMs - b.snapshot.timestampMs)
      const isDuplicate = findDuplicates(
        market,
        entries.map(({ snapshot }) => snapshot),
      )
      return { market, accepted: entries.filter((_, at) => !isDuplicate[at]) }
    })
  }

  function toMarket(entries: readonly Accepted[], { source }: Batch): Market {
    const first = entries[0]?.snapshot
    if (first === undefined) throw new Error('A group has an entry.')
    const { conditionId, coin, timeframe } = first
    const market =
      markets.find(conditionId) ?? markets.put({ conditionId, coin, timeframe, source })
    const assetIds = { ...market.assetIds }
    for (const { snapshot } of entries) {
      assertSame(market, { ...snapshot, source })
      assertAsset(assetIds, snapshot)
      assertInLife(market, snapshot.timestampMs)
      assetIds[snapshot.outcome] = snapshot.assetId
    }
    return { ...market, assetIds }
  }

  function apply(market: Market, rows: readonly StoredSnapshot[], reason: GapReason): void {
    const { lastSnapshotMs: lastMs = Number.NEGATIVE_INFINITY } = market
    const firstFresh = rows.findIndex(({ timestampMs }) => timestampMs >= lastMs)
    const fresh = firstFresh < 0 ? [] : rows.slice(firstFresh)
    const behindChunks = mergeIntoChunks(market, rows.slice(0, rows.length - fresh.length))
    runs.change(market, { late: behindChunks, fresh, isClosed: market.isClosed })
    markets.update(silences.add(market, rows, reason))
  }

  return (batch: Batch): { accepted: number; duplicates: number } => {
    const groups = sortOut(batch)
    const accepted = groups.reduce((sum, group) => sum + group.accepted.length, 0)
    const order = groups.flatMap((group) => group.accepted).sort((a, b) => a.index - b.index)
    const firstId = takeIds(accepted)
    const ids = new Map(order.map(({ index }, place) => [index, firstId + place]))
    for (const group of groups) {
      if (group.accepted.length === 0) continue
      const rows = group.accepted.map(({ snapshot, index }) => ({
        ...snapshot,
        id: ids.get(index) ?? 0,
      }))
      apply(group.market, rows.sort(comparePositions), batch.silenceReason ?? SILENCE_REASON)
    }
    return { accepted, duplicates: batch.snapshots.length - accepted }
  }
}
