import { compareLevels, type Snapshot } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'
import { venues } from '#src/venue/venues.ts'

/**
 * Says of each snapshot of a file what the file says of it: whether it agrees with the venue's
 * hash, and its place among the states of its asset and millisecond. Consecutive lines of one asset
 * with the same time are the states of that time, in their order; a line like the one before is no
 * state of its own.
 */
export type BookCheck = {
  /** A new file: no line continues one of the file before. */
  begin(): void
  /** Takes the lines of a file in their order, part after part. */
  check<Row extends Snapshot>(rows: readonly Row[]): Row[]
}

/** Assets remembered, more than are live at once; the oldest are forgotten first. */
const ASSETS_MAX = 1024

type Placed = { snapshot: Snapshot; sequence: number; occurrence: number }

export function createBookCheck(): BookCheck {
  const verifier = venues.polymarket.createBookVerifier()
  /** The states of each asset at its last time. */
  const runs = createCache<string, Placed[]>(ASSETS_MAX)

  function place(snapshot: Snapshot): Placed {
    const { assetId, timestampMs } = snapshot
    const run = runs.get(assetId) ?? []
    if (run.length === 0) runs.set(assetId, run, { size: 1 })
    const last = run.at(-1)
    if (last?.snapshot.timestampMs !== timestampMs) run.length = 0
    else if (isSameState(last.snapshot, snapshot)) return last
    const before = run.filter((other) => isSameState(other.snapshot, snapshot))
    const next = { snapshot, sequence: run.length, occurrence: before.length }
    run.push(next)
    return next
  }

  return {
    begin: () => runs.clear(),

    check: (rows) =>
      rows.map((row) => {
        const { sequence, occurrence } = place(row)
        const isVerified = verifier.verify(row)
        if (isVerified === undefined && sequence === 0) return row
        return { ...row, isVerified, sequence, occurrence }
      }),
  }
}

const isSameState = (a: Snapshot, b: Snapshot): boolean =>
  a.sourceHash === b.sourceHash && compareLevels(a, b) === 0
