import { compareLevels, type Snapshot } from '#src/core/snapshot.ts'
import { venues } from '#src/venue/venues.ts'

/**
 * Says of each snapshot of a file what the file says of it: whether it agrees with the venue's hash, and its place
 * among the states of its asset and millisecond. Consecutive lines of one asset with the same time are
 * the states of that time, in their order; a line like the one before is no state of its own.
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
  const runs = new Map<string, Placed[]>()

  function place(snapshot: Snapshot): Placed {
    const { assetId, timestampMs } = snapshot
    const run = runs.get(assetId)
    const last = run?.at(-1)
    if (run === undefined || last?.snapshot.timestampMs !== timestampMs) {
      const first = { snapshot, sequence: 0, occurrence: 0 }
      keep(assetId, [first])
      return first
    }
    if (isSameState(last.snapshot, snapshot)) return last
    const before = run.filter((other) => isSameState(other.snapshot, snapshot))
    const next = { snapshot, sequence: run.length, occurrence: before.length }
    run.push(next)
    return next
  }

  function keep(assetId: string, run: Placed[]): void {
    runs.set(assetId, run)
    if (runs.size <= ASSETS_MAX) return
    for (const oldest of runs.keys()) {
      runs.delete(oldest)
      return
    }
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
