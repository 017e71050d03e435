/**
 * Reads parts of the objects of an archive, which never change. A server fetches many parts without
 * blocking its thread, and joins parts that are close together into one request. Any other process
 * blocks while a separate thread fetches whole blocks for it, because most reads continue where the
 * last one ended.
 */

import { storageError } from '#src/database/database.ts'
import type { ObjectCounts, ObjectReader, Part } from '#src/database/stores.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { parseBucketPlace } from '#src/platform/bucket-place.ts'
import { createCache } from '#src/platform/cache.ts'
import { createCircuitBreaker } from '#src/platform/circuit-breaker.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { createObjectStore, type ObjectStore } from '#src/platform/object-store.ts'
import { type BlockingThread, defineWorker, type Parent } from '#src/platform/worker.ts'

const BLOCK_BYTES = 128 * 1024
/** Bytes of cached blocks for the next reads. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024
/** The maximum number of concurrent requests. */
const REQUESTS_MAX = 16
const REQUEST_BYTES_MAX = 4 * 1024 * 1024
/** Parts further apart than this are separate requests. */
const BETWEEN_BYTES_MAX = 16 * 1024
const ANSWER_MS_MAX = 30_000
/** The pause after a failure, in which no request is sent. */
const PAUSE_MS = 1000
/** The retries of a request. */
const retries = { tries: 2, waitMs: 100, limitMs: 2000 }

type Range = Pick<Part, 'name' | 'at' | 'length'>
type Found = (Uint8Array | undefined)[]

export function openArchive(place: string): ObjectStore {
  const bucket = parseBucketPlace(place)
  if (bucket === undefined) throw storageError(`${place} is not the location of an archive.`)
  return createObjectStore(bucket, { reads: retries })
}

/** `place` is `s3://bucket/prefix`. */
export function createRangeReader(place: string): ObjectReader {
  const store = openArchive(place)
  const breaker = createCircuitBreaker(PAUSE_MS)
  const acquire = createSemaphore(REQUESTS_MAX)
  const counts: ObjectCounts = { answered: 0, failed: 0, ms: 0, bytes: 0 }
  const blocks = createBlocks(place)

  function note(begunMs: number, bytes: number | undefined): void {
    if (bytes === undefined) counts.failed++
    else counts.answered++
    counts.ms += performance.now() - begunMs
    counts.bytes += bytes ?? 0
  }

  /** Undefined if the object is missing. Rejects with an `object_unreachable` fault. */
  async function readRange({ name, at, length }: Range): Promise<Uint8Array | undefined> {
    const release = await acquire()
    const begunMs = performance.now()
    try {
      const bytes = await store.read(name, at, length)
      note(begunMs, bytes.length)
      return bytes
    } catch (error) {
      const isMissing = isFault(error, 'object_missing')
      note(begunMs, isMissing ? 0 : undefined)
      if (isMissing) return undefined
      throw error
    } finally {
      release()
    }
  }

  async function fetchRange(range: Range, wanted: readonly Wanted[], found: Found): Promise<void> {
    const bytes = await readRange(range)
    // Copies, so that the bytes between the parts can be freed.
    for (const { index, part } of wanted)
      found[index] = bytes?.slice(part.at - range.at, part.at - range.at + part.length)
  }

  return {
    async fetch(parts) {
      if (!breaker.begin()) throw unreachable()
      const begunMs = performance.now()
      const found: Found = parts.map(() => undefined)
      const fetching = rangesOf(parts).map(({ range, wanted }) => fetchRange(range, wanted, found))
      const results = await Promise.allSettled(fetching)
      const failed = results.find(({ status }) => status === 'rejected')
      breaker.end(failed === undefined, begunMs)
      if (failed?.status !== 'rejected') return found
      throw isFault(failed.reason, 'object_unreachable') ? unreachable() : failed.reason
    },

    read(part) {
      const end = part.at + part.length
      const bytes = new Uint8Array(part.length)
      for (let at = part.at - (part.at % BLOCK_BYTES); at < end; at += BLOCK_BYTES) {
        const from = Math.max(at, part.at)
        bytes.set(blocks.read(part, at).subarray(from - at, end - at), from - part.at)
      }
      return bytes
    },

    counts: () => counts,

    close: blocks.close,
  }
}

type Wanted = { index: number; part: Part }

/** Joins parts of an object that are close together into one range. */
function rangesOf(parts: readonly Part[]) {
  const wanted = parts
    .map((part, index): Wanted => ({ index, part }))
    .sort(
      (a, b) =>
        Number(a.part.name > b.part.name) - Number(a.part.name < b.part.name) ||
        a.part.at - b.part.at,
    )
  const ranges: { range: Range; wanted: Wanted[] }[] = []
  for (const each of wanted) {
    const { name, at, length } = each.part
    const last = ranges.at(-1)
    const end = last === undefined ? 0 : last.range.at + last.range.length
    const isNear =
      last?.range.name === name &&
      at - end <= BETWEEN_BYTES_MAX &&
      at + length - last.range.at <= REQUEST_BYTES_MAX
    if (last === undefined || !isNear) {
      ranges.push({ range: { name, at, length }, wanted: [each] })
      continue
    }
    last.range.length = Math.max(end, at + length) - last.range.at
    last.wanted.push(each)
  }
  return ranges
}

/** Resolves with a release function once fewer than `max` are held. */
function createSemaphore(max: number) {
  const waiting: (() => void)[] = []
  let taken = 0
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) taken--
    else next()
  }
  return async (): Promise<() => void> => {
    if (taken < max) taken++
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    return release
  }
}

/** Caches blocks of objects, each read by a thread while the caller blocks. */
function createBlocks(place: string) {
  const kept = createCache<string, Uint8Array>(KEPT_BYTES_MAX)
  let thread: BlockingThread<Part> | undefined

  function fetch(block: Part): Uint8Array {
    thread ??= archiveWorker.startBlocking(place)
    let found: Found | undefined
    try {
      found = thread.ask<Found>(block, ANSWER_MS_MAX)
    } catch (cause) {
      throw unreachable(cause)
    }
    if (found === undefined) throw unreachable()
    const [bytes] = found
    if (bytes === undefined)
      throw new Fault(`${block.name} is not in the archive.`, { kind: 'damage' })
    return bytes
  }

  return {
    /** The block of an object that begins at `at`. */
    read({ name, size }: Part, at: number): Uint8Array {
      const key = `${name} ${at}`
      const known = kept.get(key)
      if (known !== undefined) return known
      const bytes = fetch({ name, size, at, length: Math.min(BLOCK_BYTES, size - at) })
      kept.set(key, bytes, { size: bytes.length })
      return bytes
    },

    close: (): void => thread?.close(),
  }
}

const unreachable = (cause?: unknown) =>
  storageError('The archive of older books does not answer. Try again in a moment.', {
    retryAfterSeconds: SOON_SECONDS,
    cause,
  })

const archiveWorker = defineWorker(
  { name: 'archive', purpose: 'reads the archive', file: import.meta.filename },
  (place: string, parent: Parent<never, Part>) => {
    const reader = createRangeReader(place)
    return parent.receive((block) => reader.fetch([block]))
  },
)
