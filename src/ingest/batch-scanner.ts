import { skipSpace } from '#src/core/json-bytes.ts'
import { SnapshotFault } from '#src/core/snapshot-fault.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/core/snapshot-json.ts'

import type { LineBatch } from './line-batcher.ts'

/** The snapshots of a batch; `lines[i]` is the number of the line of `snapshots[i]`. */
export type ScannedBatch = { snapshots: ScannedSnapshot[]; lines: number[] }

export type BatchScanner = {
  /** Reads every line that is not blank. Ends early when `onFault` returns false for a bad one. */
  scan(batch: LineBatch, onFault: (line: number, reason: string) => boolean): ScannedBatch
}

const NEWLINE = 0x0a

/** Creates a scanner; it remembers repeating texts from batch to batch. */
export function createBatchScanner(): BatchScanner {
  const scanner = createSnapshotScanner()

  return {
    scan({ bytes, firstLine }, onFault) {
      const scanned: ScannedBatch = { snapshots: [], lines: [] }
      let line = firstLine
      for (let start = 0; start < bytes.length; line++) {
        const end = findLineEnd(bytes, start)
        const snapshot = isBlank(bytes, start, end) ? undefined : tryScan(bytes, start, end)
        start = end + 1
        if (snapshot instanceof SnapshotFault) {
          if (!onFault(line, snapshot.message)) break
        } else if (snapshot !== undefined) {
          scanned.snapshots.push(snapshot)
          scanned.lines.push(line)
        }
      }
      return scanned
    },
  }

  function tryScan(bytes: Uint8Array, start: number, end: number): ScannedSnapshot | SnapshotFault {
    try {
      return scanner.scan(bytes, start, end)
    } catch (error) {
      if (error instanceof SnapshotFault) return error
      throw error
    }
  }
}

const isBlank = (bytes: Uint8Array, start: number, end: number): boolean =>
  skipSpace(bytes, start) >= end

function findLineEnd(bytes: Uint8Array, start: number): number {
  const newline = bytes.indexOf(NEWLINE, start)
  return newline === -1 ? bytes.length : newline
}
