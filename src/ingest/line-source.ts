import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

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

const gzipMagic = [0x1f, 0x8b] as const

/** How far a file was read, in bytes as they are on disk. */
export type ReadProgress = {
  bytesRead: number
  /** Undefined for a pipe. */
  bytesTotal: number | undefined
}

export type LineSourceItem = (LineBatch | LongLine) & ReadProgress

export type LineSourceOptions = LineBatchLimits & {
  /** Ends reading at once with an `AbortError`. */
  signal: AbortSignal
}

/** A file that cannot be read, or not to its end. `message` is a reason without the file's name. */
export class SourceFault extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'SourceFault'
  }
}

/**
 * Reads a file, or standard input for `-`, as batches of whole lines in constant memory; gzip is
 * recognised by its first bytes. Throws `SourceFault` after the last whole line that was readable.
 */
export async function* readLineBatches(
  path: string,
  { signal, ...limits }: LineSourceOptions,
): AsyncGenerator<LineSourceItem> {
  const batcher = createLineBatcher(limits)
  const progress: ReadProgress = { bytesRead: 0, bytesTotal: await findSize(path) }
  let fault: SourceFault | undefined
  try {
    for await (const chunk of openText(path, progress, signal)) {
      for (const item of batcher.push(chunk)) yield { ...item, ...progress }
    }
  } catch (error) {
    signal.throwIfAborted()
    fault = toSourceFault(error)
  }
  for (const item of batcher.finish(fault === undefined)) yield { ...item, ...progress }
  if (fault !== undefined) throw fault
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
async function* openText(
  path: string,
  progress: ReadProgress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const file =
    path === STDIN ? process.stdin : createReadStream(path, { highWaterMark: READ_BYTES })
  addAbortSignal(signal, file)
  const chunks = withLongHead(countBytes(file, progress))
  const head = await chunks.next()
  if (head.done) return
  const whole = prepend(head.value, chunks)
  if (gzipMagic.every((byte, index) => head.value[index] === byte)) yield* gunzip(whole)
  else yield* whole
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

/** Joins chunks until the first is long enough to show what kind of file it is. */
async function* withLongHead(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array(0)
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield chunk
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < gzipMagic.length) continue
    yield head
    head = undefined
  }
  if (head !== undefined && head.length > 0) yield head
}

async function* prepend(
  head: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield head
  yield* rest
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

/** Throws on whatever is not the user's to mend. */
function toSourceFault(error: unknown): SourceFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = reasons[code]
  if (reason === undefined) throw error
  return new SourceFault(reason, { cause: error })
}
