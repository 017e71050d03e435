/** The JSON text of one snapshot as it is served, and where its parts are. */
import { MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'
import type { Ladder, StoredSnapshot } from '#src/core/snapshot.ts'
import { assert } from '#src/lib/assert.ts'
import { byteOf } from '#src/wire/json-bytes.ts'
import { piecesOf, putMillionths, putPiece } from '#src/wire/row-bytes.ts'

/** More than the text of a level can take: `,{"price":0.123456,"size":9007199254.740991}`. */
const LEVEL_BYTES_MAX = 64
/** More than everything before the first level can take. */
const HEADER_BYTES_MAX = 512

/** Offset in every row of the first digit of its id. */
export const ID_OFFSET = '{"id":"'.length

const pieces = piecesOf({ price: '{"price":', size: ',"size":' })
/** Bytes from a level's `{` to its price, and from the price's end to its size. */
export const PRICE_OFFSET = pieces.price.length
export const SIZE_OFFSET = pieces.size.length

/** One side: offset of its `[`, and per level price, size and the offsets of `{`, size and `}`. */
export class LadderText {
  open = 0
  count = 0
  readonly prices: number[] = []
  readonly sizes: number[] = []
  readonly starts: number[] = []
  readonly sizeStarts: number[] = []
  readonly ends: number[] = []
}

/** A row's text and where its parts are. Reused from row to row: copy what must last. */
export class RowText {
  bytes = new Uint8Array(16_384)
  length = 0
  idEnd = 0
  readonly bids = new LadderText()
  readonly asks = new LadderText()
}

export function writeRowText(row: RowText, snapshot: StoredSnapshot): void {
  const levels = snapshot.bids.prices.length + snapshot.asks.prices.length
  const needed = HEADER_BYTES_MAX + levels * LEVEL_BYTES_MAX
  if (row.bytes.length < needed) row.bytes = new Uint8Array(needed * 2)
  const idText = String(snapshot.id)
  const fixed = `","assetId":"${snapshot.assetId}","conditionId":"${snapshot.conditionId}","symbol":"${snapshot.coin}","outcome":"${snapshot.outcome}","timeframe":"${snapshot.timeframe}","timestamp":"`
  let at = putText(row.bytes, 0, '{"id":"')
  at = putText(row.bytes, at, idText)
  row.idEnd = at
  at = putText(row.bytes, at, fixed)
  at = putText(row.bytes, at, new Date(snapshot.timestampMs).toISOString())
  at = putText(row.bytes, at, '","bids":')
  at = putLadder(row, { at, ladder: snapshot.bids, text: row.bids })
  at = putText(row.bytes, at, ',"asks":')
  at = putLadder(row, { at, ladder: snapshot.asks, text: row.asks })
  row.bytes[at++] = byteOf.closeBrace
  row.length = at
}

type LadderPlace = { at: number; ladder: Ladder; text: LadderText }

function putLadder({ bytes }: RowText, { at: start, ladder, text }: LadderPlace): number {
  const count = ladder.prices.length
  let at = start
  text.open = at
  bytes[at++] = byteOf.openBracket
  for (let i = 0; i < count; i++) {
    if (i > 0) bytes[at++] = byteOf.comma
    const price = ladder.prices[i] ?? 0
    const size = ladder.sizes[i] ?? 0
    assert(price > 0 && price < MILLIONTHS_PER_UNIT && size > 0, 'a level has a price and a size')
    text.prices[i] = price
    text.sizes[i] = size
    text.starts[i] = at
    at = putMillionths(bytes, putPiece(bytes, at, pieces.price), price)
    at = putPiece(bytes, at, pieces.size)
    text.sizeStarts[i] = at
    at = putMillionths(bytes, at, size)
    text.ends[i] = at
    bytes[at++] = byteOf.closeBrace
  }
  text.count = count
  bytes[at++] = byteOf.closeBracket
  return at
}

function putText(bytes: Uint8Array, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[start + i] = text.charCodeAt(i)
  return start + text.length
}
