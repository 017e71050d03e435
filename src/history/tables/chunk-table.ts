/** Rows of the chunk table, and the cache of chunks. */

import { chunk as chunkTable } from '#db/history/schema.ts'
import { type Place, seal, unseal } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Cell, type Database, prepareCell } from '#src/database/database.ts'
import { type ChunkKind as Kind, chunkKinds as kinds } from '#src/database/stores.ts'
import type { Beside } from '#src/domain/snapshot.ts'
import { Fault } from '#src/platform/fault.ts'
import { createPartCache, type Movable, type Part } from '#src/platform/parts.ts'

import {
  decodeNotes,
  decodeTops,
  encodeHashes,
  encodeNotes,
  encodeTops,
  readHash,
  withReceipt,
} from '../codec/beside.ts'
import type { ChunkWriter } from '../codec/chunk-writer.ts'
import { Chunk } from '../codec/chunk.ts'
import { ownChunkOf } from '../codec/own-chunk.ts'
import { decodePointer, encodePointer, type Pointer, SEALED_POINTER_BYTES } from './archive.ts'
import type { ArchivedPart, ChunkFetch } from './chunk-fetch.ts'

type ChunkRow = typeof chunkTable.$inferSelect
type RefRow = Omit<ChunkRow, Kind>

/** The index entry of a chunk. */
export type ChunkRef = Omit<RefRow, 'upCount' | 'downCount'> & {
  /** The number of rows of up and of down. */
  counts: readonly [number, number]
}

/** The archived kinds; notes are not archived, because they may change. */
export const packedKinds = ['tops', 'rows', 'hashes'] as const
export type PackedKind = (typeof packedKinds)[number]
type ChunkBlobs = Pick<ChunkRow, Kind>

const refColumns = [
  'marketId',
  'firstMs',
  'firstId',
  'lastMs',
  'lastId',
  'upCount',
  'downCount',
] as const

/** The cached forms of a chunk: the whole, its rows of up or of down, and its tops. */
const WHOLE = 0
const TOPS = 1
const OWN = 2
const FORMS = 4
const placeOfForm = ({ id }: ChunkRef, form: number): number => id * FORMS + form

/** The cached data of a chunk, with the index entry for which it was read. */
class Kept implements Movable<Kept> {
  ref: ChunkRef
  readonly data: Chunk | Tops

  constructor(ref: ChunkRef, data: Chunk | Tops) {
    this.ref = ref
    this.data = data
  }

  get size(): number {
    return this.data.size
  }

  copyTo(part: Part): Kept {
    return new Kept(this.ref, this.data.copyTo(part))
  }

  release(): void {
    this.data.release()
  }
}

/** The columns of `decodeTops`. */
class Tops implements Movable<Tops> {
  readonly columns: Float64Array
  readonly size: number

  constructor(columns: Float64Array) {
    this.columns = columns
    this.size = columns.byteLength
  }

  copyTo({ memory: { bytes }, start }: Part): Tops {
    const { length } = this.columns
    const columns = new Float64Array(bytes.buffer, bytes.byteOffset + start, length)
    columns.set(this.columns)
    return new Tops(columns)
  }

  release(): void {}
}

/** Returns the additional columns of a row with the given time. */
export type ReadBeside = (row: number, timestampMs: number) => Beside

function createChunkIndex(db: Database) {
  const refs = `SELECT ${sqlOf(chunkTable).columns(['id', ...refColumns])} FROM chunk WHERE market_id = $marketId`
  type OfMarket = { marketId: number }
  const listRefs = db.prepare<RefRow, [OfMarket]>(`${refs} ORDER BY last_ms, last_id`)
  const findLast = db.prepare<RefRow, [OfMarket]>(
    `${refs} ORDER BY last_ms DESC, last_id DESC LIMIT 1`,
  )
  return {
    listRefs: (marketId: number): ChunkRef[] => listRefs.all({ marketId }).map(toRef),

    findLast(marketId: number): ChunkRef | undefined {
      const row = findLast.get({ marketId })
      return row === null ? undefined : toRef(row)
    },
  }
}

function toRef(row: RefRow): ChunkRef {
  const { id, marketId, firstMs, firstId, lastMs, lastId, upCount, downCount } = row
  return { id, marketId, firstMs, firstId, lastMs, lastId, counts: [upCount, downCount] }
}

/**
 * The place to which a seal binds its blob: it is invalid in another chunk, or under another index
 * entry.
 */
const placeOf = (
  kind: Kind,
  { marketId, firstMs, firstId, lastMs, lastId, counts }: ChunkRef,
): Place => [kinds.indexOf(kind), marketId, firstMs, firstId, lastMs, lastId, ...counts]

