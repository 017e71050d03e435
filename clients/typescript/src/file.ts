/**
 * Exports into files, for Node, Bun and Deno.
 * @module
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

import type { components } from './api.ts'
import type { Bookfeed } from './client.ts'
import { BookfeedError } from './errors.ts'
import { backoffMs, sleep } from './request.ts'

type Query<N> = Parameters<Bookfeed<N>['export']>[0]
export type Saved = {
  exportId: string
  bytes: number
  snapshots: number
  /** SHA-256 of the file, equal to that of the bytes sent. */
  sha256: string
}
/** A file of a day, as `GET /v1/{coin}/files` lists it. */
export type DayFile = components['schemas']['DayFile']
export type DaysQuery = {
  coin: string
  kind: DayFile['kind']
  /** First day, such as `2026-04-01`; by default the first one that is listed. */
  from?: string | undefined
  /** The day after the last one. */
  to?: string | undefined
  /** By default all. */
  timeframe?: DayFile['timeframe'] | undefined
  /** `double` by default. */
  numbers?: DayFile['numbers'] | undefined
  /** Downloads at a time; 4 by default. */
  connections?: number | undefined
  /** Called with the bytes of all files that are here, and of all files. */
  onProgress?: ((bytes: number, total: number) => void) | undefined
  signal?: AbortSignal | undefined
}

const ATTEMPTS = 4

/**
 * Downloads an export into a file, which appears only when it is complete and its SHA-256 equals
 * that of the bytes sent. An incomplete or different (`digest_mismatch`) download is repeated, up
 * to four times.
 */
export const saveExport = <N>(
  bookfeed: Bookfeed<N>,
  query: Query<N>,
  path: string,
): Promise<Saved> =>
  appear(path, query.signal, async (part) => {
    const { exportId, body } = await bookfeed.export(query)
    const sha256 = await write(part, body, () => undefined)
    const sent = await bookfeed.findExport(exportId)
    if (sent?.sha256 !== sha256) throw different(path)
    return { exportId, sha256, bytes: sent.bytes, snapshots: sent.snapshots }
  })

/**
 * Downloads the latest files of a range of days into a folder, several at a time, the oldest day
 * first. A file appears only when it is complete and has the SHA-256 of the list; a file that is in
 * the folder already, with this SHA-256, is not requested. If a download fails, no other begins, and
 * the error is thrown.
 */
export async function saveDays<N>(
  bookfeed: Bookfeed<N>,
  query: DaysQuery,
  folder: string,
): Promise<(DayFile & { path: string })[]> {
  const { coin, kind, from = '', to = '9999', timeframe, numbers = 'double' } = query
  const { connections = 4, onProgress = () => undefined, signal } = query
  const asked = { coin, kind, numbers, signal, ...(timeframe && { timeframe }) }
  const files: (DayFile & { path: string })[] = []
  for await (const each of bookfeed.files(asked)) {
    const file = each as DayFile
    if (file.isLatest && file.day >= from && file.day < to)
      files.push({ ...file, path: join(folder, file.name) })
  }
  files.sort((a, b) => (`${a.day} ${a.name}` < `${b.day} ${b.name}` ? -1 : 1))
  await mkdir(folder, { recursive: true })

  const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const received = new Map<string, number>()
  const note = (name: string, bytes: number) => {
    received.set(name, bytes)
    onProgress(
      [...received.values()].reduce((sum, each) => sum + each, 0),
      total,
    )
  }
  const save = async ({ name, path, bytes, sha256 }: (typeof files)[number]) => {
    if ((await digestOf(path)) === sha256) return note(name, bytes)
    await appear(path, signal, async (part) => {
      const body = await bookfeed.file({ coin, id: name, signal })
      if ((await write(part, body, (count) => note(name, count))) !== sha256) throw different(path)
    })
  }

  const rest = files.values()
  let failure: unknown
  const saveNext = async () => {
    for (const file of rest) {
      if (failure !== undefined) return
      await save(file).catch((error: unknown) => {
        failure ??= error
      })
    }
  }
  await Promise.all(Array.from({ length: connections }, saveNext))
  if (failure !== undefined) throw failure
  return files
}

/** Makes a file with `download`, which writes `….part`; repeats it until the file is whole. */
async function appear<T>(
  path: string,
  signal: AbortSignal | undefined,
  download: (part: string) => Promise<T>,
): Promise<T> {
  const part = `${path}.part`
  for (let failures = 0; ;) {
    try {
      const saved = await download(part)
      await rename(part, path)
      return saved
    } catch (error) {
      await rm(part, { force: true })
      signal?.throwIfAborted()
      const isKnown = error instanceof BookfeedError && error.code !== 'digest_mismatch'
      // A disk error, which waiting does not fix.
      const isOfDisk = error instanceof Error && 'syscall' in error && 'path' in error
      if (isKnown || isOfDisk || ++failures >= ATTEMPTS) throw error
      await sleep(backoffMs(failures), signal)
    }
  }
}

/** Writes a body to a file; returns its SHA-256. */
async function write(
  path: string,
  body: ReadableStream<Uint8Array>,
  onBytes: (count: number) => void,
): Promise<string> {
  const digest = createHash('sha256')
  const file = await open(path, 'w')
  let count = 0
  try {
    const reader = body.getReader()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      digest.update(next.value)
      await file.write(next.value)
      count += next.value.byteLength
      onBytes(count)
    }
  } finally {
    await file.close()
  }
  return digest.digest('hex')
}

/** Undefined if the file does not exist or cannot be read. */
async function digestOf(path: string): Promise<string | undefined> {
  const digest = createHash('sha256')
  try {
    for await (const piece of createReadStream(path)) digest.update(piece as Uint8Array)
  } catch {
    return undefined
  }
  return digest.digest('hex')
}

const different = (path: string) =>
  new BookfeedError('digest_mismatch', `${path} differs from what the server sent.`)
