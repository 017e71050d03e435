/**
 * The compact columns of a chunk that answer for best bid and ask: per row the price and size of
 * each best level as differences from the row of the same outcome before it. An empty side is 0 and
 * 0.
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

/** Numbers that a row takes among decoded tops, in the order of `TopOfBook`. */
export const TOP_FIELDS = 4

/**
 * Decodes the tops of rows whose outcomes are known from the chunk: `TOP_FIELDS` numbers a row.
 * Throws on bytes of another run.
 */
export function decodeTops(bytes: Uint8Array, outcomes: readonly number[]): Float64Array {
  const reader = new VarintReader(bytes)
  const tops = new Float64Array(outcomes.length * TOP_FIELDS)
  /** Where the last row of each outcome begins; -1 before its first. */
  const before = [-1, -1]
  for (let row = 0; row < outcomes.length; row++) {
    const outcome = outcomes[row] ?? 0
    const from = before[outcome] ?? -1
    const at = row * TOP_FIELDS
    for (let i = 0; i < TOP_FIELDS; i++)
      tops[at + i] = (from < 0 ? 0 : (tops[from + i] ?? 0)) + reader.next()
    before[outcome] = at
  }
  if (!reader.isAtEnd) throw new Error('More tops than rows.')
  return tops
}
