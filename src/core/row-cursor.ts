/** Positions of rows as the payload of a cursor. */
import type { Position } from './snapshot.ts'

const TIME_BYTES = 6
const ID_BYTES = 6
const TIME_MAX = 2 ** 48 - 1

type Range = { order: 'asc' | 'desc'; fromMs?: number | undefined; toMs?: number | undefined }

/** The position in front of every row of a query, in its direction. */
export const startOf = ({ order, fromMs, toMs }: Range): Position => ({
  timestampMs: Math.min(
    (order === 'asc' ? fromMs : toMs) ?? (order === 'asc' ? 0 : TIME_MAX),
    TIME_MAX,
  ),
  id: 0,
})

export function encodePosition({ timestampMs, id }: Position): Uint8Array {
  const payload = Buffer.alloc(TIME_BYTES + ID_BYTES)
  payload.writeUIntBE(timestampMs, 0, TIME_BYTES)
  payload.writeUIntBE(id, TIME_BYTES, ID_BYTES)
  return payload
}

export function decodePosition(payload: Uint8Array): Position {
  const bytes = Buffer.from(payload)
  return {
    timestampMs: bytes.readUIntBE(0, TIME_BYTES),
    id: bytes.readUIntBE(TIME_BYTES, ID_BYTES),
  }
}
