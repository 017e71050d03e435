/** Applies batches: determines new rows, assigns ids, and writes each row where it belongs. */

import type { GapReason } from '#src/domain/coverage.ts'
import { isVerifiedMarket, type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import {
  type Beside,
  compareLevels,
  comparePositions,
  type Snapshot,
  type StoredSnapshot,
} from '#src/domain/snapshot.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import type { Batch } from '../history.ts'
import { changing } from '../reads/market-read.ts'
import type { ReadBeside } from '../tables/chunk-table.ts'
import {
  assertAsset,
  assertNearWindow,
  assertSame,
  orderOf,
  type StoredMarket,
} from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { Coverage, GoneRow, Held } from './coverage.ts'
import type { Runs } from './runs.ts'

type Group = { held: Held; change: MarketChange }

/** Creates the function that applies a batch; it needs a transaction. */
export function createAppend(tables: Tables & { runs: Runs; coverage: Coverage }) {
  const { markets, meta, chunks, runs, coverage, revisions } = tables
  const settle = createArrivals(tables)
  const listUnknown = createUnknown(tables)

  function sortOut(batch: Batch): Group[] {
    const isImport = batch.gapReason === undefined
    const byCondition = Map.groupBy(
      batch.snapshots.map((snapshot, index) => ({ snapshot, index })),
      ({ snapshot }) => snapshot.conditionId,
    )
    return [...byCondition].map(([conditionId, arrivals]) =>
      changing(conditionId, () => {
        const market = toMarket(markets.find(conditionId), arrivals, batch)
        const { lastSnapshotMs = -1 } = market
        const isProved = proves(market, arrivals)
        const isLate =
          isProved || arrivals.some(({ snapshot }) => snapshot.timestampMs <= lastSnapshotMs)
        arrivals.sort((a, b) => a.snapshot.timestampMs - b.snapshot.timestampMs)
        const held = {
          market,
          run: runs.load(market),
          refs: isLate ? chunks.listRefs(market.id) : [],
          ...coverage.findGaps(market, isLate),
        }
        const unknown = isProved ? listUnknown(held) : []
        const judged = judgeUnknown(market, [...unknown, ...arrivals])
        return { held, change: settle(held, judged, isImport) }
      }),
    )
  }

  function toMarket(
    known: StoredMarket | undefined,
    entries: readonly Arrival[],
    { source }: Batch,
  ): StoredMarket {
    const first = entries[0]?.snapshot
    if (first === undefined) throw new Error('A group has an entry.')
    const { conditionId, coin, timeframe } = first
    const market = known ?? markets.put({ conditionId, coin, timeframe, source }, known)
    const assetIds = { ...market.assetIds }
    for (const { snapshot } of entries) {
      assertSame(market, { ...snapshot, source })
      assertAsset(assetIds, snapshot)
      assertNearWindow(market, snapshot.timestampMs)
      assetIds[snapshot.outcome] = snapshot.assetId
    }
    return { ...market, assetIds }
  }

  /** Returns the changed market. */
  function apply({ held, change }: Group, ids: Ids, reason: GapReason): Market {
    const { market, run, refs } = held
    const { gone } = change
    const rows = change.made
      .map((row) => ({ ...row.snapshot, id: row.id ?? ids.of.get(row) ?? 0 }))
      .sort(comparePositions)
    const { lastSnapshotMs: lastMs = -1 } = market
    const isFresh = ({ timestampMs, id }: StoredSnapshot): boolean =>
      timestampMs > lastMs || (timestampMs === lastMs && id >= ids.first)
    const fresh = rows.filter(isFresh)
    const late = rows.slice(0, rows.length - fresh.length)
    const cover = coverage.begin(held, { rows, gone, reason })
    runs.change(market, run, { refs, gone, late, fresh, isClosed: market.isClosed })
    const covered = cover()
    markets.update(covered)
    const now = { ...covered, orderMs: orderOf(covered), revision: market.revision + 1 }
    if (late.length + gone.length === 0 && !market.isClosed) return now
    const changed = change.made.filter(({ id }) => id !== undefined).length
    const times = [...rows, ...gone].map(({ timestampMs }) => timestampMs)
    revisions.note(now, {
      why: reason === 'import' ? 'imported' : 'late_rows',
      added: rows.length - changed,
      changed,
      removed: gone.length - changed,
      fromMs: Math.min(...times),
      toMs: Math.max(...times) + 1,
    })
    return now
  }

  return (batch: Batch) => {
    const groups = sortOut(batch)
    const unnamed = groups.flatMap(({ change }) => listUnnamed(change))
    unnamed.sort((a, b) => a.place - b.place)
    const first = meta.takeIds(unnamed.length)
    const of = new Map(unnamed.map(({ row }, at) => [row, first + at]))
    const applied = groups.map((group) => {
      const { change } = group
      const { market } = group.held
      const isChanged = change.made.length + change.gone.length > 0
      const now = changing(market.conditionId, () =>
        isChanged ? apply(group, { first, of }, batch.gapReason ?? 'import') : market,
      )
      return [market.conditionId, { before: market, now }] as const
    })
    const accepted = groups.reduce((sum, { change }) => sum + change.accepted, 0)
    return {
      counts: { accepted, duplicates: batch.snapshots.length - accepted },
      /**
       * The changed markets; columns that only the store uses (including `layout`) are as before.
       */
      markets: new Map(applied),
    }
  }
}

export type ApplyBatch = ReturnType<typeof createAppend>

/** New ids: the least one, and their owners. */
type Ids = { first: number; of: ReadonlyMap<MadeRow, number> }

/**
 * Rows without an id, with the greatest index so far in their millisecond: ids increase with it.
 */
function listUnnamed({ made }: MarketChange) {
  let timestampMs = -1
  let place = -1
  return made
    .filter(({ id }) => id === undefined)
    .map((row) => {
      const isSame = row.snapshot.timestampMs === timestampMs
      timestampMs = row.snapshot.timestampMs
      place = isSame ? Math.max(place, row.index) : row.index
      return { row, place }
    })
}

/** True if a batch brings the first matching book of a market, after others. */
const proves = (market: Market, arrivals: readonly Arrival[]): boolean =>
  market.lastSnapshotMs !== undefined &&
  !isVerifiedMarket(market) &&
  arrivals.some(({ snapshot }) => snapshot.isVerified === true)

const isUnknown = ({ sourceHash, isVerified }: Beside): boolean =>
  sourceHash !== undefined && isVerified === undefined

/** Creates the function that lists the rows of a market whose hash no known recipe reproduced. */
function createUnknown({ chunks, snapshots }: Tables) {
  return ({ run, refs }: Held): Arrival[] => {
    const rows: StoredSnapshot[] = []
    for (const ref of refs) {
      const chunk = chunks.load(ref)
      const besideOf = chunks.loadBeside(ref, chunk)
      for (let row = 0; row < chunk.count; row++) {
        const beside = besideOf(row, chunk.timeMs(row))
        if (isUnknown(beside)) rows.push(snapshots.ofRow(chunk, row, beside))
      }
    }
    rows.push(...run.writer.snapshots.filter(isUnknown))
    return [...Map.groupBy(rows, ({ timestampMs }) => timestampMs).values()].flatMap((states) =>
      states.map((row, at) => {
        const before = states.slice(0, at).filter((other) => isSameRow(other, row))
        return { snapshot: { ...row, occurrence: before.length }, index: HELD }
      }),
    )
  }
}

const isSameRow = (a: Snapshot, b: Snapshot): boolean =>
  a.outcome === b.outcome && a.sourceHash === b.sourceHash && compareLevels(a, b) === 0

/**
 * Judges books with an unknown recipe once the recipe of their market is known, so that verdicts
 * depend neither on the order of books nor on who judged them.
 */
function judgeUnknown(market: Market, arrivals: Arrival[]): Arrival[] {
  const isProved =
    isVerifiedMarket(market) || arrivals.some(({ snapshot }) => snapshot.isVerified === true)
  if (!isProved || !arrivals.some(({ snapshot }) => isUnknown(snapshot))) return arrivals
  const verifier = homeVenue.createBookVerifier()
  // Matching books determine the recipe for the others.
  for (const { snapshot } of arrivals) if (snapshot.isVerified === true) verifier.verify(snapshot)
  return arrivals
    .map(({ snapshot, index }) => {
      if (!isUnknown(snapshot)) return { snapshot, index }
      const isVerified = verifier.verify(snapshot, { isProved })
      return { snapshot: { ...snapshot, isVerified }, index }
    })
    .sort((a, b) => a.snapshot.timestampMs - b.snapshot.timestampMs)
}

/** A snapshot and its index in the batch. */
type Arrival = { snapshot: Snapshot; index: number }
/** A row to insert: under its id, or under a new one. */
type MadeRow = { snapshot: Snapshot; index: number; id: number | undefined }
/**
 * The change of a market by a batch; `made` is ordered by time and, within a millisecond, by
 * position.
 */
type MarketChange = { gone: GoneRow[]; made: MadeRow[]; accepted: number }

type HeldByMoment = Map<number, State[]>

/** Creates the function that settles arrivals of a market, which are in order of time. */
function createArrivals({ chunks, snapshots }: Tables) {
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

  function findHeld({ market, run, refs }: Held, arrivals: readonly Arrival[]): HeldByMoment {
    const { lastSnapshotMs = -1 } = market
    const late = arrivals.filter(({ snapshot }) => snapshot.timestampMs <= lastSnapshotMs)
    const held: HeldByMoment = new Map(late.map(({ snapshot }) => [snapshot.timestampMs, []]))
    if (late.length === 0) return held
    const fromMs = arrivals[0]?.snapshot.timestampMs ?? 0
    const toMs = arrivals.at(-1)?.snapshot.timestampMs ?? 0
    for (const ref of refs) {
      if (ref.lastMs < fromMs || ref.firstMs > toMs) continue
      const chunk = chunks.load(ref)
      addHeld(held, chunk, chunks.loadBeside(ref, chunk))
    }
    for (const row of run.writer.snapshots)
      held
        .get(row.timestampMs)
        ?.push({ ...stateOf(row), occurrence: 0, id: row.id, snapshot: () => row })
    return held
  }

  return (before: Held, arrivals: readonly Arrival[], isImport: boolean): MarketChange => {
    const held = findHeld(before, arrivals)
    const change: MarketChange = { gone: [], made: [], accepted: 0 }
    const byMoment = Map.groupBy(arrivals, ({ snapshot }) => snapshot.timestampMs)
    for (const [timestampMs, moment] of byMoment)
      settle(change, { timestampMs, states: held.get(timestampMs) ?? [] }, moment, isImport)
    return change
  }
}

type Moment = { timestampMs: number; states: readonly State[] }

function settle(
  change: MarketChange,
  { timestampMs, states }: Moment,
  arrivals: Arrival[],
  isImport: boolean,
): void {
  const [only] = arrivals
  if (states.length === 0 && arrivals.length === 1 && only !== undefined) {
    change.made.push({ ...only, id: undefined })
    change.accepted++
    return
  }
  const { gone, made } = settleMoment(states, arrivals.map(toState), isImport)
  for (const { id = 0, outcome, isVerified } of gone)
    change.gone.push({ timestampMs, id, outcome, isVerified })
  for (const { id, index, snapshot, isVerified, sequence, receivedMs, sourceHash } of made) {
    const row = { ...snapshot(), isVerified, sequence, receivedMs, sourceHash }
    change.made.push({ snapshot: row, index, id })
    if (index >= 0) change.accepted++
  }
}

function stateOf(row: Beside & Pick<Snapshot, 'outcome' | 'occurrence'>): Omit<State, 'snapshot'> {
  const { outcome, sourceHash, isVerified, receivedMs, sequence = 0, occurrence = 0 } = row
  return {
    outcome,
    sourceHash,
    isVerified,
    receivedMs,
    sequence,
    occurrence,
    id: undefined,
    index: HELD,
    isChanged: false,
  }
}

const toState = ({ snapshot, index }: Arrival): State => ({
  ...stateOf(snapshot),
  index,
  snapshot: () => snapshot,
})

/** The index of a row that is not in the batch. */
const HELD = -1

function once<T>(read: () => T): () => T {
  let value: T | undefined
  return () => (value ??= read())
}

/** A stored row has its `id`, an arriving one its `index` in the batch. */
type State = Pick<Snapshot, 'outcome' | 'sourceHash' | 'isVerified' | 'receivedMs'> & {
  sequence: number
  occurrence: number
  id: number | undefined
  index: number
  /** Read only if required. */
  snapshot: () => Snapshot
  /** True if it differs from the stored row of its id. */
  isChanged: boolean
}

/**
 * Settles which states a market has in one millisecond, so that the result does not depend on the
 * order and number of arrivals. A state is a book, with or without a hash, and the number of equal
 * ones that its source gave before it; of equal states the greatest sequence counts, the earliest
 * receipt, and the better verdict. Three rules:
 *
 * - a verified book is one state under all of its hashes, and keeps the first of them by its text;
 * - a hash identifies one book: if one is verified, others under its hash are removed. If none is,
 * it is unknown which of them the hash meant, and all of them stay, the last one last;
 * - a book that is not verified is dropped if the same book is verified.
 *
 * Removed states could never win later, so nothing about them has to be remembered. States of Up
 * precede those of Down; the states of an outcome are ordered by sequence, then by content. A
 * recorder stores each state as soon as it is proved and moves no row of Down, so a row of Up that
 * it stores later comes after it. `held` is in the order of ids; their `occurrence` is determined
 * here.
 */
function settleMoment(held: readonly State[], arriving: readonly State[], isImport: boolean) {
  const states: State[] = []
  for (const state of held) {
    const before = states.filter((other) => isSameContent(other, state))
    states.push({ ...state, occurrence: before.length })
  }
  for (const state of arriving) join(states, state)
  const kept = withoutUnproved(states)
  raiseSequences(kept)
  kept.sort(compareStates)
  return arrange(held, kept, isImport)
}

/** Adds a state to those of its millisecond, unless an equal or better one exists. */
function join(states: State[], next: State): void {
  if (next.isVerified === true) removeRivals(states, next)
  else if (states.some((state) => state.isVerified === true && isRival(state, next))) return
  const same = states.find(
    (state) => state.occurrence === next.occurrence && isSameContent(state, next),
  )
  if (same === undefined) states.push({ ...next })
  else absorb(same, next)
}

function removeRivals(states: State[], verified: State): void {
  const rivals = states.filter((state) => state.isVerified !== true && isRival(verified, state))
  for (const rival of rivals) states.splice(states.indexOf(rival), 1)
}

/** True if a hash of a verified book also belongs to another book. */
const isRival = (verified: State, other: State): boolean =>
  verified.sourceHash !== undefined &&
  verified.sourceHash === other.sourceHash &&
  verified.outcome === other.outcome &&
  compareLevels(verified.snapshot(), other.snapshot()) !== 0

/** A contradiction is information; an unchecked state has none. */
const rankOf = ({ isVerified }: State): number => [undefined, false, true].indexOf(isVerified)

function absorb(state: State, other: State): void {
  const isVerified = rankOf(other) > rankOf(state) ? other.isVerified : state.isVerified
  const sequence = Math.max(state.sequence, other.sequence)
  const receivedMs = earlier(state.receivedMs, other.receivedMs)
  const { sourceHash } =
    compareTexts(state.sourceHash ?? '', other.sourceHash ?? '') > 0 ? other : state
  state.isChanged ||=
    isVerified !== state.isVerified ||
    sequence !== state.sequence ||
    receivedMs !== state.receivedMs ||
    sourceHash !== state.sourceHash
  Object.assign(state, { isVerified, sequence, receivedMs, sourceHash })
}

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)

