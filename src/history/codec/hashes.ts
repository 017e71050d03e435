/** Source hashes of a run of rows: 20 bytes each, zeros where unknown, nothing when none is known. */
import type { Snapshot } from '#src/core/snapshot.ts'

const HASH_BYTES = 20

/** 40 hex digits as 20 bytes. */
export const toHashBytes = (hash: string): Uint8Array => Uint8Array.fromHex(hash)

export function encodeHashes(snapshots: readonly Snapshot[]): Uint8Array {
  const isKnown = snapshots.some(({ sourceHash }) => sourceHash !== undefined)
  const bytes = new Uint8Array(isKnown ? snapshots.length * HASH_BYTES : 0)
  snapshots.forEach(({ sourceHash }, row) => {
    if (sourceHash !== undefined) bytes.set(toHashBytes(sourceHash), row * HASH_BYTES)
  })
  return bytes
}

/** Whether any hash is known. */
export const hasHashes = (bytes: Uint8Array): boolean => bytes.length > 0

/** The hash of one row, or undefined where it is unknown. */
export function readHash(bytes: Uint8Array, row: number): string | undefined {
  const hash = bytes.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
  return hash.length === HASH_BYTES && hash.some((byte) => byte !== 0) ? hash.toHex() : undefined
}
