import { RecordFault } from '#src/core/record-fault.ts'
import { type Clock, receiptFault, timeFault } from '#src/core/time.ts'
import { decodeUtf8, isObject, parseJson, type Reading } from '#src/venue/json-fields.ts'
import { foreignToSnapshots, readMarketRecords } from '#src/venue/record-kinds.ts'
import type { MarketRecord } from '#src/venue/venue.ts'
import { skipSpace } from '#src/wire/json-bytes.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/wire/snapshot-json.ts'

import type { LineBatch } from './line-batcher.ts'

export type ScannedBatch = {
  snapshots: ScannedSnapshot[]
  /** `lines[i]` is the number of the line of `snapshots[i]`. */
  lines: number[]
  /** What other lines say of markets. */
  records: { line: number; record: MarketRecord }[]
}

const NEWLINE = 0x0a

type ScannerOptions = { clock: Clock; isStrict: boolean }

/**
 * Creates a function that reads every line of a batch that is not blank, and ends early when `onFault` returns false
 * for a bad one. It remembers repeating texts, and what lines are, from batch to batch.
 */
export function createBatchScanner({ clock, isStrict }: ScannerOptions) {
  const scanner = createSnapshotScanner(foreignToSnapshots)
  /** Whether a line is tried as a snapshot first; for speed alone, because no line is one and something else too. */
  let expectsSnapshot = true

  /** Throws `RecordFault`. */
  function read(line: Uint8Array, reading: Reading): ScannedSnapshot | MarketRecord[] {
    if (expectsSnapshot) {
      try {
        return readSnapshot(line, reading)
      } catch (error) {
        if (!(error instanceof RecordFault)) throw error
      }
    }
    const value = parseJson(decodeUtf8(line) ?? '')
    const records = isObject(value) ? readMarketRecords(value, reading) : undefined
    expectsSnapshot = records === undefined
    // What is no JSON object at all is put into words by the scanner.
    return records ?? readSnapshot(line, reading)
  }

  function readSnapshot(line: Uint8Array, { nowMs }: Reading): ScannedSnapshot {
    const snapshot = scanner.scan(line, 0, line.length)
    const { timestampMs, receivedMs } = snapshot
    const fault = timeFault(timestampMs, nowMs)
    if (fault !== undefined) throw new RecordFault(`timestamp: ${fault}`)
    const receipt =
      receivedMs === undefined ? undefined : receiptFault(receivedMs, timestampMs, nowMs)
    if (receipt !== undefined) throw new RecordFault(`receivedAt or _recv: ${receipt}`)
    return snapshot
  }

  /** Returns the fault instead of throwing it. */
  function tryRead(line: Uint8Array, reading: Reading): ReturnType<typeof read> | RecordFault {
    try {
      return read(line, reading)
    } catch (error) {
      if (error instanceof RecordFault) return error
      throw error
    }
  }

  return (
    { bytes, firstLine }: Pick<LineBatch, 'bytes' | 'firstLine'>,
    onFault: (line: number, reason: string) => boolean,
  ): ScannedBatch => {
    const scanned: ScannedBatch = { snapshots: [], lines: [], records: [] }
    const reading = { nowMs: clock(), isStrict }
    let line = firstLine
    for (let start = 0; start < bytes.length; line++) {
      const newline = bytes.indexOf(NEWLINE, start)
      const end = newline < 0 ? bytes.length : newline
      const isBlank = skipSpace(bytes, start) >= end
      const found = isBlank ? [] : tryRead(bytes.subarray(start, end), reading)
      start = end + 1
      if (!(found instanceof RecordFault)) add(scanned, line, found)
      else if (!onFault(line, found.message)) break
    }
    return scanned
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
