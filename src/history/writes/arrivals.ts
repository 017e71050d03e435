/** Finds what is held at the moments of a batch and settles what becomes of each. */
import { type Market, outcomes } from '#src/core/market.ts'
import type { Beside, Position, Snapshot } from '#src/core/snapshot.ts'

import type { Chunk } from '../codec/chunk.ts'
import type { Tables } from '../tables/tables.ts'
import { settleMoment, type State } from './moments.ts'

/** A snapshot of a batch and its place there. */
export type Arrival = { snapshot: Snapshot; index: number }
/** A row that is to be taken out. */
export type GoneRow = Position & Pick<Snapshot, 'outcome' | 'isVerified'>
/** A row to put in: under its id, or under one that nothing has. */
export type MadeRow = { snapshot: Snapshot; index: number; id: number | undefined }
/** What a batch changes of a market, `made` by time and in order within a millisecond. */
export type MarketChange = { gone: GoneRow[]; made: MadeRow[]; accepted: number }

type HeldByMoment = Map<number, State[]>

/** Returns the function that settles arrivals of a market, which come in order of time. */
export function createArrivals({ chunks, tails, snapshots }: Tables) {
  function addHeld(
    held: HeldByMoment,
    chunk: Chunk,
    besideOf: (row: number, timestampMs: number) => Beside,
  ): void {
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

  /** The states held at the times of arrivals. */
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
    for (let from = 0; from < arrivals.length;) {
      const timestampMs = arrivals[from]?.snapshot.timestampMs ?? 0
      let to = from + 1
      while (arrivals[to]?.snapshot.timestampMs === timestampMs) to++
      const states = held.get(timestampMs) ?? []
      settle(change, { timestampMs, states }, arrivals.slice(from, to))
      from = to
    }
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

const stateOf = (
  row: Beside & Pick<Snapshot, 'outcome' | 'occurrence'>,
): Omit<State, 'snapshot'> => ({
  outcome: row.outcome,
  sourceHash: row.sourceHash,
  isVerified: row.isVerified,
  sequence: row.sequence ?? 0,
  occurrence: row.occurrence ?? 0,
  receivedMs: row.receivedMs,
  id: undefined,
  index: HELD,
  isChanged: false,
})

const toState = ({ snapshot, index }: Arrival): State => ({
  ...stateOf(snapshot),
  index,
  snapshot: () => snapshot,
})

/** The place in the batch of what is not in it. */
const HELD = -1

function once<T>(read: () => T): () => T {
  let value: T | undefined
  return () => (value ??= read())
}
