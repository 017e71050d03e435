/**
 * Finds the verified snapshots of a file that follow each other without a pause: a gap that a
 * recorder noted and that has such snapshots goes, whichever was imported first.
 */
import { silenceMs } from '#src/domain/coverage.ts'
import type { Source } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { VerifiedRun } from '#src/history/history.ts'

type GrowingRun = VerifiedRun & { timesMs: number[] }

/** Takes the snapshots of a file, batch after batch. */
export function createVerifiedRuns() {
  /** Of each outcome, the time of its last snapshot, if that is verified. */
  const last = new Map<string, number>()

  return {
    /** A new file: nothing is known of the time since the one before. */
    begin: () => last.clear(),

    /** A run of a batch begins with the last snapshot of the batch before, if it goes on. */
    take(source: Source, snapshots: readonly Snapshot[]): VerifiedRun[] {
      const runs: VerifiedRun[] = []
      const open = new Map<string, GrowingRun>()
      for (const { conditionId, outcome, timeframe, timestampMs, isVerified } of snapshots) {
        const key = `${source} ${conditionId} ${outcome}`
        const beforeMs = last.get(key) ?? Number.NaN
        if (isVerified !== true) {
          last.delete(key)
          open.delete(key)
          continue
        }
        last.set(key, timestampMs)
        const pauseMs = timestampMs - beforeMs
        if (pauseMs === 0) continue
        const isContinued = pauseMs > 0 && pauseMs <= silenceMs(timeframe)
        const run = isContinued ? open.get(key) : undefined
        if (run !== undefined) {
          run.timesMs.push(timestampMs)
          continue
        }
        const timesMs = isContinued ? [beforeMs, timestampMs] : [timestampMs]
        const begun: GrowingRun = { conditionId, outcome, timesMs }
        open.set(key, begun)
        runs.push(begun)
      }
      return runs
    },
  }
}
