/**
 * Finds snapshots that are stored already, or twice in one batch: the same asset at the same time
 * with the same source hash, or with the same levels.
 */
import type { Market } from '#src/core/market.ts'
import type { Ladder, Snapshot } from '#src/core/snapshot.ts'

import type { ChunkTable } from './chunk-table.ts'
import { type Chunk, outcomeCodes } from './codec/chunk.ts'
import { readHash } from './codec/hashes.ts'
import type { SnapshotReader } from './snapshot-reader.ts'
import type { TailTable } from './tail-table.ts'

type Tables = { chunks: ChunkTable; tails: TailTable; reader: SnapshotReader }

/** A snapshot at hand, and its levels only when they are asked for. */
type Known = { sourceHash: string | undefined; levels: () => Pick<Snapshot, 'bids' | 'asks'> }
type KnownByMoment = Map<number, Known[]>
/** Both inclusive. */
type Span = { fromMs: number; toMs: number }

/** Returns the function that says for each of a market's snapshots, in order of time, whether it is a duplicate. */
export function createDuplicates({ chunks, tails, reader }: Tables) {
  function addStored(
    known: KnownByMoment,
    chunk: Chunk,
    hashOf: (row: number) => string | undefined,
  ): void {
    for (let row = 0; row < chunk.count; row++) {
      const sameMoment = known.get(toMoment(chunk.timeMs(row), chunk.outcome(row)))
      const sourceHash = hashOf(row)
      sameMoment?.push({ sourceHash, levels: () => reader.readRow(chunk, row, sourceHash) })
    }
  }

  /** Fills in what is stored at the moments of `known`, all of which lie from `fromMs` to `toMs`. */
  function addAllStored(known: KnownByMoment, market: Market, { fromMs, toMs }: Span): void {
    for (const ref of chunks.listRefs(market.id)) {
      if (ref.lastMs < fromMs || ref.firstMs > toMs) continue
      const hashes = chunks.loadHashes(ref)
      addStored(known, chunks.load(ref), (row) => readHash(hashes, row))
    }
    const tail = tails.read(market.id)
    if (tail !== undefined) addStored(known, tail.chunk, (row) => tail.hashes[row])
  }

  return (market: Market, snapshots: readonly Snapshot[]): boolean[] => {
    const known: KnownByMoment = new Map()
    for (const snapshot of snapshots) known.set(momentOf(snapshot), [])
    const fromMs = snapshots[0]?.timestampMs ?? 0
    const toMs = snapshots.at(-1)?.timestampMs ?? 0
    if (fromMs <= (market.lastSnapshotMs ?? -1)) addAllStored(known, market, { fromMs, toMs })
    return snapshots.map((snapshot) => {
      const sameMoment = known.get(momentOf(snapshot)) ?? []
      if (sameMoment.some((other) => isSame(snapshot, other))) return true
      sameMoment.push({ sourceHash: snapshot.sourceHash, levels: () => snapshot })
      return false
    })
  }
}

const toMoment = (timestampMs: number, outcome: number): number => timestampMs * 2 + outcome

const momentOf = ({ timestampMs, outcome }: Snapshot): number =>
  toMoment(timestampMs, outcomeCodes[outcome])

function isSame(snapshot: Snapshot, known: Known): boolean {
  if (snapshot.sourceHash !== undefined && snapshot.sourceHash === known.sourceHash) return true
  const { bids, asks } = known.levels()
  return isSameLadder(snapshot.bids, bids) && isSameLadder(snapshot.asks, asks)
}

const isSameLadder = (a: Ladder, b: Ladder): boolean =>
  isSameColumn(a.prices, b.prices) && isSameColumn(a.sizes, b.sizes)

const isSameColumn = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, at) => value === b[at])
