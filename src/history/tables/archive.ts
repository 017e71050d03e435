/**
 * What is in the archive in place of the database: books of markets that are over, packed into
 * objects. Where they were is where they are now, sealed for its place as they are for theirs.
 */

import { type Place, seal, unseal } from '#src/database/checksum.ts'
import { type Database, storageError } from '#src/database/database.ts'
import { type ObjectReader, type ObjectReaderOptions, openObjects } from '#src/database/stores.ts'
import { atOnce, type Eventual, Reading, readingNow } from '#src/platform/eventually.ts'

import type { LogMeta } from './meta-table.ts'

/** Where sealed bytes are: of an object of `size` bytes, from `at` on. */
export type Pointer = {
  segmentId: number
  digest: string
  size: number
  at: number
  length: number
}

/** Numbers of a pointer, and bytes of its digest. */
const NUMBERS = 4
const DIGEST_BYTES = 8
const POINTER_BYTES = NUMBERS * 8 + DIGEST_BYTES
/** The first number of its place, beyond those of what it stands for. */
const POINTERS = 16

const placeOf = ([kind = 0, ...rest]: Place): Place => [kind + POINTERS, ...rest]

/** `place` is that of the bytes. */
export function encodePointer(pointer: Pointer, place: Place): Uint8Array {
  const bytes = new Uint8Array(POINTER_BYTES)
  const { segmentId, size, at, length, digest } = pointer
  new Float64Array(bytes.buffer, 0, NUMBERS).set([segmentId, size, at, length])
  bytes.set(Uint8Array.fromHex(digest), NUMBERS * 8)
  return seal(bytes, placeOf(place))
}

/** Undefined of anything else. */
export function decodePointer(stored: unknown, place: Place): Pointer | undefined {
  const bytes = unseal(stored, placeOf(place))
  if (bytes?.length !== POINTER_BYTES) return undefined
  const [segmentId = 0, size = 0, at = 0, length = 0] = new Float64Array(
    bytes.slice(0, NUMBERS * 8).buffer,
  )
  return { segmentId, size, at, length, digest: bytes.subarray(NUMBERS * 8).toHex() }
}

/** Named by its content besides: what another history puts there never takes its place. */
export const nameOf = (id: number, sha256: string): string =>
  `${id}-${sha256.slice(0, 2 * DIGEST_BYTES)}`

/** `isServing`: a read that cannot run again waits for a moment only. */
export function createArchive(db: Database, logMeta: LogMeta, options: ObjectReaderOptions) {
  let reader: ObjectReader | undefined
  const anySegment = db.prepare<unknown, []>('SELECT 1 FROM segment LIMIT 1')

  function openReader(): ObjectReader {
    const place = logMeta.archivePlace()
    if (place === undefined) throw storageError('It is not known where the archive is.')
    reader = openObjects(place, options)
    return reader
  }
  const eventually: Eventual = (read) =>
    readingNow() === undefined ? new Reading().run(read) : read()

  return {
    read({ segmentId, digest, ...part }: Pointer): Uint8Array {
      return (reader ?? openReader()).read({ ...part, name: nameOf(segmentId, digest) })
    },

    /** Runs reads again that lack something of it; where nothing is in it, at once. */
    eventuallyOf: (isUsed: boolean): Eventual =>
      isUsed || anySegment.get() !== null ? eventually : atOnce,

    close: (): void => reader?.close(),
  }
}

export type Archive = ReturnType<typeof createArchive>
