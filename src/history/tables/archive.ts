/**
 * The archived books of ended markets, packed into objects. In the database a pointer replaces
 * them, sealed for its place as the bytes are for theirs.
 */

import { type Place, seal, unseal } from '#src/database/checksum.ts'
import { storageError } from '#src/database/database.ts'
import {
  type ObjectCounts,
  type ObjectReader,
  openObjects,
  type Part,
} from '#src/database/stores.ts'

import type { LogMeta } from './meta-table.ts'

/** The position of sealed bytes: in an object of `size` bytes, from `at` on. */
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
/** The size including its seal. */
export const SEALED_POINTER_BYTES = POINTER_BYTES + 4
/** The first number of a pointer's place, beyond the kinds that it replaces. */
const POINTERS = 16

const NO_COUNTS: ObjectCounts = { answered: 0, failed: 0, ms: 0, bytes: 0 }

const placeOf = ([kind = 0, ...rest]: Place): Place => [kind + POINTERS, ...rest]

/** Encodes a pointer; `place` is that of the bytes. */
export function encodePointer(pointer: Pointer, place: Place): Uint8Array {
  const bytes = new Uint8Array(POINTER_BYTES)
  const { segmentId, size, at, length, digest } = pointer
  new Float64Array(bytes.buffer, 0, NUMBERS).set([segmentId, size, at, length])
  bytes.set(Uint8Array.fromHex(digest), NUMBERS * 8)
  return seal(bytes, placeOf(place))
}

/** Undefined for anything other than a pointer. */
export function decodePointer(stored: unknown, place: Place): Pointer | undefined {
  const bytes = unseal(stored, placeOf(place))
  if (bytes?.length !== POINTER_BYTES) return undefined
  const [segmentId = 0, size = 0, at = 0, length = 0] = new Float64Array(
    bytes.slice(0, NUMBERS * 8).buffer,
  )
  return { segmentId, size, at, length, digest: bytes.subarray(NUMBERS * 8).toHex() }
}

/** The name includes the content, so that an object of another history never replaces it. */
export const nameOf = (id: number, sha256: string): string =>
  `${id}-${sha256.slice(0, 2 * DIGEST_BYTES)}`

/** The objects of an archive, which is opened at the first read. */
export function createArchive(logMeta: LogMeta) {
  let reader: ObjectReader | undefined

  function openReader(): ObjectReader {
    const place = logMeta.archivePlace()
    if (place === undefined) throw storageError('It is not known where the archive is.')
    reader = openObjects(place)
    return reader
  }
  const partAt = ({ segmentId, digest, size, at, length }: Pointer): Part => ({
    name: nameOf(segmentId, digest),
    size,
    at,
    length,
  })

  return {
    /** Opens the archive if it is not open. */
    open: (): void => void (reader ?? openReader()),

    /** Like `ObjectReader.read`. */
    read: (pointer: Pointer): Uint8Array => (reader ?? openReader()).read(partAt(pointer)),

    /** Like `ObjectReader.fetch`. */
    fetch: async (pointers: readonly Pointer[]) =>
      (reader ?? openReader()).fetch(pointers.map(partAt)),

    counts: (): ObjectCounts => reader?.counts() ?? NO_COUNTS,

    close: (): void => reader?.close(),
  }
}

export type Archive = ReturnType<typeof createArchive>
