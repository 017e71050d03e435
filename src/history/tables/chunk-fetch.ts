/**
 * Parts of chunks that are not in the history file. In their place is a pointer to the archive, or
 * an empty cell if the file is a replica of PostgreSQL. A server fetches the parts before it reads
 * them; any other process blocks until it has them.
 */
import { type Place, unseal } from '#src/database/checksum.ts'
import { storageError } from '#src/database/database.ts'
import type { ChunkKind, ChunkSource } from '#src/database/stores.ts'
import { SOON_SECONDS } from '#src/domain/errors.ts'
import { Fault } from '#src/platform/fault.ts'

import { type Archive, decodePointer, nameOf, type Pointer } from './archive.ts'

/** Parts are fetched in slices of this size, one after the other. */
const SLICE_BYTES = 16 * 1024 * 1024
/** The assumed size of a part whose size is unknown. */
const PART_BYTES = 12 * 1024
/** How long a part that was not found is not fetched again. */
const ABSENT_MS = 10_000
const ABSENT_MAX = 10_000
/** A chunk that is gone was replaced: the replica names the new chunks after this time. */
const REPLACED_MS = 100

export type FetchedPart = { chunkId: number; kind: ChunkKind; bytes: Uint8Array }

/** The cache of fetched parts: `fetched-chunks.ts`. */
export type FetchedChunks = {
  /** The bytes belong to the cache, so a caller must not change them. */
  find(chunkId: number, kind: ChunkKind): Uint8Array | undefined
  keep(parts: readonly FetchedPart[]): void
  close(): void
}

/** `place` is the place that the bytes are sealed for. */
export type ElsewherePart = {
  chunkId: number
  kind: ChunkKind
  place: Place
  /** Undefined unless the part is known to be in the archive. */
  pointer: Pointer | undefined
}

type ChunkFetchOptions = {
  isServing: boolean
  /** Whether the file may lack parts, as far as is known when it is opened. */
  isUsed: boolean
  /** The database at an address, of which the file is a replica. */
  source: ChunkSource | undefined
}

export function createChunkFetch(
  archive: Archive,
  fetched: FetchedChunks,
  { isServing, isUsed, source }: ChunkFetchOptions,
) {
  const coming = new Map<string, Promise<void>>()
  const absent = new Map<string, { untilMs: number; fault: Error }>()
  let mayLack = isUsed

  function find({ chunkId, kind, place }: ElsewherePart): Uint8Array | undefined {
    return unseal(fetched.find(chunkId, kind), place)
  }

  function noteAbsent(part: ElsewherePart, what: string): void {
    if (absent.size >= ABSENT_MAX) absent.clear()
    const untilMs = performance.now() + ABSENT_MS
    absent.set(keyOf(part), { untilMs, fault: new Fault(what, { kind: 'damage' }) })
  }

  /** Why a part cannot be fetched; undefined if it may be. */
  function faultOf(part: ElsewherePart): Error | undefined {
    const known = absent.get(keyOf(part))
    return known !== undefined && performance.now() < known.untilMs ? known.fault : undefined
  }

  /** Fetches from PostgreSQL. Returns the parts that PostgreSQL has moved to the archive. */
  async function fetchFromSource(parts: readonly ElsewherePart[]): Promise<InArchive[]> {
    if (parts.length === 0 || source === undefined) return []
    const found = await source.fetch(parts.map(({ chunkId, kind }) => ({ chunkId, kind })))
    const sound: FetchedPart[] = []
    const archived: InArchive[] = []
    for (const [index, part] of parts.entries()) {
      const bytes = found[index]
      const pointer = decodePointer(bytes, part.place)
      if (pointer !== undefined) archived.push({ ...part, pointer })
      else if (bytes !== undefined && unseal(bytes, part.place) !== undefined)
        sound.push({ chunkId: part.chunkId, kind: part.kind, bytes })
      else if (bytes !== undefined)
        noteAbsent(part, `${part.kind} of chunk ${part.chunkId} are not as they were written.`)
    }
    fetched.keep(sound)
    // A write has replaced these chunks since the replica was read.
    if (found.includes(undefined)) await Bun.sleep(REPLACED_MS)
    return archived
  }

  async function fetchFromArchive(parts: readonly InArchive[]): Promise<void> {
    if (parts.length === 0) return
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

  async function fetchAll(parts: readonly ElsewherePart[]): Promise<void> {
    for (const slice of slicesOf(parts)) {
      const archived = await fetchFromSource(slice.filter(({ pointer }) => pointer === undefined))
      await fetchFromArchive([...slice.filter(isInArchive), ...archived])
    }
  }

  /** A part that another call is fetching is not fetched twice. */
  function fetch(parts: readonly ElsewherePart[]): Promise<void> {
    const waits = new Set<Promise<void>>()
    const fresh = new Map<string, ElsewherePart>()
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

    /** Whether parts must be fetched before they are read. */
    mayLack: (): boolean => mayLack && isServing,

    /** Whether a part is not here and can be fetched. */
    isLacking: (part: ElsewherePart): boolean =>
      faultOf(part) === undefined && find(part) === undefined,

    /**
     * The bytes without their seal. Throws a `damage` fault, and `storage_unavailable` if a server
     * has not fetched the part.
     */
    read(part: ElsewherePart): Uint8Array | undefined {
      const { pointer } = part
      if (!isServing) return pointer && unseal(archive.read(pointer), part.place)
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

type InArchive = ElsewherePart & { pointer: Pointer }
const isInArchive = (part: ElsewherePart): part is InArchive => part.pointer !== undefined

const keyOf = ({ chunkId, kind }: ElsewherePart): string => `${chunkId} ${kind}`

function* slicesOf(parts: readonly ElsewherePart[]): Generator<ElsewherePart[]> {
  let slice: ElsewherePart[] = []
  let bytes = 0
  for (const part of parts) {
    slice.push(part)
    bytes += part.pointer?.length ?? PART_BYTES
    if (bytes < SLICE_BYTES) continue
    yield slice
    slice = []
    bytes = 0
  }
  if (slice.length > 0) yield slice
}
