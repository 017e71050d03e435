/** Applies batches: settles what is new, gives ids, and puts every row where it belongs. */
import type { GapReason } from '#src/core/coverage.ts'
import { type Market, outcomes } from '#src/core/market.ts'
import {
  type Beside,
  comparePositions,
  type Position,
  type Snapshot,
  type StoredSnapshot,
} from '#src/core/snapshot.ts'

import type { Chunk } from '../codec/chunk.ts'
import type { Batch } from '../history.ts'
import { changing } from '../reads/market-read.ts'
import type { ReadBeside } from '../tables/chunk-table.ts'
import {
  assertAsset,
  assertNearWindow,
  assertSame,
  type StoredMarket,
} from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { Coverage } from './coverage.ts'
import { settleMoment, type State } from './moments.ts'
import type { Runs } from './runs.ts'

type Group = { market: StoredMarket; change: MarketChange }

/** Returns the function that applies a batch; it needs a transaction around it. */
export function createAppend(tables: Tables & { runs: Runs; coverage: Coverage }) {
  const { markets, meta, runs, coverage } = tables
  const settle = createArrivals(tables)

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
    const fresh = rows.filter(isFresh)
    const late = rows.slice(0, rows.length - fresh.length)
    runs.change(market, { gone, late, fresh, isClosed: market.isClosed })
    markets.update(coverage.add(market, { rows, gone, firstNewId: ids.first, reason }))
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
        apply(group, { first, of }, batch.gapReason ?? 'import'),
      )
    }
    const accepted = groups.reduce((sum, { change }) => sum + change.accepted, 0)
    return { accepted, duplicates: batch.snapshots.length - accepted }
  }
}

/** Ids that nothing had before: the least, and whose they are. */
type Ids = { first: number; of: ReadonlyMap<MadeRow, number> }

/**
 * Rows without an id, each with the greatest place in the batch up to it in its millisecond: ids
 * rise in that order, as within a millisecond order is settled.
 */
function listUnnamed({ made }: MarketChange) {
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

/** A snapshot and its place in the batch. */
type Arrival = { snapshot: Snapshot; index: number }
export type GoneRow = Position & Pick<Snapshot, 'outcome' | 'isVerified'>
/** A row to put in: under its id, or under one that nothing has. */
type MadeRow = { snapshot: Snapshot; index: number; id: number | undefined }
/** What a batch changes of a market, `made` by time and in order within a millisecond. */
type MarketChange = { gone: GoneRow[]; made: MadeRow[]; accepted: number }

type HeldByMoment = Map<number, State[]>

/** Returns the function that settles arrivals of a market, which come in order of time. */
function createArrivals({ chunks, tails, snapshots }: Tables) {
  function addHeld(held: HeldByMoment, chunk: Chunk, besideOf: ReadBeside): void {
    for (let row = 0; row < chunk.count; row++) {
      const timestampMs = chunk.timeMs(row)
      const states = held.get(timestampMs)
      if (states === undefined) continue
      const beside = besideOf(row, timestampMs)
      states.push({
        ...stateOf({ ...beside, outcome: outcomes[chunk.outcome(row)] ?? 'up' }),
        id: chunk.id(row),
        snapshot: once(() => snapshots.ofRow(chunk, row, beside)),
      })
    }
  }

  function findHeld(market: Market, arrivals: readonly Arrival[]): HeldByMoment {
    const { lastSnapshotMs = -1 } = market
    const late = arrivals.filter(({ snapshot }) => snapshot.timestampMs <= lastSnapshotMs)
    const held: HeldByMoment = new Map(late.map(({ snapshot }) => [snapshot.timestampMs, []]))
    if (late.length === 0) return held
    const fromMs = arrivals[0]?.snapshot.timestampMs ?? 0
    const toMs = arrivals.at(-1)?.snapshot.timestampMs ?? 0
    for (const ref of chunks.listRefs(market.id)) {
      if (ref.lastMs < fromMs || ref.firstMs > toMs) continue
      const chunk = chunks.load(ref)
      addHeld(held, chunk, chunks.loadBeside(ref, chunk))
    }
    const tail = tails.read(market.id)
    if (tail !== undefined) addHeld(held, tail.chunk, tail.beside)
    return held
  }

  return (market: Market, arrivals: readonly Arrival[]): MarketChange => {
    const held = findHeld(market, arrivals)
    const change: MarketChange = { gone: [], made: [], accepted: 0 }
    const byMoment = Map.groupBy(arrivals, ({ snapshot }) => snapshot.timestampMs)
    for (const [timestampMs, moment] of byMoment)
      settle(change, { timestampMs, states: held.get(timestampMs) ?? [] }, moment)
    return change
  }
}

type Moment = { timestampMs: number; states: readonly State[] }

function settle(change: MarketChange, { timestampMs, states }: Moment, arrivals: Arrival[]): void {
  const [only] = arrivals
  if (states.length === 0 && arrivals.length === 1 && only !== undefined) {
    change.made.push({ ...only, id: undefined })
    change.accepted++
    return
  }
  const { gone, made } = settleMoment(states, arrivals.map(toState))
  for (const { id = 0, outcome, isVerified } of gone)
    change.gone.push({ timestampMs, id, outcome, isVerified })
  for (const { id, index, snapshot, isVerified, sequence, receivedMs } of made) {
    const row = { ...snapshot(), isVerified, sequence, receivedMs }
    change.made.push({ snapshot: row, index, id })
    if (index >= 0) change.accepted++
  }
}

function stateOf(row: Beside & Pick<Snapshot, 'outcome' | 'occurrence'>): Omit<State, 'snapshot'> {
  const { outcome, sourceHash, isVerified, receivedMs, sequence = 0, occurrence = 0 } = row
  return {
    ...{ outcome, sourceHash, isVerified, receivedMs, sequence, occurrence },
    ...{ id: undefined, index: HELD, isChanged: false },
  }
}

const toState = ({ snapshot, index }: Arrival): State => ({
  ...stateOf(snapshot),
  index,
  snapshot: () => snapshot,
})

/** The place of what is not in the batch. */
const HELD = -1

function once<T>(read: () => T): () => T {
  let value: T | undefined
  return () => (value ??= read())
}
