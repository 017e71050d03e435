import { SnapshotFault } from '#src/core/snapshot-fault.ts'
import { type Clock, receiptFault, timeFault } from '#src/core/time.ts'
import { skipSpace } from '#src/wire/json-bytes.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/wire/snapshot-json.ts'

import { isObject, parseJson, type Reading } from './json-fields.ts'
import type { LineBatch } from './line-batcher.ts'
import { type MarketRecord, readMarketRecords } from './market-record.ts'
import { RecordFault } from './record-fault.ts'
import { foreignToSnapshots } from './record-kinds.ts'

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

const isFault = (error: unknown): error is SnapshotFault | RecordFault =>
  error instanceof SnapshotFault || error instanceof RecordFault

type ScannerOptions = { clock: Clock; isStrict: boolean }

/** Creates a scanner; it remembers repeating texts, and what lines are, from batch to batch. */
export function createBatchScanner({ clock, isStrict }: ScannerOptions): BatchScanner {
  const scanner = createSnapshotScanner(foreignToSnapshots)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  /** Whether a line is tried as a snapshot first; for speed alone, because no line is one and something else too. */
  let expectsSnapshot = true

  /** Throws a fault. */
  function read(line: Uint8Array, reading: Reading): ScannedSnapshot | MarketRecord[] {
    if (expectsSnapshot) {
      const found = attempt(() => readSnapshot(line, reading))
      if (!isFault(found)) return found
    }
    const value = parseJson(decode(line))
    const records = isObject(value) ? readMarketRecords(value, reading) : undefined
    expectsSnapshot = records === undefined
    // What is no JSON object at all is put into words by the scanner.
    return records ?? readSnapshot(line, reading)
  }

  function readSnapshot(line: Uint8Array, { nowMs }: Reading): ScannedSnapshot {
    const snapshot = scanner.scan(line, 0, line.length)
    const { timestampMs, receivedMs } = snapshot
    const fault = timeFault(timestampMs, nowMs)
    if (fault !== undefined) throw new SnapshotFault(`timestamp: ${fault}`)
    if (receivedMs === undefined) return snapshot
    const receipt = receiptFault(receivedMs, timestampMs, nowMs)
    if (receipt !== undefined) throw new SnapshotFault(`receivedAt or _recv: ${receipt}`)
    return snapshot
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
      const reading = { nowMs: clock(), isStrict }
      let line = firstLine
      for (let start = 0; start < bytes.length; line++) {
        const end = findLineEnd(bytes, start)
        const bytesOfLine = bytes.subarray(start, end)
        const found = isBlank(bytes, start, end) ? [] : attempt(() => read(bytesOfLine, reading))
        start = end + 1
        if (!isFault(found)) add(scanned, line, found)
        else if (!onFault(line, found.message)) break
      }
      return scanned
    },
  }
}

/** Returns the fault instead of throwing it. */
function attempt<T>(read: () => T): T | SnapshotFault | RecordFault {
  try {
    return read()
  } catch (error) {
    if (isFault(error)) return error
    throw error
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