const sealBlobs = (ref: ChunkRef, blobs: ChunkBlobs) => ({
  tops: seal(blobs.tops, placeOf('tops', ref)),
  rows: seal(blobs.rows, placeOf('rows', ref)),
  hashes: seal(blobs.hashes, placeOf('hashes', ref)),
  notes: seal(blobs.notes, placeOf('notes', ref)),
})

const damageOf = (kind: Kind, { id, marketId }: ChunkRef): Fault =>
  new Fault(`${kind} of chunk ${id} of market ${marketId} are not as they were written.`, {
    kind: 'damage',
  })

/**
 * Reads the current blobs. Throws a `damage` fault, a `chunk_gone` fault, and the faults of
 * `ChunkFetch.read`.
 */
function createBlobs(db: Database, elsewhere: ChunkFetch) {
  const cells = {
    tops: prepareCell(db, 'chunk', 'tops'),
    rows: prepareCell(db, 'chunk', 'rows'),
    hashes: prepareCell(db, 'chunk', 'hashes'),
    notes: prepareCell(db, 'chunk', 'notes'),
  }
  const lengths = new Map(
    kinds.map((kind) => [
      kind,
      db.prepare<unknown, [number]>(`SELECT length(${kind}) FROM chunk WHERE id = $1`),
    ]),
  )

  /** The position of an archived blob; undefined if the file has it, or something else. */
  function partAt(kind: Kind, ref: ChunkRef, stored: unknown): ArchivedPart | undefined {
    const place = placeOf(kind, ref)
    const pointer = decodePointer(stored, place)
    return pointer && { chunkId: ref.id, kind, place, pointer }
  }

  function toBlob(kind: Kind, ref: ChunkRef, stored: Cell | undefined): Uint8Array {
    if (stored === undefined) throw new Fault(`Chunk ${ref.id} is gone.`, { kind: 'chunk_gone' })
    const bytes = unseal(stored, placeOf(kind, ref))
    if (bytes !== undefined) return bytes
    const part = partAt(kind, ref, stored)
    const fetched = part && elsewhere.read(part)
    if (fetched === undefined) throw damageOf(kind, ref)
    return fetched
  }

  const readBlob = (kind: Kind, ref: ChunkRef): Uint8Array => toBlob(kind, ref, cells[kind](ref.id))

  function loadNotes(ref: ChunkRef, { count }: Chunk): ReadBeside {
    const notes = decodeNotes(readBlob('notes', ref), count)
    return (row, timestampMs) => withReceipt(notes[row], timestampMs)
  }

  return {
    /** The part to fetch before a blob can be read; none for a missing blob. */
    lackingPart(kind: Kind, ref: ChunkRef): ArchivedPart | undefined {
      const length = lengths.get(kind)?.values(ref.id)[0]?.[0]
      if (Number(length) !== SEALED_POINTER_BYTES) return undefined
      const part = partAt(kind, ref, cells[kind](ref.id))
      return part && elsewhere.isLacking(part) ? part : undefined
    },

    readBlob,

    loadBeside(ref: ChunkRef, chunk: Chunk): ReadBeside {
      const hashes = readBlob('hashes', ref)
      const notesOf = loadNotes(ref, chunk)
      return (row, timestampMs) => ({
        sourceHash: readHash(hashes, row),
        ...notesOf(row, timestampMs),
      })
    },

    /** `loadBeside` without hashes. */
    loadNotes,
  }
}

