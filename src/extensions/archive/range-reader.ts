/**
 * Parts of objects that never change. Within a read that runs again nothing is waited for; anybody
 * else stands still. Objects are fetched in blocks, because most reads go on where the last ended.
 */

import { SOON_SECONDS, storageError } from '#src/database/database.ts'
import type {
  DiskCachePlace,
  ObjectReader,
  ObjectReaderOptions,
  Part,
} from '#src/database/stores.ts'
import { parseBucketPlace } from '#src/platform/bucket-place.ts'
import { createCache } from '#src/platform/cache.ts'
import { Missing, readingNow } from '#src/platform/eventually.ts'
import { Fault, isFault } from '#src/platform/fault.ts'
import { createObjectStore, type ObjectStore } from '#src/platform/object-store.ts'
import { createTrials } from '#src/platform/patience.ts'
import { type BlockingThread, defineWorker, type Parent } from '#src/platform/worker.ts'

import { createDiskCache } from './disk-cache.ts'

const BLOCK_BYTES = 128 * 1024
/** What was fetched besides what was asked for. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024
/** A serving thread that cannot run a read again waits no longer than this. */
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
export function createRangeReader(
  place: string,
  { isServing, cache }: ObjectReaderOptions,
): ObjectReader {
  const store = openArchive(place)
  const disk = cache && createBlocksOnDisk(cache)
  const { missingRange, keep, copy } = createBlocks()
  const faults = createFaults()
  const coming = new Map<string, Promise<void>>()
  let thread: BlockingThread<Range> | undefined

  async function fetch(range: Range, found: Map<string, unknown>): Promise<void> {
    try {
      const known = await disk?.find(range)
      if (known !== undefined) return keep(range, known, found)
      faults.begin()
      const bytes = await store.read(range.name, range.at, range.length)
      faults.end()
      keep(range, bytes, found)
      void disk?.keep(range, bytes)
    } catch (error) {
      const isAnswer = isFault(error, 'object_missing', 'object_unreachable')
      const fault = isAnswer ? faults.end(reasonOf(error), range.name) : error
      for (const block of blocksOf(range.at, range.length))
        found.set(keyOf(range.name, block), fault)
    }
  }

  /** Those who ask for the same at the same time wait for one request. */
  function fetchOnce(range: Range, found: Map<string, unknown>): Promise<void> {
    const key = `${range.name} ${range.at} ${range.length}`
    const running = coming.get(key)
    if (running !== undefined) return running
    const fetching = fetch(range, found).finally(() => coming.delete(key))
    coming.set(key, fetching)
    return fetching
  }

  function wait(range: Range): void {
    faults.begin()
    thread ??= archiveWorker.startBlocking(place)
    const answer = thread.ask<WaitingAnswer>(range, isServing ? SHORT_MS_MAX : ANSWER_MS_MAX)
    if (answer === undefined || 'reason' in answer)
      throw faults.end(answer?.reason ?? 'unreachable', range.name)
    faults.end()
    keep(range, answer.bytes)
  }

  return {
    read(part) {
      const reading = readingNow()
      const range = missingRange(part)
      if (range !== undefined) {
        if (reading !== undefined) throw new Missing(fetchOnce(range, reading.found))
        wait(range)
      }
      return copy(part)
    },

    close: (): void => thread?.close(),
  }
}

function createFaults() {
  const trials = createTrials(PAUSE_MS)
  return {
    begin(): void {
      if (!trials.begin()) throw unreachable()
    },

    /** Returns what is to be thrown for a reason. */
    end(reason?: Reason, name = ''): Error {
      trials.end(reason !== 'unreachable')
      return reason === 'missing'
        ? new Fault(`${name} is not in the archive.`, { kind: 'damage' })
        : unreachable()
    },
  }
}

/** What was fetched: for all, while there is room, and for the read that it was fetched for. */
function createBlocks() {
  const kept = createCache<string, Uint8Array>(KEPT_BYTES_MAX)

  /** The blocks of a part that are not there, as one range. */
  function missingRange({ name, size, at, length }: Part): Range | undefined {
    const lacks = blocksOf(at, length).filter((block) => find(name, block) === undefined)
    const [first, last] = [lacks[0], lacks.at(-1)]
    if (first === undefined || last === undefined) return undefined
    const end = Math.min(size, (last + 1) * BLOCK_BYTES)
    return { name, at: first * BLOCK_BYTES, length: end - first * BLOCK_BYTES }
  }

  /** Throws why it could not be fetched, in this read. */
  function find(name: string, block: number): Uint8Array | undefined {
    const key = keyOf(name, block)
    const own = readingNow()?.found.get(key)
    if (own instanceof Error) throw own
    return (own as Uint8Array | undefined) ?? kept.get(key)
  }

  function keep({ name, at }: Range, bytes: Uint8Array, found?: Map<string, unknown>): void {
    for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
      const key = keyOf(name, (at + from) / BLOCK_BYTES)
      const block = bytes.slice(from, from + BLOCK_BYTES)
      kept.set(key, block, { size: block.length })
      found?.set(key, block)
    }
  }

  /** Of blocks that are all there. */
  function copy(part: Part): Uint8Array {
    const bytes = new Uint8Array(part.length)
    for (const block of blocksOf(part.at, part.length)) {
      const start = block * BLOCK_BYTES - part.at
      const found = find(part.name, block)
      if (found === undefined) throw new Error('A block is gone while it is read.')
      const from = Math.max(0, -start)
      bytes.set(found.subarray(from, from + part.length - Math.max(0, start)), Math.max(0, start))
    }
    return bytes
  }
  return { missingRange, keep, copy }
}

function createBlocksOnDisk(place: DiskCachePlace) {
  const cache = createDiskCache(place)
  const fileOf = ({ name, at }: Range): string => `${name}-${at / BLOCK_BYTES}`
  const blocksIn = ({ name, at, length }: Range): Range[] =>
    blocksOf(at, length).map((block) => {
      const start = block * BLOCK_BYTES
      return { name, at: start, length: Math.min(BLOCK_BYTES, at + length - start) }
    })

  return {
    /** All of a range, which begins and ends with blocks. */
    async find(range: Range): Promise<Uint8Array | undefined> {
      const found = await Promise.all(
        blocksIn(range).map((block) => cache.find(fileOf(block), block.length)),
      )
      return found.includes(undefined) ? undefined : Buffer.concat(found as Uint8Array[])
    },

    async keep(range: Range, bytes: Uint8Array): Promise<void> {
      for (const block of blocksIn(range)) {
        const from = block.at - range.at
        await cache.keep(fileOf(block), bytes.subarray(from, from + block.length))
      }
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

const reasonOf = (error: unknown): Reason =>
  isFault(error, 'object_missing') ? 'missing' : 'unreachable'

const archiveWorker = defineWorker(
  { name: 'archive', purpose: 'reads the archive', file: import.meta.filename },
  (place: string, parent: Parent<never, Range>) => {
    const store = openArchive(place)
    return parent.receive(async ({ name, at, length }): Promise<WaitingAnswer> => {
      try {
        return { bytes: await store.read(name, at, length) }
      } catch (error) {
        return { reason: reasonOf(error) }
      }
    })
  },
)
