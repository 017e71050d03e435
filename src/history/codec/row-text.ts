/** The served JSON text of a snapshot, and the offsets of its parts. */
import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import { type Ladder, sameBest, sameWorst, type StoredSnapshot } from '#src/domain/snapshot.ts'
import { byteOf } from '#src/domain/wire/json-bytes.ts'
import { piecesOf, putMillionths, putPiece } from '#src/domain/wire/row-bytes.ts'
import { assert } from '#src/platform/assert.ts'

/** More than the text of a level: `,{"price":0.123456,"size":9007199254.740991}`. */
const LEVEL_BYTES_MAX = 64
/** More than the text before the first level. */
const HEADER_BYTES_MAX = 512

/** Offset of the first digit of the id, the same in every row. */
export const ID_OFFSET = '{"id":"'.length

const pieces = piecesOf({ price: '{"price":', size: ',"size":' })
/** Bytes from a level's `{` to its price, and from the price's end to its size. */
export const PRICE_OFFSET = pieces.price.length
export const SIZE_OFFSET = pieces.size.length

/**
 * One side: the offset of its `[`, and per level price, size and the offsets of `{`, size and `}`.
 */
export class LadderText {
  open = 0
  count = 0
  readonly prices: number[] = []
  readonly sizes: number[] = []
  readonly starts: number[] = []
  readonly sizeStarts: number[] = []
  readonly ends: number[] = []
}

/** A row's text and the offsets of its parts. Reused from row to row: copy what must outlive it. */
export class RowText {
  bytes = new Uint8Array(16_384)
  length = 0
  idEnd = 0
  namesEnd = 0
  readonly bids = new LadderText()
  readonly asks = new LadderText()
}

/**
 * Writes a row. Text shared with `previous`, of the same outcome, is copied: printing is slower.
 */
export function writeRowText(row: RowText, snapshot: StoredSnapshot, previous?: RowText): void {
  const levels = snapshot.bids.prices.length + snapshot.asks.prices.length
  const needed = HEADER_BYTES_MAX + levels * LEVEL_BYTES_MAX
  if (row.bytes.length < needed) row.bytes = new Uint8Array(needed * 2)
  const idText = String(snapshot.id)
  let at = putText(row.bytes, 0, '{"id":"')
  at = putText(row.bytes, at, idText)
  row.idEnd = at
  at = previous ? copyNames(row.bytes, at, previous) : putText(row.bytes, at, namesOf(snapshot))
  row.namesEnd = at
  at = putText(row.bytes, at, new Date(snapshot.timestampMs).toISOString())
  at = putText(row.bytes, at, '","bids":')
  const before = previous ?? NO_ROW
  const { bytes } = row
  const place = { bytes, before: before.bytes }
  at = putLadder({ ...place, at, ladder: snapshot.bids, text: row.bids, old: before.bids })
  at = putText(row.bytes, at, ',"asks":')
  at = putLadder({ ...place, at, ladder: snapshot.asks, text: row.asks, old: before.asks })
  row.bytes[at++] = byteOf.closeBrace
  row.length = at
}

/** The text that all rows of an outcome share. */
const namesOf = ({ assetId, conditionId, coin, outcome, timeframe }: StoredSnapshot): string =>
  `","assetId":"${assetId}","conditionId":"${conditionId}","symbol":"${coin}","outcome":"${outcome}","timeframe":"${timeframe}","timestamp":"`

function copyNames(bytes: Uint8Array, at: number, { bytes: before, idEnd, namesEnd }: RowText) {
  bytes.set(before.subarray(idEnd, namesEnd), at)
  return at + namesEnd - idEnd
}

/** Shares nothing with any row. */
const NO_ROW = new RowText()

type LadderPlace = {
  bytes: Uint8Array
  at: number
  ladder: Ladder
  text: LadderText
  /** The previous row, and its bytes. */
  old: LadderText
  before: Uint8Array
}

function putLadder(place: LadderPlace): number {
  const { bytes, ladder, text, old } = place
  const count = ladder.prices.length
  const head = sameBest(ladder, old)
  const tail = sameWorst(ladder, old, head)
  text.open = place.at
  let at = place.at
  bytes[at++] = byteOf.openBracket
  if (head > 0) at = copyLevels(place, at, { i: 0, j: 0, count: head })
  for (let i = head; i < count - tail; i++) {
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
  if (tail > 0) {
    if (tail < count) bytes[at++] = byteOf.comma
    at = copyLevels(place, at, { i: count - tail, j: old.count - tail, count: tail })
  }
  text.count = text.prices.length = text.sizes.length = count
  bytes[at++] = byteOf.closeBracket
  return at
}

/** The levels from `i` on equal `count` levels of the previous row from `j` on. */
type SameLevels = { i: number; j: number; count: number }

function copyLevels(place: LadderPlace, at: number, { i, j, count }: SameLevels): number {
  const { bytes, before, text, old } = place
  const from = old.starts[j] ?? 0
  const end = (old.ends[j + count - 1] ?? 0) + 1
  bytes.set(before.subarray(from, end), at)
  const moved = at - from
  for (let level = 0; level < count; level++) {
    text.prices[i + level] = old.prices[j + level] ?? 0
    text.sizes[i + level] = old.sizes[j + level] ?? 0
    text.starts[i + level] = (old.starts[j + level] ?? 0) + moved
    text.sizeStarts[i + level] = (old.sizeStarts[j + level] ?? 0) + moved
    text.ends[i + level] = (old.ends[j + level] ?? 0) + moved
  }
  return at + end - from
}

function putText(bytes: Uint8Array, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[start + i] = text.charCodeAt(i)
  return start + text.length
}
