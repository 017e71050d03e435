/** Tables whose `value` is a number or bytes: a column of PostgreSQL has a single type. */
import type { Cell } from '#src/database/database.ts'

import type { StoreTable } from './tables.ts'

/** The length of a number in bytes; bytes of another length are not one. */
const NUMBER_BYTES = 8

export const packedInBytes = {
  pack: (value: number | Uint8Array): Uint8Array =>
    typeof value === 'number' ? new Uint8Array(new Float64Array([value]).buffer) : value,
  unpack: (value: number | Uint8Array): number | Uint8Array =>
    typeof value !== 'number' && value.length === NUMBER_BYTES
      ? new DataView(value.buffer, value.byteOffset).getFloat64(0, true)
      : value,
}

export const hasPacked = ({ name }: StoreTable): boolean => name === 'meta' || name === 'log_meta'

const changed = (
  [key = null, value]: readonly Cell[],
  change: (value: number | Uint8Array) => number | Uint8Array,
): Cell[] => [key, change(value as number | Uint8Array)]

/** Converts a row between the formats of PostgreSQL and of a file. */
export const packRow = (row: readonly Cell[]): Cell[] => changed(row, packedInBytes.pack)
export const unpackRow = (row: readonly Cell[]): Cell[] => changed(row, packedInBytes.unpack)

/** Approximate memory of a row in bytes. */
export function sizeOfRow(row: readonly Cell[]): number {
  let bytes = 0
  for (const cell of row)
    bytes += typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8
  return bytes
}