function withoutUnproved(states: readonly State[]): State[] {
  const verified = states.filter(isProved)
  if (verified.length === 0 || verified.length === states.length) return [...states]
  return states.filter(
    (unproved) =>
      isProved(unproved) ||
      !verified.some(
        (state) =>
          state.outcome === unproved.outcome &&
          state.occurrence === unproved.occurrence &&
          compareLevels(state.snapshot(), unproved.snapshot()) === 0,
      ),
  )
}

const isProved = ({ isVerified, sourceHash }: State): boolean =>
  isVerified === true && sourceHash !== undefined

/** Sources may disagree; a book that returned still comes after its first time. */
function raiseSequences(states: readonly State[]): void {
  for (const state of states) {
    if (state.occurrence === 0) continue
    const earlierOnes = states.filter(
      (other) => other.occurrence < state.occurrence && isSameContent(other, state),
    )
    const least = Math.max(...earlierOnes.map(({ sequence }) => sequence), state.sequence)
    state.isChanged ||= least !== state.sequence
    state.sequence = least
  }
}

/**
 * Rows of an outcome keep their ids up to the first one that another must precede. In an import, a
 * row of Up with a new id must precede all rows of Down.
 */
function arrange(held: readonly State[], kept: readonly State[], isImport: boolean) {
  const made: State[] = []
  const untouched = new Set<number>()
  const lastIds: Record<Outcome, number | undefined> = { up: 0, down: 0 }
  for (const state of kept) {
    const lastId = lastIds[state.outcome]
    const id =
      lastId !== undefined && state.id !== undefined && state.id > lastId ? state.id : undefined
    lastIds[state.outcome] = id
    if (isImport && id === undefined) lastIds.down = undefined
    if (id === undefined || state.isChanged) made.push({ ...state, id })
    else untouched.add(id)
  }
  return { gone: held.filter(({ id }) => id === undefined || !untouched.has(id)), made }
}

function isSameContent(a: State, b: State): boolean {
  if (a.outcome !== b.outcome) return false
  const areProved = isProved(a) && isProved(b)
  if (a.sourceHash === b.sourceHash && areProved) return true
  const isAlike = a.sourceHash === b.sourceHash || areProved
  return isAlike && compareLevels(a.snapshot(), b.snapshot()) === 0
}

const compareStates = (a: State, b: State): number =>
  outcomeCodes[a.outcome] - outcomeCodes[b.outcome] ||
  a.sequence - b.sequence ||
  compareLevels(a.snapshot(), b.snapshot()) ||
  compareTexts(a.sourceHash ?? '', b.sourceHash ?? '') ||
  a.occurrence - b.occurrence

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b)
