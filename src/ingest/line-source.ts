import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

import { codeOf } from '#src/lib/message.ts'

import {
  createLineBatcher,
  type LineBatch,
  type LineBatchLimits,
  type LongLine,
} from './line-batcher.ts'

/** The name of standard input. */
export const STDIN = '-'

/** Large enough to make few trips through the event loop, small enough not to matter. */
const READ_BYTES = 262_144
const GUNZIP_BYTES = 1_048_576

/** Enough of a text to show what it holds. */
export const HEAD_BYTES = 4096

const gzipMagic = [0x1f, 0x8b] as const

/** How far a file was read, in bytes as they are on disk. */
export type ReadProgress = {
  bytesRead: number
  /** Undefined for a pipe. */
  bytesTotal: number | undefined
}

/** A file, or standard input, opened as text: decompressed if need be. */
export type TextFile = {
  path: string
  /** How far it was read; changes as it is. */
  progress: ReadProgress
  /**
   * The first `HEAD_BYTES` of the text or more, unless it is shorter or could not be read so far.
   */
  head: Uint8Array
  /**
   * The whole text, once; throws `SourceFault` after what was readable,
   * and `AbortError` on the signal.
   */
  chunks: AsyncGenerator<Uint8Array>
  /** Closes the file before the text was read to its end. */
  close(): Promise<unknown>
}

export type LineSourceItem = (LineBatch | LongLine) & ReadProgress

/** A file that cannot be read, or not to its end. `message` is a reason without the file's name. */
export class SourceFault extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'SourceFault'
  }
}

/**
 * Opens a file, or standard input for `-`; gzip is recognised by its
 * first bytes. Throws `SourceFault`.
 */
export async function openText(path: string, signal: AbortSignal): Promise<TextFile> {
  const progress: ReadProgress = { bytesRead: 0, bytesTotal: await findSize(path) }
  const text = withReasons(readText(path, progress, signal), signal)
  const close = () => text.return(undefined)
  return { path, progress, ...(await peek(text, HEAD_BYTES)), close }
}

/**
 * Reads batches of whole lines, in constant memory. Throws `SourceFault` after the
 * last whole line that was readable.
 */
export async function* batchLines(
  { chunks, progress }: TextFile,
  limits: LineBatchLimits,
): AsyncGenerator<LineSourceItem> {
  const batcher = createLineBatcher(limits)
  let fault: SourceFault | undefined
  try {
    for await (const chunk of chunks) {
      for (const item of batcher.push(chunk)) yield { ...item, ...progress }
    }
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error
    fault = error
  }
  for (const item of batcher.finish(fault === undefined)) yield { ...item, ...progress }
  if (fault !== undefined) throw fault
}

/**
 * Reads the beginning of a text, of some bytes or more unless all of it is shorter,
 * without taking it out of `chunks`.
 */
async function peek(text: AsyncGenerator<Uint8Array>, bytes: number) {
  const beginning: Uint8Array[] = []
  let failure: { error: unknown } | undefined
  try {
    for (let length = 0; length < bytes;) {
      const { done, value } = await text.next()
      if (done) break
      // The stream may use its memory again for the next chunk.
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
      // It holds the file open until nobody wants more.
      await text.return(undefined)
    }
  }
  return { head, chunks: whole() }
}

/** Puts failures that a user can cause into words. */
async function* withReasons(
  text: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* text
  } catch (error) {
    signal.throwIfAborted()
    throw toSourceFault(error)
  }
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

/** Yields the text of a file, decompressed if need be. */
async function* readText(
  path: string,
  progress: ReadProgress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const file =
    path === STDIN ? process.stdin : createReadStream(path, { highWaterMark: READ_BYTES })
  addAbortSignal(signal, file)
  const { head, chunks } = await peek(countBytes(file, progress), gzipMagic.length)
  yield* gzipMagic.every((byte, index) => head[index] === byte) ? gunzip(chunks) : chunks
}

async function* countBytes(
  chunks: AsyncIterable<Uint8Array>,
  progress: ReadProgress,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    progress.bytesRead += chunk.length
    yield chunk
  }
}

/** Decompresses all members; the work is done in the runtime's thread pool. */
function gunzip(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const gunzipStream = createGunzip({ chunkSize: GUNZIP_BYTES })
  // A failure of either end reaches the reader of the stream, so the callback has nothing to do.
  pipeline(Readable.from(chunks), gunzipStream, () => {})
  return gunzipStream
}

/** What the system and zlib call the failures that a user can cause, in words. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'no permission to read it',
  EISDIR: 'a folder, not a file',
  Z_BUF_ERROR: 'the gzip data ends too early; the lines before that were read',
  Z_DATA_ERROR: 'the gzip data is damaged; the lines before that were read',
}

/** Why a file cannot be read, where that is the user's to mend. */
export const readFaultOf = (error: unknown): string | undefined => reasons[codeOf(error)]

/** Throws on whatever is not the user's to mend. */
function toSourceFault(error: unknown): SourceFault {
  const reason = readFaultOf(error)
  if (reason === undefined) throw error
  return new SourceFault(reason, { cause: error })
}
