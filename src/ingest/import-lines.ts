/**
 * Takes files of lines, batch after batch. A batch is named by the hash of its bytes, so that what
 * is in the history is not looked at line by line. One that begins at the time that the one before
 * ended at is named after that one too, because it may continue its states.
 */

import type { Source } from '#src/domain/market.ts'
import { isRecordFault, recordFault } from '#src/domain/record-fault.ts'
import { compareLevels, type Snapshot } from '#src/domain/snapshot.ts'
import { receiptFault, timeFault } from '#src/domain/time.ts'
import { skipSpace } from '#src/domain/wire/json-bytes.ts'
import { createSnapshotScanner, type ScannedSnapshot } from '#src/domain/wire/snapshot-json.ts'
import { createCache } from '#src/platform/cache.ts'
import { isRecord } from '#src/platform/record.ts'
import { decodeUtf8, parseJson, type Reading } from '#src/venue/json-fields.ts'
import { foreignToSnapshots, readMarketRecords } from '#src/venue/record-kinds.ts'
import type { MarketRecord } from '#src/venue/venue.ts'
import { homeVenue } from '#src/venue/venues.ts'

import {
  batchIdOf,
  countRows,
  type ImportRun,
  keepRecords,
  leaveOut,
  type PlacedRecord,
  refusalOf,
  refuse,
  watchLosses,
} from './import-run.ts'
import { type LineBatch, NEWLINE } from './line-source.ts'

/** The batch before: its name, the time of its last line, and its lines if they were skipped. */
type Before = { id: string; endsAt: string | undefined; skipped: LineBatch | undefined }

/** Returns a function that takes the batches of each file in their order. */
export function createLineImport(run: ImportRun): (file: string, batch: LineBatch) => void {
  const { history, report, source } = run
  const scan = createBatchScanner(run)
  const check = createBookCheck()
  let before: Before | undefined

  function nameOf({ bytes }: LineBatch): string {
    const startsAt = timeTextOf(bytes, 'first')
    const isContinued = startsAt !== undefined && before?.endsAt === startsAt
    return batchIdOf(run, bytes, isContinued ? before?.id : undefined)
  }

  /** Reads what is new, and before it what was skipped: the check of books has to see that too. */
  function read(file: string, batch: LineBatch): ScannedBatch {
    if (before?.skipped) check.check(scan(file, before.skipped, () => true).snapshots)
    return scan(file, batch, (line, reason) => {
      refuse(run, { file, line }, reason)
      return report.ending === 'complete'
    })
  }

  return (file, batch) => {
    if (batch.firstLine === 1) {
      before = undefined
      check.begin()
    }
    const id = nameOf(batch)
    const endsAt = timeTextOf(batch.bytes, 'last')
    report.batches++
    if (history.findBatch(id) !== undefined) {
      report.batchesSkipped++
      report.linesSkipped += batch.lineCount
      before = { id, endsAt, skipped: batch }
      return
    }
    const isWhole = watchLosses(run)
    const { lines, records, ...scanned } = read(file, batch)
    before = { id, endsAt, skipped: undefined }
    if (isIdle(report, scanned.snapshots, records)) return
    const snapshots = check.check(scanned.snapshots)
    countHashes(run, snapshots)
    const isPlain = records.length === 0
    // Only a batch that was kept whole is skipped the next time: what is refused is named each
    // time, and may be right by then. What else is kept has a name that says how much that was.
    const batchId = isPlain && isWhole() ? id : `${id}:rest${snapshots.length}`
    const sources = scanned.snapshots.map((scan) => scan.source ?? source)
    appendBySource(run, { file, batchId, lines, snapshots, sources })
    if (report.ending !== 'complete' || (isPlain && sources.includes(source))) return
    keepRecords(run, id, records)
    // With its name alone, once all of it is there.
    if (isWhole()) history.append({ id, source, snapshots: [] })
  }
}

/** Whether nothing is to be kept; of blank lines nothing could be skipped the next time. */
const isIdle = ({ ending }: ImportRun['report'], ...found: (readonly unknown[])[]): boolean =>
  ending !== 'complete' || found.flat().length === 0

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

function countHashes({ report, touched }: ImportRun, snapshots: readonly Snapshot[]): void {
  for (const { conditionId, isVerified } of snapshots) {
    touched.add(conditionId)
    if (isVerified === false) report.hashes.mismatched++
  }
}

/** The snapshots `[from, to)` of a batch; `lines[i]` is the number of the line of the i-th. */
type Part = {
  file: string
  source: Source
  batchId: string
  lines: readonly number[]
  snapshots: readonly Snapshot[]
  from: number
  to: number
}

type Sourced = Omit<Part, 'source' | 'from' | 'to'> & { sources: readonly Source[] }

/** Keeps the snapshots of each source that the lines name in a batch of its own. */
export function appendBySource(run: ImportRun, { sources, ...batch }: Sourced): void {
  for (const [source, places] of Map.groupBy(sources.keys(), (at) => sources[at] ?? 'recorded')) {
    if (run.report.ending !== 'complete') return
    const snapshots = places.flatMap((at) => batch.snapshots[at] ?? [])
    append(run, {
      ...{ file: batch.file, source, from: 0, to: places.length },
      batchId: source === run.source ? batch.batchId : `${batch.batchId}:${source}`,
      lines: places.map((at) => batch.lines[at] ?? 0),
      snapshots,
    })
  }
}

