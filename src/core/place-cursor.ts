/**
 * Places in lists as the payload of a cursor: of rows by time and id, of
 * markets by time and condition id.
 */
import type { Position } from './snapshot.ts'

const TIME_BYTES = 6
const ID_BYTES = 6
const TIME_MAX = 2 ** 48 - 1
const FIRST_CONDITION_ID = `0x${'0'.repeat(64)}`

/** What markets are listed by. */
export type MarketPlace = { orderMs: number; conditionId: string }

type Range = { order: 'asc' | 'desc'; fromMs?: number | undefined; toMs?: number | undefined }

const startMsOf = ({ order, fromMs = 0, toMs = TIME_MAX }: Range): number =>
  Math.min(order === 'asc' ? fromMs : toMs, TIME_MAX)

/** The position before every row of a query, in its direction. */
export const startOf = (range: Range): Position => ({ timestampMs: startMsOf(range), id: 0 })

/** The place before every market of a list, in its direction. */
export const startOfMarkets = (range: Range): MarketPlace => ({
  orderMs: startMsOf(range),
  conditionId: FIRST_CONDITION_ID,
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

export function encodeMarketPlace({ orderMs, conditionId }: MarketPlace): Uint8Array {
  const time = Buffer.alloc(TIME_BYTES)
  time.writeUIntBE(orderMs, 0, TIME_BYTES)
  // Its length is the id's own: there are two.
  return Buffer.concat([time, Buffer.from(conditionId.slice(2), 'hex')])
}

export function decodeMarketPlace(payload: Uint8Array): MarketPlace {
  const bytes = Buffer.from(payload)
  return {
    orderMs: bytes.readUIntBE(0, TIME_BYTES),
    conditionId: `0x${bytes.toString('hex', TIME_BYTES)}`,
  }
}
