/**
 * Source hashes of a run of rows: 20 bytes each, zeros where unknown, nothing when none is known; then
 * a CRC-32, because nothing else could tell a damaged hash from another one.
 */
import type { Snapshot } from '#src/core/snapshot.ts'
import { crc32 } from '#src/lib/crc32.ts'

const HASH_BYTES = 20
const CRC_BYTES = 4

/** 40 hex digits as 20 bytes. */
export const toHashBytes = (hash: string): Uint8Array => Uint8Array.fromHex(hash)

export function encodeHashes(snapshots: readonly Snapshot[]): Uint8Array {
  const isKnown = snapshots.some(({ sourceHash }) => sourceHash !== undefined)
  const length = isKnown ? snapshots.length * HASH_BYTES : 0
  const bytes = new Uint8Array(length + CRC_BYTES)
  snapshots.forEach(({ sourceHash }, row) => {
    if (sourceHash !== undefined) bytes.set(toHashBytes(sourceHash), row * HASH_BYTES)
  })
  new DataView(bytes.buffer).setUint32(length, crc32(bytes.subarray(0, length)), true)
  return bytes
}

/** The hash of one row, or undefined where it is unknown. */
export function readHash(bytes: Uint8Array, row: number): string | undefined {
  const hash = bytes.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
  return hash.length === HASH_BYTES && hash.some((byte) => byte !== 0) ? hash.toHex() : undefined
}

/** True when these are the undamaged hashes of `count` rows. */
export function areHashesSound(bytes: Uint8Array, count: number): boolean {
  const length = bytes.length - CRC_BYTES
  if (length !== 0 && length !== count * HASH_BYTES) return false
  const crc = new DataView(bytes.buffer, bytes.byteOffset).getUint32(length, true)
  return crc === crc32(bytes.subarray(0, length))
}