/** Keeps a part of a batch, or if that is refused, its halves, down to single lines. */
function append(run: ImportRun, part: Part): void {
  const { history, report, isStrict } = run
  const { file, source, lines, from, to } = part
  const isWhole = to - from === lines.length
  const id = isWhole ? part.batchId : `${part.batchId}:${from}-${to}`
  const snapshots = isWhole ? part.snapshots : part.snapshots.slice(from, to)
  const refusal = refusalOf(() => {
    const { accepted } = report
    countRows(report, history.append({ id, source, snapshots }), snapshots.length)
    report.withoutGaps += report.accepted - accepted
  })
  if (refusal === undefined) return
  const place = { file, line: lines[from] ?? 0 }
  if (to - from === 1) refuse(run, place, refusal)
  else if (isStrict) {
    // To find the very line, others would have to be kept.
    refuse(run, place, `this line or one of the ${to - from - 1} after it: ${refusal}`)
  } else {
    const middle = Math.ceil((from + to) / 2)
    append(run, { ...part, to: middle })
    append(run, { ...part, from: middle })
  }
}

type ScannedBatch = {
  file: string
  snapshots: ScannedSnapshot[]
  /** `lines[i]` is the number of the line of `snapshots[i]`. */
  lines: number[]
  records: PlacedRecord[]
}

/**
 * Creates a function that reads the lines of a batch, and ends early when `onFault` returns false
 * for a bad one. It remembers repeating texts, and what lines are, from batch to batch.
 */
function createBatchScanner(run: ImportRun) {
  const { clock, isStrict } = run
  const scanner = createSnapshotScanner(foreignToSnapshots)
  /** Whether a line is tried as a snapshot first: for speed alone, as no line is two things. */
  let expectsSnapshot = true

  function tryRead(line: Uint8Array, reading: Reading) {
    try {
      return read(line, reading)
    } catch (error) {
      if (isRecordFault(error)) return error
      throw error
    }
  }

  function read(line: Uint8Array, reading: Reading): ScannedSnapshot | MarketRecord[] {
    if (expectsSnapshot) {
      try {
        return readSnapshot(line, reading)
      } catch (error) {
        if (!isRecordFault(error)) throw error
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
    if (fault !== undefined) throw recordFault(`timestamp: ${fault}`)
    const receipt =
      receivedMs === undefined ? undefined : receiptFault(receivedMs, timestampMs, nowMs)
    if (receipt !== undefined) throw recordFault(`receivedAt or _recv: ${receipt}`)
    return snapshot
  }

  return (
    file: string,
    { bytes, firstLine }: LineBatch,
    onFault: (line: number, reason: string) => boolean,
  ): ScannedBatch => {
    const scanned: ScannedBatch = { file, snapshots: [], lines: [], records: [] }
    const reading = { nowMs: clock(), isStrict }
    let line = firstLine
    for (let start = 0; start < bytes.length; line++) {
      const newline = bytes.indexOf(NEWLINE, start)
      const end = newline < 0 ? bytes.length : newline
      const isBlank = skipSpace(bytes, start) >= end
      const found = isBlank ? [] : tryRead(bytes.subarray(start, end), reading)
      start = end + 1
      if (!isRecordFault(found)) add(scanned, line, found)
      else if (found.kind === 'not_kept') leaveOut(run, found.message)
      else if (!onFault(line, found.message)) break
    }
    return scanned
  }
}

function add(
  { file, snapshots, lines, records }: ScannedBatch,
  line: number,
  found: ScannedSnapshot | MarketRecord[],
): void {
  if (Array.isArray(found)) {
    for (const record of found) records.push({ place: { file, line }, record })
  } else {
    snapshots.push(found)
    lines.push(line)
  }
}

/** Assets remembered, more than are live at once; the oldest are forgotten first. */
const ASSETS_MAX = 1024

type Placed = { snapshot: Snapshot; sequence: number; occurrence: number }

/**
 * Says of each snapshot of a file what the file says of it: whether it agrees with the venue's
 * hash, and its place among the states of its asset and millisecond. Consecutive lines of one asset
 * with the same time are the states of that time, in their order; a line like the one before is no
 * state of its own.
 */
export function createBookCheck() {
  const verifier = homeVenue.createBookVerifier()
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
    /** A new file: no line continues one of the file before. */
    begin: () => runs.clear(),

    check: (rows: readonly Snapshot[]): Snapshot[] =>
      rows.map((row) => {
        const { sequence, occurrence } = place(row)
        const isVerified = verifier.verify(row)
        if (isVerified === undefined && sequence === 0) return row
        return { ...row, isVerified, sequence, occurrence }
      }),
  }
}

const isSameState = (a: Snapshot, b: Snapshot): boolean => compareLevels(a, b) === 0
