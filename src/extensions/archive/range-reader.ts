/**
 * Reads parts of the objects of an archive, which never change. A server fetches many parts without
 * blocking its thread, and gets parts that are close together with one request. Any other process
 * blocks until a part is there, and reads whole blocks, because most reads continue where the last
 * one ended.
 */

import { storageError } from '#src/database/database.ts'
import type { ChunkBlob, ObjectCounts, ObjectReader, Part } from '#src/database/stores.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { parseBucketPlace } from '#src/platform/bucket-place.ts'
import { createCache } from '#src/platform/cache.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { createObjectStore, type ObjectStore } from '#src/platform/object-store.ts'
import { createTrials } from '#src/platform/patience.ts'
import { type BlockingThread, defineWorker, type Parent } from '#src/platform/worker.ts'

const BLOCK_BYTES = 128 * 1024
/** Blocks that are kept for the next reads. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024
/** Requests that run at the same time. */
const REQUESTS_MAX = 16
const REQUEST_BYTES_MAX = 4 * 1024 * 1024
/** Parts that are further apart are not part of one request. */
const BETWEEN_BYTES_MAX = 16 * 1024
const ANSWER_MS_MAX = 30_000
/** After a failure, no request is sent for this time. */
const PAUSE_MS = 1000
/** Of one request. */
const patience = { tries: 2, waitMs: 100, limitMs: 2000 }

type Range = Pick<Part, 'name' | 'at' | 'length'>
type Reason = 'missing' | 'unreachable'
type BlockingAnswer = { bytes: Uint8Array } | { reason: Reason }

export function openArchive(place: string): ObjectStore {
  const bucket = parseBucketPlace(place)
  if (bucket === undefined) throw storageError(`${place} is no place of an archive.`)
  return createObjectStore(bucket, { reads: patience })
}

/** `place` is `s3://bucket/prefix`. */
export function createRangeReader(place: string): ObjectReader {
  const store = openArchive(place)
  const trials = createTrials(PAUSE_MS)
  const takeSlot = createSlots(REQUESTS_MAX)
  const { missingRange, keep, copy } = createBlocks()
  const counts: ObjectCounts = { answered: 0, failed: 0, ms: 0, bytes: 0 }
  let thread: BlockingThread<Range> | undefined

  function note(begunMs: number, bytes: number | undefined): void {
    if (bytes === undefined) counts.failed++
    else counts.answered++
    counts.ms += performance.now() - begunMs
    counts.bytes += bytes ?? 0
  }

  /** Undefined if the object is missing. Rejects with an `object_unreachable` fault. */
  async function readRange({ name, at, length }: Range): Promise<Uint8Array | undefined> {
    const release = await takeSlot()
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

  function readBlocking(range: Range): void {
    if (!trials.begin()) throw unreachable()
    thread ??= archiveWorker.startBlocking(place)
    const begunMs = performance.now()
    const answer = thread.ask<BlockingAnswer>(range, ANSWER_MS_MAX)
    const reason = answer === undefined ? 'unreachable' : 'reason' in answer && answer.reason
    note(begunMs, reason === 'unreachable' ? undefined : range.length)
    trials.end(reason !== 'unreachable')
    if (reason === 'missing')
      throw new Fault(`${range.name} is not in the archive.`, { kind: 'damage' })
    if (answer === undefined || 'reason' in answer) throw unreachable()
    keep(range, answer.bytes)
  }

  return {
    async fetch(blobs) {
      if (!trials.begin()) throw unreachable()
      const begunMs = performance.now()
      const found: Found = blobs.map(() => undefined)
      const fetching = rangesOf(blobs).map(({ range, wanted }) => fetchRange(range, wanted, found))
      const results = await Promise.allSettled(fetching)
      const failed = results.find(({ status }) => status === 'rejected')
      trials.end(failed === undefined, begunMs)
      if (failed?.status !== 'rejected') return found
      throw isFault(failed.reason, 'object_unreachable') ? unreachable() : failed.reason
    },

    read(part) {
      const range = missingRange(part)
      if (range !== undefined) readBlocking(range)
      return copy(part)
    },

    counts: () => counts,

    close: (): void => thread?.close(),
  }
}

type Found = (Uint8Array | undefined)[]
type Wanted = { index: number; part: Part }

/** Joins parts of an object that are close together into one range. */
function rangesOf(blobs: readonly ChunkBlob[]) {
  const wanted = blobs
    .flatMap(({ part }, index): Wanted[] => (part === undefined ? [] : [{ index, part }]))
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

/** A semaphore: the promise resolves when a slot is free, with the function that releases it. */
function createSlots(max: number) {
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

/** Blocks that were read. */
function createBlocks() {
  const kept = createCache<string, Uint8Array>(KEPT_BYTES_MAX)
  /** The blocks of the last read, even if they exceed `KEPT_BYTES_MAX`. */
  let latest = new Map<string, Uint8Array>()
  const find = (name: string, block: number): Uint8Array | undefined =>
    latest.get(keyOf(name, block)) ?? kept.get(keyOf(name, block))

  return {
    /** The range of the blocks of a part that are not in memory; undefined if all are. */
    missingRange({ name, size, at, length }: Part): Range | undefined {
      const lacks = blocksOf(at, length).filter((block) => find(name, block) === undefined)
      const first = lacks[0]
      const last = lacks.at(-1)
      if (first === undefined || last === undefined) return undefined
      const end = Math.min(size, (last + 1) * BLOCK_BYTES)
      return { name, at: first * BLOCK_BYTES, length: end - first * BLOCK_BYTES }
    },

    keep({ name, at }: Range, bytes: Uint8Array): void {
      latest = new Map()
      for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
        const key = keyOf(name, (at + from) / BLOCK_BYTES)
        const block = bytes.slice(from, from + BLOCK_BYTES)
        latest.set(key, block)
        kept.set(key, block, { size: block.length })
      }
    },

    /** All blocks of the part must be in memory. */
    copy(part: Part): Uint8Array {
      const bytes = new Uint8Array(part.length)
      for (const block of blocksOf(part.at, part.length)) {
        const start = block * BLOCK_BYTES - part.at
        const found = find(part.name, block)
        if (found === undefined) throw new Error('A block is gone while it is read.')
        const from = Math.max(0, -start)
        bytes.set(found.subarray(from, from + part.length - Math.max(0, start)), Math.max(0, start))
      }
      return bytes
    },
  }
}

const keyOf = (name: string, block: number): string => `${name} ${block}`

function blocksOf(at: number, length: number): number[] {
  const first = Math.floor(at / BLOCK_BYTES)
  const last = Math.floor((at + Math.max(1, length) - 1) / BLOCK_BYTES)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

const unreachable = () =>
  storageError('Older books are in an archive that does not answer. Try again in a moment.', {
    retryAfterSeconds: SOON_SECONDS,
  })

const archiveWorker = defineWorker(
  { name: 'archive', purpose: 'reads the archive', file: import.meta.filename },
  (place: string, parent: Parent<never, Range>) => {
    const store = openArchive(place)
    return parent.receive(async ({ name, at, length }): Promise<BlockingAnswer> => {
      try {
        return { bytes: await store.read(name, at, length) }
      } catch (error) {
        return { reason: isFault(error, 'object_missing') ? 'missing' : 'unreachable' }
      }
    })
  },
)
