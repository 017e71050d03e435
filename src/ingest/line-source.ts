/** Reads files as text, decompressed if needed, and splits them into batches of complete lines. */

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

import { startsWith } from '#src/domain/wire/json-bytes.ts'
import { LINE_BYTES_MAX } from '#src/domain/wire/snapshot-json.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { codeOf } from '#src/platform/message.ts'

export const STDIN = '-'

/** Large enough to need few turns of the event loop, small enough for memory. */
const READ_BYTES = 262_144
const GUNZIP_BYTES = 1_048_576
/** Enough text to detect its kind. */
const HEAD_BYTES = 4096

export const NEWLINE = 0x0a
const gzipMagic = Uint8Array.of(0x1f, 0x8b)
export const byteOrderMark = Uint8Array.of(0xef, 0xbb, 0xbf)

export type TextFile = {
  path: string
  /**
   * Progress in bytes on disk, updated while the file is read. `bytesTotal` is undefined for a
   * pipe.
   */
  progress: { bytesRead: number; bytesTotal: number | undefined }
  /** The first 4,096 bytes or more, unless the text is shorter or unreadable from there. */
  head: Uint8Array
  /**
   * The text, readable once; throws a `source` fault after the readable part, `AbortError` when
   * stopped.
   */
  chunks: AsyncGenerator<Uint8Array>
  /** Closes the file before the end of the text. */
  close(): Promise<unknown>
}

/**
 * Opens a file, or standard input for `-`; gzip is detected from the content. Throws a `source`
 * fault.
 */
export async function openText(path: string, signal: AbortSignal): Promise<TextFile> {
  const progress = { bytesRead: 0, bytesTotal: await findSize(path) }
  const text = readText(path, progress, signal)
  const close = () => text.return(undefined)
  return { path, progress, ...(await peek(text, HEAD_BYTES)), close }
}

async function findSize(path: string): Promise<number | undefined> {
  if (path === STDIN) return undefined
  try {
    const entry = await stat(path)
    return entry.isFile() ? entry.size : undefined
  } catch (error) {
    throw toSourceFault(error)
  }
}

async function* readText(path: string, progress: TextFile['progress'], signal: AbortSignal) {
  try {
    const file =
      path === STDIN ? process.stdin : createReadStream(path, { highWaterMark: READ_BYTES })
    addAbortSignal(signal, file)
    const { head, chunks } = await peek(countBytes(file, progress), gzipMagic.length)
    yield* startsWith(head, 0, gzipMagic) ? gunzip(chunks) : chunks
  } catch (error) {
    signal.throwIfAborted()
    throw toSourceFault(error)
  }
}

async function* countBytes(chunks: AsyncIterable<Uint8Array>, progress: TextFile['progress']) {
  for await (const chunk of chunks) {
    progress.bytesRead += chunk.length
    yield chunk
  }
}

/** Decompresses all members in the thread pool of the runtime. */
function gunzip(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const gunzipStream = createGunzip({ chunkSize: GUNZIP_BYTES })
  // A failure on either side reaches the reader of the stream, so the callback has nothing to do.
  pipeline(Readable.from(chunks), gunzipStream, () => {})
  return gunzipStream
}

/** Reads the first `bytes` or more of a text without removing them from `chunks`. */
async function peek(text: AsyncGenerator<Uint8Array>, bytes: number) {
  const beginning: Uint8Array[] = []
  let failure: { error: unknown } | undefined
  try {
    for (let length = 0; length < bytes;) {
      const { done, value } = await text.next()
      if (done) break
      // The stream may reuse its memory for the next chunk.
      beginning.push(value.slice())
      length += value.length
    }
  } catch (error) {
    failure = { error }
  }
  const head = Buffer.concat(beginning)

  async function* whole(): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > 0) yield head
      if (failure !== undefined) throw failure.error
      yield* text
    } finally {
      // The text keeps the file open until it is ended.
      await text.return(undefined)
    }
  }
  return { head, chunks: whole() }
}

/** Failures that a user can cause, by the error codes of the system and zlib. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'no permission to read it',
  EISDIR: 'a folder, not a file',
  Z_BUF_ERROR: 'the gzip data ends too early; the lines before that were read',
  Z_DATA_ERROR: 'the gzip data is damaged; the lines before that were read',
}

/** Explains why a file cannot be read; undefined if the user cannot fix it. */
export const readFaultOf = (error: unknown): string | undefined => reasons[codeOf(error)]

/** Converts errors that the user can fix; rethrows the others. */
function toSourceFault(error: unknown): Fault {
  const reason = readFaultOf(error)
  if (reason === undefined) throw error
  return new Fault(reason, { kind: 'source', cause: error })
}

