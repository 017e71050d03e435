/**
 * Imports JSON documents: objects that span several lines, and arrays, whose elements are entries.
 */

import { setImmediate } from 'node:timers/promises'

import { recordFault } from '#src/domain/record-fault.ts'
import {
  byteAt,
  byteOf,
  MALFORMED,
  skipSpace,
  skipValue,
  startsWith,
} from '#src/domain/wire/json-bytes.ts'
import { Fault } from '#src/platform/fault.ts'
import { isRecord } from '#src/platform/record.ts'
import { decodeUtf8, parseJson, type Reading } from '#src/venue/json-fields.ts'
import { readMarketRecords } from '#src/venue/record-kinds.ts'
import type { MarketRecord } from '#src/venue/venue.ts'

import {
  attempt,
  batchIdOf,
  type ImportRun,
  keepRecords,
  type PlacedRecord,
  watchLosses,
} from './import-run.ts'
import { byteOrderMark, type TextFile } from './line-source.ts'

/** Documents are read into memory; 64 MiB hold twenty thousand markets. */
const DOCUMENT_BYTES_MAX = 67_108_864
/** Entries between two checks of the signal. */
const SLICE_ENTRIES = 500

/** Imports a document; throws a `source` fault if it is unreadable or too long. */
export async function importDocument(run: ImportRun, file: TextFile): Promise<void> {
  const { history, report, signal, source, isStrict } = run
  const { path } = file
  const bytes = await readWhole(file)
  const id = batchIdOf(run, bytes)
  if (history.findBatch(id) !== undefined) {
    report.documentsSkipped++
    return
  }
  const isWhole = watchLosses(run)
  const records: PlacedRecord[] = []
  const reading = { nowMs: run.clock(), isStrict }
  for (const { entry, text } of splitEntries(bytes)) {
    report.entries++
    const place = { file: path, entry }
    await attempt(run, place, () => {
      for (const record of readEntry(text, reading)) records.push({ place, record })
    })
    if (report.ending !== 'complete') return
  }
  for (let from = 0; from < records.length; from += SLICE_ENTRIES) {
    signal.throwIfAborted()
    // The batch name includes the number of records: a refused record may be accepted next time.
    await keepRecords(
      run,
      `${id}:${from}/${records.length}`,
      records.slice(from, from + SLICE_ENTRIES),
    )
    if (report.ending !== 'complete') return
    run.onProgress({ file: path, bytesRead: file.progress.bytesRead, lines: report.lines })
    await setImmediate()
  }
  if (isWhole()) await history.append({ id, source, snapshots: [] })
}

/**
 * Yields the entries of a document, numbered from 1. An entry without text is malformed and the
 * last.
 */
export async function* readEntries(file: TextFile) {
  yield* splitEntries(await readWhole(file))
}

async function readWhole({ chunks }: TextFile): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > DOCUMENT_BYTES_MAX) {
      throw new Fault(
        `a JSON document of more than ${DOCUMENT_BYTES_MAX} bytes; write it as one object a line, or as several files`,
        { kind: 'source' },
      )
    }
    parts.push(chunk.slice())
  }
  return Buffer.concat(parts)
}

function readEntry(text: string | undefined, reading: Reading): MarketRecord[] {
  if (text === undefined) throw recordFault('not valid JSON in UTF-8; nothing after it was read')
  const value = parseJson(text)
  if (!isRecord(value)) throw recordFault('not a JSON object')
  const records = readMarketRecords(value, reading)
  if (records === undefined) throw recordFault('a snapshot; these are read one a line')
  return records
}

function* splitEntries(document: Uint8Array) {
  // `skipValue` requires a zero byte after the values.
  const bytes = new Uint8Array(document.length + 1)
  bytes.set(document)
  let entry = 0
  for (const { start, end } of findValues(bytes)) {
    const text = end === MALFORMED ? undefined : decodeUtf8(bytes.subarray(start, end))
    yield { entry: ++entry, text }
    if (text === undefined) return
  }
}

/** Yields where each value begins, and where it ends or `MALFORMED`. */
function* findValues(bytes: Uint8Array): Generator<{ start: number; end: number }> {
  let at = skipSpace(bytes, startsWith(bytes, 0, byteOrderMark) ? byteOrderMark.length : 0)
  while (at < bytes.length - 1) {
    const start = at
    if (byteAt(bytes, start) === byteOf.openBracket) at = yield* findElements(bytes, start)
    else at = skipValue(bytes, start)
    if (at === MALFORMED || byteAt(bytes, start) !== byteOf.openBracket) yield { start, end: at }
    if (at === MALFORMED) return
    at = skipSpace(bytes, at)
  }
}

/** Yields the elements of an array, and returns where it ends or `MALFORMED`. */
function* findElements(
  bytes: Uint8Array,
  start: number,
): Generator<{ start: number; end: number }, number> {
  let at = skipSpace(bytes, start + 1)
  if (byteAt(bytes, at) === byteOf.closeBracket) return at + 1
  for (;;) {
    const end = skipValue(bytes, at)
    if (end === MALFORMED) return MALFORMED
    yield { start: at, end }
    at = skipSpace(bytes, end)
    if (byteAt(bytes, at) === byteOf.closeBracket) return at + 1
    if (byteAt(bytes, at) !== byteOf.comma) return MALFORMED
    at = skipSpace(bytes, at + 1)
  }
}
