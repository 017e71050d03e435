/**
 * Imports files of lines in batches. A batch is named by the hash of its bytes, so that batches
 * already in the history are not parsed again. A batch that begins at the time at which the
 * previous one ended includes the previous name in its own, because it may continue its states.
 */

import { ifSound } from '#src/domain/errors.ts'
import { isVerifiedMarket, type Source } from '#src/domain/market.ts'
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
  passOver,
  type PlacedRecord,
  refusalOf,
  refuse,
  watchLosses,
} from './import-run.ts'
import { LINES_OF_TEXT } from './kept-forms.ts'
import { isPlainText, type LineBatch, NEWLINE } from './line-source.ts'

/** Creates a function that imports the batches of each file in order. */
export function createLineImport(
  run: ImportRun,
): (file: string, batch: LineBatch) => Promise<void> {
  const { history, report, source } = run
  const scan = createBatchScanner(run)
  const check = createBookCheck(run)
  /**
   * Treats the hash of a simulated book as our own: the venue hashes none, whatever the id looks
   * like.
   */
  const toOwnHash = (row: ScannedSnapshot): ScannedSnapshot =>
    (row.source ?? source) === 'simulated' ? { ...row, sourceHash: undefined } : row
  /**
   * The previous batch: its name, the time of its last line, and its lines if they were skipped.
   */
  let before: { id: string; endsAt: string | undefined; skipped?: LineBatch } | undefined

  return async (file, batch) => {
    if (batch.firstLine === 1) {
      before = undefined
      check.begin()
    }
    const startsAt = readTimeText(batch.bytes, 'first')
    const isContinued = startsAt !== undefined && before?.endsAt === startsAt
    const id = batchIdOf(run, batch.bytes, isContinued ? before?.id : undefined)
    const endsAt = readTimeText(batch.bytes, 'last')
    report.batches++
    if (history.findBatch(id) !== undefined) {
      report.batchesSkipped++
      report.linesSkipped += batch.lineCount
      before = { id, endsAt, skipped: batch }
      return
    }
    const isWhole = watchLosses(run)
    // The book check needs the lines that were skipped before these.
    if (before?.skipped)
      check.check(scan(file, before.skipped, () => true).snapshots.map(toOwnHash))
    const {
      lines,
      records,
      snapshots: scanned,
    } = scan(file, batch, (line, reason) => {
      refuse(run, { file, line }, reason)
      return report.ending === 'complete'
    })
    before = { id, endsAt }
    // A batch of blank lines is not stored: there is nothing to skip next time.
    if (report.ending !== 'complete' || scanned.length + records.length === 0) return
    const snapshots = check.check(scanned.map(toOwnHash))
    countVerdicts(run, snapshots)
    const isPlain = records.length === 0
    // Only a batch that was stored completely is skipped next time: a refused line is reported
    // every time, and may be accepted then. The name of the rest contains the number of stored
    // snapshots.
    const batchId = isPlain && isWhole() ? id : `${id}:rest${snapshots.length}`
    const sources = scanned.map((each) => each.source ?? source)
    await appendBySource(run, file, batchId, lines, snapshots, sources)
    if (report.ending !== 'complete' || (isPlain && sources.includes(source))) return
    await keepRecords(run, id, records)
    // Stores only the name, once the whole batch is stored.
    if (isWhole()) await history.append({ id, source, snapshots: [] })
  }
}

const TIME_KEY = '"timestamp":'

/** The time of the first or last line of a batch, as written, if it has one. */
function readTimeText(bytes: Uint8Array, which: 'first' | 'last'): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = text.indexOf(NEWLINE)
  const start = text.lastIndexOf(NEWLINE, -2) + 1
  const line =
    which === 'first' ? text.subarray(0, end < 0 ? text.length : end) : text.subarray(start)
  const at = line.indexOf(TIME_KEY)
  if (at < 0) return undefined
  return /^\s*"?([^",}]*)/.exec(line.toString('latin1', at + TIME_KEY.length, at + 60))?.[1]
}

/**
 * Stores the snapshots of each source in a separate batch. `lines` are their line numbers, and
 * `sources` the sources named by the lines.
 */
export async function appendBySource(
  run: ImportRun,
  file: string,
  batchId: string,
  lines: readonly number[],
  snapshots: readonly Snapshot[],
  sources: readonly Source[],
): Promise<void> {
  const { history, report, isStrict } = run
  for (const source of new Set(sources)) {
    if (report.ending !== 'complete') return
    const name = source === run.source ? batchId : `${batchId}:${source}`
    const isOwn = (_: unknown, index: number): boolean => sources[index] === source
    const own = snapshots.filter(isOwn)
    const ownLines = lines.filter(isOwn)

    /**
     * Stores the snapshots `[from, to)`; if they are refused, each half separately, down to single
     * lines.
     */
    const append = async (from: number, to: number): Promise<void> => {
      const isWhole = to - from === own.length
      const id = isWhole ? name : `${name}:${from}-${to}`
      const part = isWhole ? own : own.slice(from, to)
      const refusal = await refusalOf(async () => {
        const { accepted } = report
        countRows(report, await history.append({ id, source, snapshots: part }), part.length)
        report.withoutGaps += report.accepted - accepted
      })
      if (refusal === undefined) return
      const place = { file, line: ownLines[from] ?? 0 }
      if (to - from === 1) refuse(run, place, refusal)
      else if (isStrict) {
        // Other lines would have to be stored to find the exact line.
        refuse(run, place, `this line or one of the ${to - from - 1} after it: ${refusal}`)
      } else {
        const middle = Math.ceil((from + to) / 2)
        await append(from, middle)
        await append(middle, to)
      }
    }
    await append(0, own.length)
  }
}

