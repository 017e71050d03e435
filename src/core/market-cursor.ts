/** Places in lists of markets as the payload of a cursor. */
const TIME_BYTES = 6
const TIME_MAX = 2 ** 48 - 1
const FIRST_ID = `0x${'0'.repeat(64)}`

/** What markets are listed by. */
export type MarketPlace = { orderMs: number; conditionId: string }

type Range = { order: 'asc' | 'desc'; fromMs?: number | undefined; toMs?: number | undefined }

/** The place in front of every market of a list, in its direction. */
export const startOfMarkets = ({ order, fromMs, toMs }: Range): MarketPlace => ({
  orderMs: Math.min(order === 'asc' ? (fromMs ?? 0) : (toMs ?? TIME_MAX), TIME_MAX),
  conditionId: FIRST_ID,
})

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
