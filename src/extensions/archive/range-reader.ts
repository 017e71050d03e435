/**
 * Parts of objects that never change. A thread that serves fetches several at once: parts that lie
 * close together are one request. Any other thread stands still for one; it gets whole blocks,
 * because most reads go on where the last one ended.
 */

import { storageError } from '#src/database/database.ts'
import type { ChunkBlob, ObjectReader, Part } from '#src/database/stores.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { parseBucketPlace } from '#src/platform/bucket-place.ts'
import { createCache } from '#src/platform/cache.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { createObjectStore, type ObjectStore } from '#src/platform/object-store.ts'
import { createTrials } from '#src/platform/patience.ts'
import { type BlockingThread, defineWorker, type Parent } from '#src/platform/worker.ts'

const BLOCK_BYTES = 128 * 1024
/** Blocks besides those that were asked for. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024
/** Requests at a time, what one asks for at most, and bytes between two parts that it spans. */
const REQUESTS_MAX = 16
const REQUEST_BYTES_MAX = 4 * 1024 * 1024
const BETWEEN_BYTES_MAX = 16 * 1024
/** A serving thread that waits does so no longer than this. */
const SHORT_MS_MAX = 250
const ANSWER_MS_MAX = 30_000
/** After a failure nothing is tried for so long. */
const PAUSE_MS = 1000
/** Of a read that others do not wait for. */
const patience = { tries: 2, waitMs: 100, limitMs: 2000 }

type Range = Pick<Part, 'name' | 'at' | 'length'>
type Reason = 'missing' | 'unreachable'
type WaitingAnswer = { bytes: Uint8Array } | { reason: Reason }

export function openArchive(place: string): ObjectStore {
  const bucket = parseBucketPlace(place)
  if (bucket === undefined) throw storageError(`${place} is no place of an archive.`)
  return createObjectStore(bucket, { reads: patience })
}

/** `place` is `s3://bucket/prefix`. */
export function createRangeReader(place: string, isServing: boolean): ObjectReader {
  const store = openArchive(place)
  const trials = createTrials(PAUSE_MS)
  const takePlace = createPlaces(REQUESTS_MAX)
  const { missingRange, keep, copy } = createBlocks()
  let thread: BlockingThread<Range> | undefined

  /** Undefined where it is not there. Rejects with an `object_unreachable` fault. */
  async function readRange({ name, at, length }: Range): Promise<Uint8Array | undefined> {
    const leave = await takePlace()
    try {
      return await store.read(name, at, length)
    } catch (error) {
      if (isFault(error, 'object_missing')) return undefined
      throw error
    } finally {
      leave()
    }
  }

  async function fetchRange(range: Range, wanted: readonly Wanted[], found: Found): Promise<void> {
    const bytes = await readRange(range)
    // Copies: what lies between them is not kept.
    for (const { index, part } of wanted)
      found[index] = bytes?.slice(part.at - range.at, part.at - range.at + part.length)
  }

  function wait(range: Range): void {
    if (!trials.begin()) throw unreachable()
    thread ??= archiveWorker.startBlocking(place)
    const answer = thread.ask<WaitingAnswer>(range, isServing ? SHORT_MS_MAX : ANSWER_MS_MAX)
    const reason = answer === undefined ? 'unreachable' : 'reason' in answer && answer.reason
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
      if (range !== undefined) wait(range)
      return copy(part)
    },

    close: (): void => thread?.close(),
  }
}

type Found = (Uint8Array | undefined)[]
type Wanted = { index: number; part: Part }

/** Parts that lie close together in an object as one range. */
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

/** Makes what resolves when there is a place, with what gives it back. */
function createPlaces(max: number) {
  const waiting: (() => void)[] = []
  let taken = 0
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) taken--
    else next()
  }
  return async (): Promise<() => void> => {
    if (taken < max) taken++
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    return leave
  }
}

/** Blocks that were waited for. */
function createBlocks() {
  const kept = createCache<string, Uint8Array>(KEPT_BYTES_MAX)
  /** The blocks of the part that was asked for last, also where all of them are too much to keep. */
  let latest = new Map<string, Uint8Array>()
  const find = (name: string, block: number): Uint8Array | undefined =>
    latest.get(keyOf(name, block)) ?? kept.get(keyOf(name, block))

  return {
    /** The blocks of a part that are not there, as one range. */
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

    /** Of blocks that are all there. */
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
    return parent.receive(async ({ name, at, length }): Promise<WaitingAnswer> => {
      try {
        return { bytes: await store.read(name, at, length) }
      } catch (error) {
        return { reason: isFault(error, 'object_missing') ? 'missing' : 'unreachable' }
      }
    })
  },
)