/** The beginning of an object, an array of values, or a JSON string. */
const jsonStart = /^\s*(?:\{|"|\[\s*(?:[[{"]|$))/
/** The remainder of JSON without its beginning: the end of a member, or an unmatched bracket. */
const jsonRest = /"\s*[:,\]}]|^[^[{]*[\]}]|^\s*[,:]/

/**
 * True for a line without any part of a record: a ping, a number, `null`, a comment, a log message.
 * False for a truncated line of JSON.
 */
export function isPlainText(line: string): boolean {
  const text = line.trim()
  if (text.startsWith('#')) return true
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'string') return !jsonStart.test(value)
    return typeof value !== 'object' || value === null
  } catch {
    return !jsonStart.test(text) && !jsonRest.test(text)
  }
}

/** Complete lines in the order of the file; only the last line of a file may lack its newline. */
export type LineBatch = {
  kind: 'lines'
  bytes: Uint8Array
  /** Number of the first line; a file begins with line 1. */
  firstLine: number
  lineCount: number
}

/** A line that was skipped because it exceeds `LINE_BYTES_MAX`. */
type LongLine = { kind: 'long_line'; line: number }

/** Reads in constant memory. Throws a `source` fault after the last complete readable line. */
export async function* batchLines(
  { chunks, progress }: TextFile,
  limits: Parameters<typeof createLineBatcher>[0],
) {
  const batcher = createLineBatcher(limits)
  let fault: Fault | undefined
  try {
    for await (const chunk of chunks) {
      for (const item of batcher.push(chunk)) yield { ...item, ...progress }
    }
  } catch (error) {
    if (!isFault(error, 'source')) throw error
    fault = error
  }
  for (const item of batcher.finish(fault === undefined)) yield { ...item, ...progress }
  if (fault !== undefined) throw fault
}

/**
 * Splits the bytes of a file into batches of complete lines, at most `linesMax` lines and
 * `bytesMax` bytes unless a single line has more. Batch boundaries depend only on the content,
 * never on the chunks, because a batch is identified by the hash of its bytes. Memory is limited to
 * one batch and one longest line.
 */
export function createLineBatcher({ linesMax, bytesMax }: { linesMax: number; bytesMax: number }) {
  const block = new Uint8Array(bytesMax + LINE_BYTES_MAX + 1)
  let filled = 0
  /** End of the last complete line in the block. */
  let wholeEnd = 0
  let lineCount = 0
  let firstLine = 1
  let isSkipping = false

  function* emit(): Generator<LineBatch> {
    if (lineCount === 0) return
    const bytes = block.slice(0, wholeEnd)
    block.copyWithin(0, wholeEnd, filled)
    filled -= wholeEnd
    wholeEnd = 0
    yield { kind: 'lines', bytes, firstLine, lineCount }
    firstLine += lineCount
    lineCount = 0
  }

  function* add(piece: Uint8Array): Generator<LineBatch> {
    if (!isSkipping && filled - wholeEnd + piece.length > LINE_BYTES_MAX) {
      yield* emit()
      filled = 0
      isSkipping = true
    }
    if (isSkipping) return
    block.set(piece, filled)
    filled += piece.length
  }

  function* endLine(hasNewline: boolean): Generator<LineBatch | LongLine> {
    if (isSkipping) {
      isSkipping = false
      yield { kind: 'long_line', line: firstLine++ }
      return
    }
    if (hasNewline) block[filled++] = NEWLINE
    if (firstLine + lineCount === 1) dropByteOrderMark()
    if (filled > bytesMax) yield* emit()
    wholeEnd = filled
    lineCount++
    if (lineCount >= linesMax || wholeEnd >= bytesMax) yield* emit()
  }

  function dropByteOrderMark(): void {
    if (!startsWith(block.subarray(0, filled), 0, byteOrderMark)) return
    block.copyWithin(0, byteOrderMark.length, filled)
    filled -= byteOrderMark.length
  }

  return {
    /** Takes the next bytes, which are copied, and yields the completed batches. */
    *push(chunk: Uint8Array): Generator<LineBatch | LongLine> {
      let from = 0
      while (from < chunk.length) {
        const newline = chunk.indexOf(NEWLINE, from)
        const to = newline === -1 ? chunk.length : newline
        yield* add(chunk.subarray(from, to))
        if (newline !== -1) yield* endLine(true)
        from = to + 1
      }
    },

    /** Yields the remaining complete lines and, at the real end of a file, the unterminated one. */
    *finish(isWhole: boolean): Generator<LineBatch | LongLine> {
      if (isWhole && (isSkipping || filled > wholeEnd)) yield* endLine(false)
      yield* emit()
    },
  }
}
