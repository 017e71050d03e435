/**
 * The compact columns of a chunk that answer for best bid and ask: per row the price and size of
 * each best level as differences from the row of the same outcome before it. An empty side is 0 and 0.
 */
import type { Ladder, Snapshot } from '#src/core/snapshot.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/lib/varint.ts'

/** Best bid price and size, best ask price and size, in millionths. */
export type TopOfBook = readonly [
  bidPrice: number,
  bidSize: number,
  askPrice: number,
  askSize: number,
]

const EMPTY: TopOfBook = [0, 0, 0, 0]

export const topOf = ({ bids, asks }: { bids: Ladder; asks: Ladder }): TopOfBook => [
  bids.prices[0] ?? 0,
  bids.sizes[0] ?? 0,
  asks.prices[0] ?? 0,
  asks.sizes[0] ?? 0,
]

/** Encodes the tops of a chunk's rows in order. */
export function encodeTops(snapshots: readonly Snapshot[]): Uint8Array {
  const bytes = new Uint8Array(snapshots.length * 4 * VARINT_BYTES_MAX)
  const last = { up: EMPTY, down: EMPTY }
  let at = 0
  for (const snapshot of snapshots) {
    const top = topOf(snapshot)
    const before = last[snapshot.outcome]
    for (let i = 0; i < 4; i++) at = putVarint(bytes, at, (top[i] ?? 0) - (before[i] ?? 0))
    last[snapshot.outcome] = top
  }
  return bytes.slice(0, at)
}

/** Decodes the tops of rows whose outcomes are known from the chunk. Throws on bytes of another run. */
export function decodeTops(bytes: Uint8Array, outcomes: readonly number[]): TopOfBook[] {
  const reader = new VarintReader(bytes)
  const last = [EMPTY, EMPTY]
  const tops = outcomes.map((outcome) => {
    const before = last[outcome] ?? EMPTY
    const step = (i: number): number => (before[i] ?? 0) + reader.next()
    const top: TopOfBook = [step(0), step(1), step(2), step(3)]
    last[outcome] = top
    return top
  })
  if (!reader.isAtEnd) throw new Error('More tops than rows.')
  return tops
}
