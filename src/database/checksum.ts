/**
 * How damage is found: whatever a route may return is stored with a CRC-32, compared when it is
 * read. Rows have a column for it, blobs end with it. Rows that could vanish without a trace are
 * covered by a sum of their checksums in the row of their market.
 */

import { crc32 } from '#src/platform/crc32.ts'
import { Fault } from '#src/platform/fault.ts'

const SEAL_BYTES = 4
/** Above every CRC, so that a text is never taken for a number, nor bytes for a text. */
const TEXT = 2 ** 40
const BYTES = 2 ** 41

/** Throws a `damage` fault unless a row agrees with its checksum. */
export function assertSealed(row: Row & { checksum: number | null }, name: string): void {
  assertSound(checksumOf(row) === row.checksum, name)
}

/** Throws a `damage` fault unless the stored thing is sound; `name` says what and where it is. */
export function assertSound(isSound: boolean, name: string): asserts isSound {
  if (!isSound) throw new Fault(`${name} is not as it was written.`, { kind: 'damage' })
}

type Row = Readonly<Record<string, unknown>>

let scratch = new Float64Array(64)

/**
 * The checksum of all values in the order of the columns, except a column `checksum`. Columns after
 * that one were added to rows that were sealed already: while the last of them are null, they do not
 * count.
 */
export function checksumOf(row: Row): number {
  let count = 0
  let end = 0
  let isAdded = false
  // Unlike Object.entries, this makes nothing.
  for (const column in row) {
    if (column === 'checksum') {
      isAdded = true
      continue
    }
    if (count === scratch.length) scratch = Float64Array.of(...scratch, ...scratch)
    scratch[count++] = numberOf(row[column])
    if (!isAdded || row[column] !== null) end = count
  }
  return crc32(new Uint8Array(scratch.buffer, 0, end * 8))
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value
  if (typeof value === 'string') return crc32(value) + TEXT
  return value instanceof Uint8Array ? crc32(value) + BYTES : Number.NaN
}

/** Sums are kept below this, as SQL takes remainders of powers of two, of negative sums too. */
export const SUM_END = 2 ** 48
export const SUM_MASK = SUM_END - 1

const placeNumbers = new Float64Array(8)
const placeBytes = new Uint8Array(placeNumbers.buffer)

/** The place of sealed bytes, at most eight numbers: their seal is valid in no other place. */
export type Place = readonly number[]

function crcOf(bytes: Uint8Array, place: Place): number {
  placeNumbers.fill(0)
  placeNumbers.set(place)
  return crc32(bytes, crc32(placeBytes))
}

/** Bytes with their checksum after them. */
export function seal(bytes: Uint8Array, place: Place): Uint8Array {
  const sealed = new Uint8Array(bytes.length + SEAL_BYTES)
  sealed.set(bytes)
  new DataView(sealed.buffer).setUint32(bytes.length, crcOf(bytes, place), true)
  return sealed
}

/** The bytes that were sealed, in place; undefined when they are not as they were. */
export function unseal(sealed: unknown, place: Place): Uint8Array | undefined {
  if (!(sealed instanceof Uint8Array) || sealed.length < SEAL_BYTES) return undefined
  const end = sealed.length - SEAL_BYTES
  const bytes = sealed.subarray(0, end)
  const crc = new DataView(sealed.buffer, sealed.byteOffset + end).getUint32(0, true)
  return crc === crcOf(bytes, place) ? bytes : undefined
}