function createChunkWrites(db: Database, forget: (id: number) => void) {
  const sql = sqlOf(chunkTable)
  const written = [...refColumns, ...kinds] as const
  const removeById = db.prepare<unknown, [number]>('DELETE FROM chunk WHERE id = $1')
  const insert = db.prepare<unknown, [Omit<ChunkRow, 'id'>]>(sql.insert(written))
  const relayout = db.prepare<unknown, [number]>(
    'UPDATE market SET layout = layout + 1 WHERE id = $1',
  )
  const findBlobs = db.prepare<ChunkBlobs, [number]>(
    `SELECT ${sql.columns(kinds)} FROM chunk WHERE id = $1`,
  )
  const pointTo = db.prepare<unknown, [Pick<ChunkRow, 'id' | PackedKind>]>(
    `UPDATE chunk SET ${sql.set(packedKinds)} WHERE id = $id`,
  )

  return {
    /** Writes the run of `writer`, which has at least one row. */
    insert(marketId: number, writer: ChunkWriter): void {
      const { count, snapshots } = writer
      const { rows } = writer.columns
      const downCount = rows.reduce((sum, { outcome }) => sum + outcome, 0)
      const { timeMs: firstMs = 0, id: firstId = 0 } = rows[0] ?? {}
      const { timeMs: lastMs = 0, id: lastId = 0 } = rows[count - 1] ?? {}
      const upCount = count - downCount
      const entry = { marketId, firstMs, firstId, lastMs, lastId, upCount, downCount }
      const blobs = sealBlobs(toRef({ id: 0, ...entry }), {
        tops: encodeTops(snapshots),
        rows: writer.toChunk(),
        hashes: encodeHashes(snapshots),
        notes: encodeNotes(snapshots),
      })
      insert.run({ ...entry, ...blobs })
      relayout.run(marketId)
    },

    /** Sealed bytes of a kind in the database; undefined if they are archived. */
    findOwn(kind: PackedKind, ref: ChunkRef): Uint8Array | undefined {
      const bytes = findBlobs.get(ref.id)?.[kind]
      if (bytes === undefined || decodePointer(bytes, placeOf(kind, ref))) return undefined
      if (unseal(bytes, placeOf(kind, ref)) === undefined) throw damageOf(kind, ref)
      return bytes
    },

    /**
     * Replaces bytes by their position in the archive. Chunks that were rewritten since have
     * another id.
     */
    point(ref: ChunkRef, pointers: Readonly<Record<PackedKind, Pointer>>): void {
      const encode = (kind: PackedKind) => encodePointer(pointers[kind], placeOf(kind, ref))
      const tops = encode('tops')
      const rows = encode('rows')
      const hashes = encode('hashes')
      pointTo.run({ id: ref.id, tops, rows, hashes })
    },

    remove({ id, marketId }: ChunkRef): void {
      removeById.run(id)
      relayout.run(marketId)
      forget(id)
    },
  }
}

/** Finds, reads, adds and removes chunks. Reads use a cache of `cacheBytesMax` bytes. */
export function createChunkTable(db: Database, elsewhere: ChunkFetch, cacheBytesMax: number) {
  const blobs = createBlobs(db, elsewhere)
  const cache = createPartCache<Kept>(cacheBytesMax)

  const read = (ref: ChunkRef): Chunk => new Chunk(blobs.readBlob('rows', ref))

  function chunkIn(kept: Kept | undefined, ref: ChunkRef): Chunk | undefined {
    if (!(kept?.data instanceof Chunk)) return undefined
    // The index entry was read again since, so it may differ.
    if (kept.ref !== ref && !Bun.deepEquals(kept.ref, ref)) throw damageOf('rows', ref)
    kept.ref = ref
    return kept.data
  }

  function loadForm(ref: ChunkRef, form: number, make: () => Chunk): Chunk {
    const place = placeOfForm(ref, form)
    const kept = chunkIn(cache.get(place), ref)
    if (kept !== undefined) return kept
    const chunk = make()
    return chunkIn(cache.put(place, new Kept(ref, chunk)), ref) ?? chunk
  }

  const load = (ref: ChunkRef): Chunk => loadForm(ref, WHOLE, () => read(ref))

  /** Reads a chunk for one use, until its `release`. */
  const pass = (ref: ChunkRef): Chunk =>
    chunkIn(cache.peek(placeOfForm(ref, WHOLE)), ref)?.copy() ?? read(ref)

  return {
    ...createChunkIndex(db),
    ...createChunkWrites(db, (id) => {
      for (let form = 0; form < FORMS; form++) cache.delete(id * FORMS + form)
    }),
    ...blobs,
    pass,
    load,
    cacheCounts: cache.counts,

    /** Reads a chunk from the file, ignoring the cache. */
    read,

    /** True if all rows of a chunk are in memory. */
    isKept: (ref: ChunkRef): boolean => cache.peek(placeOfForm(ref, WHOLE))?.data instanceof Chunk,

    /**
     * Like `load`, but for a chunk of both outcomes only the rows of one, which are cached
     * separately.
     */
    loadOwn(ref: ChunkRef, outcome: number): Chunk {
      if (ref.counts.includes(0)) return load(ref)
      return loadForm(ref, OWN + outcome, () => {
        const whole = pass(ref)
        const own = ownChunkOf(whole, outcome)
        whole.release()
        return own
      })
    },

    /** Reads the tops of a loaded chunk. */
    loadTops(ref: ChunkRef, chunk: Chunk): Float64Array {
      const place = placeOfForm(ref, TOPS)
      const cached = cache.get(place)?.data
      if (cached instanceof Tops) return cached.columns
      const tops = new Tops(decodeTops(blobs.readBlob('tops', ref), chunk.outcomes()))
      const { data } = cache.put(place, new Kept(ref, tops))
      return data instanceof Tops ? data.columns : tops.columns
    },
  }
}

export type ChunkTable = ReturnType<typeof createChunkTable>
