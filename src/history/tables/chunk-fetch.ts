/**
 * Parts of chunks that are in the archive; in their place the history file has pointers. A server
 * fetches the parts before it reads them; any other process blocks until it has them.
 */
import { type Place, unseal } from '#src/database/checksum.ts'
import { storageError } from '#src/database/database.ts'
import type { ChunkKind } from '#src/database/stores.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { Fault } from '#src/platform/fault.ts'

import { type Archive, nameOf, type Pointer } from './archive.ts'

/** Parts are fetched in slices of this size, one after the other. */
const SLICE_BYTES = 16 * 1024 * 1024
/** The pause before a part that was not found is fetched again. */
const ABSENT_MS = 10_000
const ABSENT_MAX = 10_000

export type FetchedPart = { chunkId: number; kind: ChunkKind; bytes: Uint8Array }

/** The cache of fetched parts: `fetched-chunks.ts`. */
export type FetchedChunks = {
  /** The bytes belong to the cache, so a caller must not change them. */
  find(chunkId: number, kind: ChunkKind): Uint8Array | undefined
  keep(parts: readonly FetchedPart[]): void
  close(): void
}

/** `place` is the place that the bytes are sealed for. */
export type ArchivedPart = {
  chunkId: number
  kind: ChunkKind
  place: Place
  pointer: Pointer
}

type ChunkFetchOptions = {
  isServing: boolean
  /** True if parts may be archived, as of the opening of the file. */
  isUsed: boolean
}

export function createChunkFetch(
  archive: Archive,
  fetched: FetchedChunks,
  { isServing, isUsed }: ChunkFetchOptions,
) {
  const coming = new Map<string, Promise<void>>()
  const absent = new Map<string, { untilMs: number; fault: Error }>()
  let mayLack = isUsed

  function find({ chunkId, kind, place }: ArchivedPart): Uint8Array | undefined {
    return unseal(fetched.find(chunkId, kind), place)
  }

  function noteAbsent(part: ArchivedPart, what: string): void {
    if (absent.size >= ABSENT_MAX) absent.clear()
    const untilMs = performance.now() + ABSENT_MS
    absent.set(keyOf(part), { untilMs, fault: new Fault(what, { kind: 'damage' }) })
  }

  /** Why a part cannot be fetched; undefined if it can. */
  function faultOf(part: ArchivedPart): Error | undefined {
    const known = absent.get(keyOf(part))
    return known !== undefined && performance.now() < known.untilMs ? known.fault : undefined
  }

  async function fetchSlice(parts: readonly ArchivedPart[]): Promise<void> {
    const found = await archive.fetch(parts.map(({ pointer }) => pointer))
    const sound: FetchedPart[] = []
    for (const [index, part] of parts.entries()) {
      const { chunkId, kind, place, pointer } = part
      const bytes = found[index]
      if (bytes === undefined)
        noteAbsent(part, `${nameOf(pointer.segmentId, pointer.digest)} is not in the archive.`)
      else if (unseal(bytes, place) === undefined)
        noteAbsent(part, `${kind} of chunk ${chunkId} are not as they were written.`)
      else sound.push({ chunkId, kind, bytes })
    }
    fetched.keep(sound)
  }

  async function fetchAll(parts: readonly ArchivedPart[]): Promise<void> {
    for (const slice of slicesOf(parts)) await fetchSlice(slice)
  }

  /** A part that another call is fetching is not fetched twice. */
  function fetch(parts: readonly ArchivedPart[]): Promise<void> {
    const waits = new Set<Promise<void>>()
    const fresh = new Map<string, ArchivedPart>()
    for (const part of parts) {
      const running = coming.get(keyOf(part))
      if (running === undefined) fresh.set(keyOf(part), part)
      else waits.add(running)
    }
    if (fresh.size > 0) {
      const fetching = fetchAll([...fresh.values()]).finally(() => {
        for (const key of fresh.keys()) coming.delete(key)
      })
      for (const key of fresh.keys()) coming.set(key, fetching)
      waits.add(fetching)
    }
    const all = Promise.all(waits).then(() => undefined)
    // A caller may ignore the promise: its next call reports the fault.
    all.catch(() => {})
    return all
  }

  return {
    fetch,

    /** True if parts must be fetched before they are read. */
    mayLack: (): boolean => mayLack && isServing,

    /** True if a part is not here and can be fetched. */
    isLacking: (part: ArchivedPart): boolean =>
      faultOf(part) === undefined && find(part) === undefined,

    /**
     * The bytes without their seal. Throws a `damage` fault, and `storage_unavailable` if a server
     * has not fetched the part.
     */
    read(part: ArchivedPart): Uint8Array | undefined {
      const { pointer } = part
      if (!isServing) return unseal(archive.read(pointer), part.place)
      // A copy, because readers release the memory of what they read.
      const bytes = find(part)?.slice()
      if (bytes !== undefined) return bytes
      const fault = faultOf(part)
      if (fault !== undefined) throw fault
      // Another process has moved the part to the archive.
      mayLack = true
      throw storageError('These books are being fetched. Try again in a moment.', {
        retryAfterSeconds: SOON_SECONDS,
      })
    },
  }
}

export type ChunkFetch = ReturnType<typeof createChunkFetch>

const keyOf = ({ chunkId, kind }: ArchivedPart): string => `${chunkId} ${kind}`

function* slicesOf(parts: readonly ArchivedPart[]): Generator<ArchivedPart[]> {
  let slice: ArchivedPart[] = []
  let bytes = 0
  for (const part of parts) {
    slice.push(part)
    bytes += part.pointer.length
    if (bytes < SLICE_BYTES) continue
    yield slice
    slice = []
    bytes = 0
  }
  if (slice.length > 0) yield slice
}
