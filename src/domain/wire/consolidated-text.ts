/** JSON of consolidated books: a snapshot's members, and the source of each level and book. */
import type { ConsolidatedBook, LevelSource, TaggedLadder } from '#src/domain/consolidated.ts'
import type { Market, Outcome } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { toIso } from '#src/domain/time.ts'

import { byteOf } from './json-bytes.ts'
import { MILLIONTHS_BYTES_MAX, piecesOf, putMillionths, putPiece, putText } from './row-bytes.ts'
import type { RowCut, RowField } from './row-cut.ts'

export type ConsolidatedRow = {
  market: Market
  outcome: Outcome
  /** Undefined if unknown: the ladder is then the mirror of the other outcome's. */
  assetId: string | undefined
  /** Position of the newer of the two states. */
  position: Position
  book: ConsolidatedBook
}

type Member = readonly [field: RowField, print: (row: ConsolidatedRow) => string]

/** The members before the ladders, in the order of a snapshot. */
const texts: readonly Member[] = [
  ['id', ({ position }) => `"${position.id}"`],
  ['assetId', ({ assetId }) => (assetId === undefined ? 'null' : `"${assetId}"`)],
  ['conditionId', ({ market }) => `"${market.conditionId}"`],
  ['symbol', ({ market }) => `"${market.coin}"`],
  ['outcome', ({ outcome }) => `"${outcome}"`],
  ['timeframe', ({ market }) => `"${market.timeframe}"`],
  ['timestamp', ({ position }) => `"${toIso(position.timestampMs)}"`],
]
const sides = ['bids', 'asks'] as const

const pieces = piecesOf({ price: '{"price":', size: ',"size":' })
const sourceEnds = piecesOf<LevelSource>({
  own: ',"source":"own"}',
  mirror: ',"source":"mirror"}',
  both: ',"source":"both"}',
})
const LEVEL_BYTES_MAX =
  pieces.price.length + pieces.size.length + sourceEnds.mirror.length + 2 * MILLIONTHS_BYTES_MAX
const REST_BYTES_MAX = 1024

/** Creates a printer of the requested members of a row; the bytes are valid until the next call. */
export function createConsolidatedPrinter() {
  let bytes = new Uint8Array(16_384)

  return (row: ConsolidatedRow, { depth, fields }: RowCut): Uint8Array => {
    const { bids, asks, ...book } = row.book
    const levels = bids.prices.length + asks.prices.length
    const needed = REST_BYTES_MAX + levels * LEVEL_BYTES_MAX
    if (bytes.length < needed) bytes = new Uint8Array(needed * 2)
    const isWanted = (field: RowField) => fields === undefined || fields.has(field)
    const head = texts.filter(([field]) => isWanted(field))
    const members = head.map(([field, print]) => `"${field}":${print(row)},`)
    let at = putText(bytes, 0, `{${members.join('')}`)
    for (const side of sides) {
      if (!isWanted(side)) continue
      at = putText(bytes, at, `"${side}":[`)
      at = putLevels(bytes, at, { ladder: row.book[side], depth })
      at = putText(bytes, at, '],')
    }
    if (isWanted('sources'))
      at = putText(bytes, at, `"sources":${JSON.stringify(toSources(book))},`)
    bytes[at - 1] = byteOf.closeBrace
    return bytes.subarray(0, at)
  }
}

function putLevels(
  bytes: Uint8Array,
  start: number,
  { ladder, depth }: { ladder: TaggedLadder; depth: number | undefined },
): number {
  const { prices, sizes, sources } = ladder
  const count = Math.min(depth ?? prices.length, prices.length)
  let at = start
  for (let level = 0; level < count; level++) {
    if (level > 0) bytes[at++] = byteOf.comma
    at = putMillionths(bytes, putPiece(bytes, at, pieces.price), prices[level] ?? 0)
    at = putMillionths(bytes, putPiece(bytes, at, pieces.size), sizes[level] ?? 0)
    at = putPiece(bytes, at, sourceEnds[sources[level] ?? 'own'])
  }
  return at
}

/** The states from which a ladder is built, as they are served. */
export const toSources = ({ own, mirror, skewMs }: Omit<ConsolidatedBook, 'bids' | 'asks'>) => ({
  own: toSource(own),
  mirror: toSource(mirror),
  skewMs: skewMs ?? null,
})

const toSource = (place: Position | undefined) =>
  place === undefined ? null : { id: String(place.id), timestamp: toIso(place.timestampMs) }
