/** Numbers and bytes in one column, where an engine gives a column one type. */
import type { Database } from './database.ts'

export type Packing = Record<'pack' | 'unpack', (value: number | Uint8Array) => number | Uint8Array>
const asItIs: Packing = { pack: (value) => value, unpack: (value) => value }
/** Bytes that are no number have another length. */
const NUMBER_BYTES = 8
/** Of an engine whose columns have one type. */
export const packedInBytes: Packing = {
  pack: (value) =>
    typeof value === 'number' ? new Uint8Array(new Float64Array([value]).buffer) : value,
  unpack: (value) =>
    typeof value !== 'number' && value.length === NUMBER_BYTES
      ? new DataView(value.buffer, value.byteOffset).getFloat64(0, true)
      : value,
}

export const packingOf = (db: Database): Packing => (db.engine.mixesTypes ? asItIs : packedInBytes)