/**
 * Creates a function that parses the lines of a batch, and stops early if `onFault` returns false
 * for a bad line. It caches repeated texts and the kind of lines across batches.
 */
function createBatchScanner(run: ImportRun) {
  const { clock, isStrict } = run
  const scanner = createSnapshotScanner(foreignToSnapshots)
  /** True if a line is parsed as a snapshot before other records, for speed; no line is both. */
  let expectsSnapshot = true

  /** Parses a line; returns undefined if it contains no record. */
  function read(line: Uint8Array, reading: Reading): ScannedSnapshot | MarketRecord[] | undefined {
    if (expectsSnapshot) {
      try {
        return readSnapshot(line, reading)
      } catch (error) {
        if (!isRecordFault(error)) throw error
      }
    }
    const text = decodeUtf8(line) ?? ''
    const value = parseJson(text)
    if (!isRecord(value) && text !== '' && isPlainText(text)) return undefined
    const records = isRecord(value) ? readMarketRecords(value, reading) : undefined
    expectsSnapshot = records === undefined
    // If a line is not a JSON object, the scanner's fault is the clearest.
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
  ) => {
    const snapshots: ScannedSnapshot[] = []
    /** Line numbers of the snapshots. */
    const lines: number[] = []
    const records: PlacedRecord[] = []
    const reading = { nowMs: clock(), isStrict }
    let line = firstLine
    for (let start = 0, end: number; start < bytes.length; line++, start = end + 1) {
      const newline = bytes.indexOf(NEWLINE, start)
      end = newline < 0 ? bytes.length : newline
      if (skipSpace(bytes, start) >= end) continue
      try {
        const found = read(bytes.subarray(start, end), reading)
        if (found === undefined) passOver(run, LINES_OF_TEXT)
        else if (Array.isArray(found)) {
          for (const record of found) records.push({ place: { file, line }, record })
        } else {
          snapshots.push(found)
          lines.push(line)
        }
      } catch (error) {
        if (!isRecordFault(error)) throw error
        if (error.kind === 'not_kept') leaveOut(run, error.message)
        else if (!onFault(line, error.message)) break
      }
    }
    return { snapshots, lines, records }
  }
}

/** Maximum number of cached assets, more than are live at once; the oldest are evicted first. */
const ASSETS_MAX = 1024

/**
 * Checks each snapshot against the venue's hash, and numbers it among the states of its asset and
 * millisecond in the file. Consecutive lines of an asset with the same time are the states of that
 * time, in order; a line equal to the previous one is not a new state.
 */
export function createBookCheck({ history }: Pick<ImportRun, 'history'>) {
  const verifier = homeVenue.createBookVerifier()
  /** The states of each asset at its last time. */
  const runs = createCache<string, { snapshot: Snapshot; sequence: number; occurrence: number }[]>(
    ASSETS_MAX,
  )

  function findPlace(snapshot: Snapshot) {
    const { assetId, timestampMs } = snapshot
    const states = runs.get(assetId) ?? []
    if (states.length === 0) runs.set(assetId, states, { size: 1 })
    const last = states.at(-1)
    if (last?.snapshot.timestampMs !== timestampMs) states.length = 0
    else if (compareLevels(last.snapshot, snapshot) === 0) return last
    const before = states.filter((other) => compareLevels(other.snapshot, snapshot) === 0)
    const next = { snapshot, sequence: states.length, occurrence: before.length }
    states.push(next)
    return next
  }

  /** Looks up once per batch which markets have matching books, possibly from another import. */
  function createProof(): (conditionId: string) => boolean {
    const proved = new Map<string, boolean>()
    return (conditionId) => {
      const known = proved.get(conditionId)
      if (known !== undefined) return known
      const isProved = ifSound(() => isVerifiedMarket(history.findMarket(conditionId))) ?? false
      proved.set(conditionId, isProved)
      return isProved
    }
  }

  return {
    /** Begins a file, whose lines continue none of the previous file. */
    begin: () => runs.clear(),

    check(rows: readonly Snapshot[]): Snapshot[] {
      const isProved = createProof()
      const verify = (row: Snapshot) =>
        verifier.verify(row, { isProved: isProved(row.conditionId) })
      /** Markets with a matching book in this batch; their earlier books are judged again. */
      const found = new Set<string>()
      const judged = rows.map((row) => {
        const { sequence, occurrence } = findPlace(row)
        const isVerified = verify(row)
        if (isVerified === true) found.add(row.conditionId)
        if (isVerified === undefined && sequence === 0) return row
        return { ...row, isVerified, sequence, occurrence }
      })
      return judged.map((row) =>
        isUnknown(row) && found.has(row.conditionId) ? { ...row, isVerified: verify(row) } : row,
      )
    },
  }
}

const isUnknown = ({ sourceHash, isVerified }: Snapshot): boolean =>
  sourceHash !== undefined && isVerified === undefined

/** Counts the verdicts on imported books. */
export function countVerdicts({ report, touched, unknown }: ImportRun, rows: readonly Snapshot[]) {
  for (const row of rows) {
    const { conditionId } = row
    touched.add(conditionId)
    if (row.isVerified === false) report.hashes.mismatched++
    if (isUnknown(row)) unknown.set(conditionId, (unknown.get(conditionId) ?? 0) + 1)
  }
}
