/**
 * Packs books of markets that are over into objects of an archive, an object at a time: noted, put
 * by the caller and read back, then read from there. Whatever is killed in between leaves the
 * books in the database, and an object that `takeOrphans` finds.
 */
import { transact } from '#src/database/database.ts'

import type { Pointer } from './tables/archive.ts'
import { type ChunkRef, type PackedKind, packedKinds } from './tables/chunk-table.ts'
import { createDueList, type Segment } from './tables/segment-table.ts'
import type { Tables } from './tables/tables.ts'

/** Of an object; a market of a day has several. */
const OBJECT_BYTES_MAX = 32 * 1024 * 1024
/** Longer than a put and its tries take. */
const BEGUN_MS_MAX = 3_600_000

type Parts = Record<PackedKind, Uint8Array>
/** An object that is noted, and is to be put. */
type Packed = Segment & {
  bytes: Uint8Array
  sha256: string
  /** False where it is an orphan by now: it is not used, and may be removed. */
  seal: () => boolean
}

export type Archiver = {
  /** `s3://bucket/prefix`; undefined where no book ever went to one. */
  place(): string | undefined
  /** To be called before the first book goes there, or all objects are there. */
  setPlace(place: string): void
  /** Markets that ended before (exclusive, Unix milliseconds), of which something may be put. */
  due(beforeMs: number): number[]
  /**
   * The next object of a market; undefined when nothing of it is left. To be called again after its
   * `seal`, which is called once the object is there. Throws a `damage` fault.
   */
  pack(marketId: number, nowMs: number): Packed | undefined
  /**
   * Objects that no market has any more, and those that were begun long ago and not sealed: from
   * now on they cannot be.
   */
  takeOrphans(nowMs: number): Segment[]
  /** To be called once the object of an orphan is gone. */
  forget(id: number): void
  totals(): { objects: number; bytes: number }
}

export function createArchiver({ db, chunks, markets, segments, logMeta }: Tables): Archiver {
  function partsOf(ref: ChunkRef): Parts | undefined {
    const found = packedKinds.map((kind) => [kind, chunks.findOwn(kind, ref)] as const)
    if (found.some(([, bytes]) => bytes === undefined)) return undefined
    return Object.fromEntries(found) as Parts
  }

  return {
    place: logMeta.archivePlace,
    setPlace: (place) => transact(db, () => logMeta.putArchivePlace(place)),
    due: createDueList(db),
    takeOrphans: (nowMs) => transact(db, () => segments.takeOrphans(nowMs - BEGUN_MS_MAX)),
    forget: (id) => transact(db, () => segments.forget(id)),
    totals: segments.totals,

    pack(marketId, nowMs) {
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
        transact(db, () => segments.relayout(marketId, market.layout))
        return undefined
      }
      const { bytes, places } = layOut(taken, size)
      const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      const noted = { marketId, bytes: size, sha256, madeMs: nowMs }
      const segment = transact(db, () => segments.begin(noted))
      const digest = sha256.slice(0, 16)
      const seal = (): boolean =>
        transact(db, () => {
          if (!segments.seal(segment.id, isLast ? market.layout : undefined)) return false
          for (const [ref, parts] of places) {
            const pointerOf = (kind: PackedKind): Pointer => ({
              segmentId: segment.id,
              digest,
              size,
              ...parts[kind],
            })
            chunks.point(ref, {
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

/** All rows first, in their order, because most reads go on with the next ones; then the others. */
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
