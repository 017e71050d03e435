import { createBookVerifier } from '#src/core/book-hash.ts'
import type { Gap } from '#src/core/coverage.ts'
import type { Snapshot } from '#src/core/snapshot.ts'

import type { ImportReport } from './import-report.ts'

/** A gap, and whose. */
export type HashGap = { conditionId: string; assetId: string; gap: Gap }

export type BookCheck = {
  /**
   * Returns the snapshots with what the venue's hash says of each, and the gaps that they close: a book that
   * contradicts its hash, between books of the same asset that do not, was not known from its own moment until
   * the next of these. The last books of an asset are remembered from call to call.
   */
  check<Row extends Snapshot>(rows: readonly Row[]): { snapshots: Row[]; gaps: HashGap[] }
}

/** Assets remembered, more than are live at once; the longest unused are forgotten first. */
const ASSETS_MAX = 1024

/** What was seen of an asset, in Unix milliseconds: its last verified book, and the first bad one since. */
type Seen = { verifiedMs: number; badMs?: number | undefined }

/** Creates a check that counts into a report; best fed in order of time. */
export function createBookCheck(): BookCheck {
  const verifier = createBookVerifier()
  const assets = new Map<string, Seen>()

  /** Returns the gap that a book closes. */
  function see({ assetId, outcome, timestampMs }: Snapshot, isVerified: boolean): Gap | undefined {
    const seen = assets.get(assetId)
    if (!isVerified) {
      if (seen !== undefined && seen.badMs === undefined && timestampMs >= seen.verifiedMs) {
        assets.set(assetId, { ...seen, badMs: timestampMs })
      }
      return undefined
    }
    if (seen?.badMs !== undefined && timestampMs < seen.badMs) return undefined
    keep(assetId, { verifiedMs: Math.max(timestampMs, seen?.verifiedMs ?? 0) })
    if (seen?.badMs === undefined || seen.badMs === timestampMs) return undefined
    return { outcome, fromMs: seen.badMs, toMs: timestampMs, reason: 'hash_mismatch' }
  }

  function keep(assetId: string, seen: Seen): void {
    assets.delete(assetId)
    assets.set(assetId, seen)
    if (assets.size <= ASSETS_MAX) return
    for (const oldest of assets.keys()) {
      assets.delete(oldest)
      return
    }
  }

  return {
    check(rows) {
      const gaps: HashGap[] = []
      const snapshots = rows.map((row) => {
        const isVerified = verifier.verify(row)
        if (isVerified === undefined) return row
        const gap = see(row, isVerified)
        const { conditionId, assetId } = row
        if (gap !== undefined) gaps.push({ conditionId, assetId, gap })
        return { ...row, isVerified }
      })
      return { snapshots, gaps }
    },
  }
}

/** Counts what hashes say of snapshots. */
export function countHashes({ hashes }: ImportReport, snapshots: readonly Snapshot[]): void {
  for (const { sourceHash, isVerified } of snapshots) {
    if (sourceHash === undefined) continue
    if (isVerified === undefined) hashes.unchecked++
    else if (isVerified) hashes.verified++
    else hashes.mismatched++
  }
}
