import { skipSpace } from '#src/core/json-bytes.ts'
import { SnapshotFault } from '#src/core/snapshot-fault.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/core/snapshot-json.ts'

import { parseJson } from './json-fields.ts'
import type { LineBatch } from './line-batcher.ts'
import { type MarketRecord, readMarketRecords } from './market-record.ts'
import { RecordFault } from './record-fault.ts'

export type ScannedBatch = {
  snapshots: ScannedSnapshot[]
  /** `lines[i]` is the number of the line of `snapshots[i]`. */
  lines: number[]
  /** What other lines say of markets. */
  records: { line: number; record: MarketRecord }[]
}

export type BatchScanner = {
  /** Reads every line that is not blank. Ends early when `onFault` returns false for a bad one. */
  scan(batch: LineBatch, onFault: (line: number, reason: string) => boolean): ScannedBatch
}

const NEWLINE = 0x0a

type Fault = SnapshotFault | RecordFault
const isFault = (found: unknown): found is Fault =>
  found instanceof SnapshotFault || found instanceof RecordFault

/** Creates a scanner; it remembers repeating texts, and what lines are, from batch to batch. */
export function createBatchScanner(): BatchScanner {
  const scanner = createSnapshotScanner()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  /** What is tried first: lines are mostly of the kind of the one before. */
  let expected: 'snapshot' | 'records' = 'snapshot'

  /** A line is what it can be read as; what it cannot be read as at all is a bad snapshot. */
  function read(line: Uint8Array): ScannedSnapshot | MarketRecord[] | Fault {
    if (expected === 'snapshot') {
      const snapshot = tryScan(line)
      if (!isFault(snapshot)) return snapshot
      const records = tryRecords(line)
      if (records === undefined) return snapshot
      expected = 'records'
      return records
    }
    const records = tryRecords(line)
    if (records !== undefined) return records
    expected = 'snapshot'
    return tryScan(line)
  }

  function tryScan(line: Uint8Array): ScannedSnapshot | SnapshotFault {
    try {
      return scanner.scan(line, 0, line.length)
    } catch (error) {
      if (error instanceof SnapshotFault) return error
      throw error
    }
  }

  /** Returns undefined for a line that is not meant to be records. */
  function tryRecords(line: Uint8Array): MarketRecord[] | RecordFault | undefined {
    try {
      return readMarketRecords(parseJson(decode(line)))
    } catch (error) {
      if (error instanceof RecordFault) return error
      throw error
    }
  }

  function decode(line: Uint8Array): string {
    try {
      return decoder.decode(line)
    } catch {
      return ''
    }
  }

  return {
    scan({ bytes, firstLine }, onFault) {
      const scanned: ScannedBatch = { snapshots: [], lines: [], records: [] }
      let line = firstLine
      for (let start = 0; start < bytes.length; line++) {
        const end = findLineEnd(bytes, start)
        const found = isBlank(bytes, start, end) ? [] : read(bytes.subarray(start, end))
        start = end + 1
        if (!isFault(found)) add(scanned, line, found)
        else if (!onFault(line, found.message)) break
      }
      return scanned
    },
  }
}

function add(
  { snapshots, lines, records }: ScannedBatch,
  line: number,
  found: ScannedSnapshot | MarketRecord[],
): void {
  if (Array.isArray(found)) {
    for (const record of found) records.push({ line, record })
  } else {
    snapshots.push(found)
    lines.push(line)
  }
}

const isBlank = (bytes: Uint8Array, start: number, end: number): boolean =>
  skipSpace(bytes, start) >= end

function findLineEnd(bytes: Uint8Array, start: number): number {
  const newline = bytes.indexOf(NEWLINE, start)
  return newline === -1 ? bytes.length : newline
}
