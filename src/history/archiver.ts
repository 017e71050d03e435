/**
 * Packs books of ended markets into objects of an archive, one at a time: each object is noted, put
 * by the caller, read back, and then read from there. An interruption leaves the books in the
 * database, and an object that `takeOrphans` finds.
 */
import type { Transact } from '#src/database/transact.ts'

import type { Pointer } from './tables/archive.ts'
import { type ChunkRef, type PackedKind, packedKinds } from './tables/chunk-table.ts'
import { createDueList, type Segment } from './tables/segment-table.ts'
import type { Tables } from './tables/tables.ts'

/** The maximum size of an object; a market of a day has several. */
const OBJECT_BYTES_MAX = 32 * 1024 * 1024
/** Longer than a put with all its retries. */
const BEGUN_MS_MAX = 3_600_000

type Parts = Record<PackedKind, Uint8Array>
/** A noted object that must be put. */
type Packed = Segment & {
  bytes: Uint8Array
  sha256: string
  /** False if the object has become an orphan: it is not used, and may be removed. */
  seal: () => Promise<boolean>
}

export type Archiver = {
  /** `s3://bucket/prefix`; undefined if no book was ever archived. */
  place(): string | undefined
  /**
   * Sets the place. Call it before the first book is archived, or after all objects were moved
   * there.
   */
  setPlace(place: string): Promise<void>
  /**
   * Markets that ended before a moment (exclusive, Unix milliseconds) and may have books to
   * archive.
   */
  due(beforeMs: number): number[]
  /**
   * The next object of a market; undefined when none is left. After the object was put, call its
   * `seal`, then `pack` again. Throws a `damage` fault.
   */
  pack(marketId: number, nowMs: number): Promise<Packed | undefined>
  /**
   * Orphans: objects that belong to no market any more, and objects begun long ago and never
   * sealed. From now on they cannot be sealed.
   */
  takeOrphans(nowMs: number): Promise<Segment[]>
  /** Forgets an orphan. Call it after its object was deleted. */
  forget(id: number): Promise<void>
  totals(): { objects: number; bytes: number }
}

export function createArchiver(
  { db, chunks, markets, segments, logMeta }: Tables,
  written: Pick<Tables, 'chunks' | 'segments' | 'logMeta'>,
  transact: Transact,
): Archiver {
  function partsOf(ref: ChunkRef): Parts | undefined {
    const found = packedKinds.map((kind) => [kind, chunks.findOwn(kind, ref)] as const)
    if (found.some(([, bytes]) => bytes === undefined)) return undefined
    return Object.fromEntries(found) as Parts
  }

  return {
    place: logMeta.archivePlace,
    setPlace: (place) => transact(() => written.logMeta.putArchivePlace(place)),
    due: createDueList(db),
    takeOrphans: (nowMs) => transact(() => written.segments.takeOrphans(nowMs - BEGUN_MS_MAX)),
    forget: (id) => transact(() => written.segments.forget(id)),
    totals: segments.totals,

    async pack(marketId, nowMs) {
      const market = markets.findById(marketId)
      if (market === undefined) return undefined
      const taken: { ref: ChunkRef; parts: Parts }[] = []
      let size = 0
      let isLast = true
      for (const ref of chunks.listRefs(marketId)) {
        if (size >= OBJECT_BYTES_MAX) {
          isLast = false
          break
        }
        const parts = partsOf(ref)
        if (parts === undefined) continue
        taken.push({ ref, parts })
        for (const kind of packedKinds) size += parts[kind].length
      }
      if (taken.length === 0) {
        await transact(() => written.segments.relayout(marketId, market.layout))
        return undefined
      }
      const { bytes, places } = layOut(taken, size)
      const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      const noted = { marketId, bytes: size, sha256, madeMs: nowMs }
      const segment = await transact(() => written.segments.begin(noted))
      const digest = sha256.slice(0, 16)
      const seal = (): Promise<boolean> =>
        transact(() => {
          if (!written.segments.seal(segment.id, isLast ? market.layout : undefined)) return false
          for (const [ref, parts] of places) {
            const pointerOf = (kind: PackedKind): Pointer => ({
              segmentId: segment.id,
              digest,
              size,
              ...parts[kind],
            })
            written.chunks.point(ref, {
              tops: pointerOf('tops'),
              rows: pointerOf('rows'),
              hashes: pointerOf('hashes'),
            })
          }
          return true
        })
      return { ...segment, bytes, sha256, seal }
    },
  }
}

/**
 * Arranges the rows of all chunks first, in order, because most reads continue with the next ones;
 * the other parts follow.
 */
function layOut(taken: readonly { ref: ChunkRef; parts: Parts }[], size: number) {
  const bytes = new Uint8Array(size)
  const places = new Map<ChunkRef, Record<PackedKind, Pick<Pointer, 'at' | 'length'>>>()
  let at = 0
  for (const kind of ['rows', 'tops', 'hashes'] as const) {
    for (const { ref, parts } of taken) {
      const { length } = parts[kind]
      bytes.set(parts[kind], at)
      const none = { at: 0, length: 0 }
      const known = places.get(ref) ?? { tops: none, rows: none, hashes: none }
      places.set(ref, { ...known, [kind]: { at, length } })
      at += length
    }
  }
  return { bytes, places }
}
