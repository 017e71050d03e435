import { RecordFault } from '#src/core/record-fault.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import { receiptFault, timeFault } from '#src/core/time.ts'
import { isRecord } from '#src/lib/record.ts'
import { decodeUtf8, parseJson, type Reading } from '#src/venue/json-fields.ts'
import { foreignToSnapshots, readMarketRecords } from '#src/venue/record-kinds.ts'
import type { MarketRecord } from '#src/venue/venue.ts'
import { skipSpace } from '#src/wire/json-bytes.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/wire/snapshot-json.ts'

import { createBookCheck } from './book-check.ts'
import { batchIdOf, type ImportRun, refusalOf, refuse, watchLosses } from './import-run.ts'
import type { LineBatch } from './line-batcher.ts'
import { keepRecords } from './record-keeper.ts'

/**
 * Takes files of lines, batch after batch. A batch is named by the hash of its bytes, so that an
 * import can be broken off anywhere and simply run again: what is in the history is not looked at
 * line by line. One that begins at the time that the one before ended at is named after that one
 * too, because it may continue its states.
 */
export function createLineImport(run: ImportRun): (file: string, batch: LineBatch) => void {
  const { history, report, source } = run
  const scan = createBatchScanner(run)
  const check = createBookCheck()
  let before: Before | undefined

  function nameOf({ bytes }: LineBatch): { id: string; endsAt: string | undefined } {
    const startsAt = timeTextOf(bytes, 'first')
    const isContinued = startsAt !== undefined && before?.endsAt === startsAt
    const id = batchIdOf(run, bytes, isContinued ? before?.id : undefined)
    return { id, endsAt: timeTextOf(bytes, 'last') }
  }

  /**
   * Reads what is new, and before it what was skipped, because the check of
   * the books has to see that too.
   */
  function read(file: string, batch: LineBatch) {
    if (before?.skipped !== undefined) check.check(scan(before.skipped, () => true).snapshots)
    return scan(batch, (line, reason) => {
      refuse(run, { file, line }, reason)
      return report.ending === 'complete'
    })
  }

  return (file, batch) => {
    if (batch.firstLine === 1) {
      before = undefined
      check.begin()
    }
    const { id, endsAt } = nameOf(batch)
    report.batches++
    if (history.findBatch(id) !== undefined) {
      report.batchesSkipped++
      report.linesSkipped += batch.lineCount
      before = { id, endsAt, skipped: batch }
      return
    }
    const isWhole = watchLosses(run)
    const scanned = read(file, batch)
    before = { id, endsAt, skipped: undefined }
    if (report.ending !== 'complete') return
    const snapshots = check.check(scanned.snapshots)
    countHashes(run, snapshots)
    const part = { file, lines: scanned.lines, snapshots, from: 0, to: snapshots.length }
    const isPlain = scanned.records.length === 0
    // Only a batch that was kept whole is skipped the next time: what is refused is named each
    // time, and may be right by then. What could be kept is kept under a name that says how much
    // that was.
    append(run, { ...part, batchId: isPlain && isWhole() ? id : `${id}:rest${snapshots.length}` })
    if (isPlain || report.ending !== 'complete') return
    const records = scanned.records.map(({ line, record }) => ({ place: { file, line }, record }))
    keepRecords(run, id, records)
    // With its name alone, once all of it is there.
    if (isWhole()) history.append({ id, source, snapshots: [] })
  }
}

/** The batch before: its name, the time of its last line, and its lines if they were skipped. */
type Before = {
  id: string
  endsAt: string | undefined
  skipped: LineBatch | undefined
}

const NEWLINE = 0x0a
const TIME_KEY = '"timestamp":'

/** The time of the first or last line of a batch as it is written there, if it has one. */
function timeTextOf(bytes: Uint8Array, which: 'first' | 'last'): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = text.indexOf(NEWLINE)
  const start = text.lastIndexOf(NEWLINE, -2) + 1
  const line =
    which === 'first' ? text.subarray(0, end < 0 ? text.length : end) : text.subarray(start)
  const at = line.indexOf(TIME_KEY)
  if (at < 0) return undefined
  return /^\s*"?([^",}]*)/.exec(line.toString('latin1', at + TIME_KEY.length, at + 60))?.[1]
}

/** Counts what hashes say of snapshots, and remembers the markets. */
function countHashes({ report, touched }: ImportRun, snapshots: readonly Snapshot[]): void {
  for (const { conditionId, isVerified } of snapshots) {
    touched.add(conditionId)
    if (isVerified === false) report.hashes.mismatched++
  }
}

/**
 * The snapshots `[from, to)` of a batch; `lines[i]` is the number of the line of `snapshots[i]`.
 */
type Part = {
  file: string
  batchId: string
  lines: readonly number[]
  snapshots: readonly Snapshot[]
  from: number
  to: number
}

/**
 * Keeps a part of a batch, or when the history finds a contradiction in it, its halves, down to the
 * single lines that contradict.
 */
function append(run: ImportRun, part: Part): void {
  const { file, lines, from, to } = part
  const refusal = refusalOf(() => appendSnapshots(run, part))
  if (refusal === undefined) return
  const place = { file, line: lines[from] ?? 0 }
  if (to - from === 1) refuse(run, place, refusal)
  else if (run.isStrict) {
    // To find the very line, others would have to be kept.
    refuse(run, place, `this line or one of the ${to - from - 1} after it: ${refusal}`)
  } else {
    const middle = Math.ceil((from + to) / 2)
    append(run, { ...part, to: middle })
    append(run, { ...part, from: middle })
  }
}

function appendSnapshots({ history, source, report }: ImportRun, part: Part): void {
  const { batchId, from, to } = part
  const isWhole = to - from === part.lines.length
  const id = isWhole ? batchId : `${batchId}:${from}-${to}`
  const snapshots = isWhole ? part.snapshots : part.snapshots.slice(from, to)
  const { kind, accepted, duplicates } = history.append({ id, source, snapshots })
  const isNew = kind === 'appended'
  report.accepted += isNew ? accepted : 0
  report.duplicates += isNew ? duplicates : snapshots.length
}

type ScannedBatch = {
  snapshots: ScannedSnapshot[]
  /** `lines[i]` is the number of the line of `snapshots[i]`. */
  lines: number[]
  /** What other lines say of markets. */
  records: { line: number; record: MarketRecord }[]
}

/**
 * Creates a function that reads every line of a batch that is not blank, and ends early when
 * `onFault` returns false for a bad one. It remembers repeating texts, and what lines are, from
 * batch to batch.
 */
function createBatchScanner({ clock, isStrict }: ImportRun) {
  const scanner = createSnapshotScanner(foreignToSnapshots)
  /**
   * Whether a line is tried as a snapshot first; for speed alone, because no line
   * is one and something else too.
   */
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
    const records = isRecord(value) ? readMarketRecords(value, reading) : undefined
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
