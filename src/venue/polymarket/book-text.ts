/**
 * The text of a book that the venue hashes: compact JSON without the hash itself, best level last
 * on both sides, up to the end of the levels.
 */

import { hash } from 'node:crypto'

import type { Millionths } from '#src/domain/decimal.ts'
import { type Ladder, sameBest, sameWorst, type Snapshot } from '#src/domain/snapshot.ts'
import { byteOf } from '#src/domain/wire/json-bytes.ts'
import { putMillionths } from '#src/domain/wire/row-bytes.ts'
import { createCache } from '#src/platform/cache.ts'

const encoder = new TextEncoder()
const sideStarts = { bids: encoder.encode('"bids":['), asks: encoder.encode('],"asks":[') }
const CLOSE_BRACKET = 93

/** Tokens cached, more than are live at once; the least recently used are evicted first. */
const TOKENS_MAX = 256

/** The finest of the usual ticks. */
const TICK: Millionths = 1000

/** More than the length of the text around the levels. */
const HEAD_BYTES_MAX = 512
/** More than the length of a level. */
const LEVEL_BYTES_MAX = 64

/** The text of a side, whose ladder is immutable; `ends` are the ends of its levels' texts. */
type SideText = { ladder: Ladder; bytes: Uint8Array; ends: number[]; length: number }

/** Holds the text of one book. The ladders passed to it must be immutable. */
export function createBookText() {
  let bytes = new Uint8Array(65_536)
  let end = 0
  const prices = createPriceTexts()
  const tokens = createCache<string, { bids: SideText; asks: SideText }>(TOKENS_MAX)

  /** Prints only the levels between the unchanged ones at both ends. */
  function writeLevels(side: SideText, ladder: Ladder): void {
    const { prices: newPrices, sizes } = ladder
    const count = newPrices.length
    const oldCount = side.ladder.prices.length
    // The ladder's best level comes first, the venue's last.
    const tail = sameBest(ladder, side.ladder)
    const head = sameWorst(ladder, side.ladder, tail)
    const { ends } = side
    const start = head === 0 ? 0 : (ends[head - 1] ?? 0)
    const tailStart = oldCount === tail ? 0 : (ends[oldCount - tail - 1] ?? 0)
    const rest = side.bytes.slice(tailStart, side.length)
    const restEnds = ends.slice(oldCount - tail)
    const bytesMax = count * LEVEL_BYTES_MAX
    if (side.bytes.length < bytesMax) {
      const longer = new Uint8Array(bytesMax)
      longer.set(side.bytes)
      side.bytes = longer
    }
    const text = side.bytes
    let at = start
    for (let index = head; index < count - tail; index++) {
      const level = count - 1 - index
      const price = prices(newPrices[level] ?? 0)
      text.set(price, at)
      at = putMillionths(text, at + price.length, sizes[level] ?? 0)
      text[at++] = byteOf.quote
      text[at++] = byteOf.closeBrace
      text[at++] = byteOf.comma
      ends[index] = at
    }
    text.set(rest, at)
    ends.length = count - tail
    for (const end of restEnds) ends.push(end + at - tailStart)
    side.length = at + rest.length
    side.ladder = ladder
  }

  function putSide(start: number, key: Uint8Array, side: SideText): number {
    bytes.set(key, start)
    // Drops the comma after the last level.
    const length = Math.max(0, side.length - 1)
    bytes.set(side.bytes.subarray(0, length), start + key.length)
    return start + key.length + length
  }

  return {
    /** Writes a book; `marketId` is the form of the market's id in the hash. */
    write(
      { conditionId, assetId, timestampMs, bids, asks }: Snapshot,
      marketId: string = conditionId,
    ): void {
      let sides = tokens.get(assetId)
      if (sides === undefined) {
        sides = { bids: emptySide(), asks: emptySide() }
        tokens.set(assetId, sides, { size: 1 })
      }
      // In most books of a stream, one side is the same as in the previous book.
      if (sides.bids.ladder !== bids) writeLevels(sides.bids, bids)
      if (sides.asks.ladder !== asks) writeLevels(sides.asks, asks)
      const bytesMax = HEAD_BYTES_MAX + sides.bids.length + sides.asks.length
      if (bytes.length < bytesMax) bytes = new Uint8Array(bytesMax)
      const head = `{"market":"${marketId}","asset_id":"${assetId}","timestamp":"${timestampMs}","hash":"",`
      let at = encoder.encodeInto(head, bytes).written
      at = putSide(at, sideStarts.bids, sides.bids)
      at = putSide(at, sideStarts.asks, sides.asks)
      bytes[at] = CLOSE_BRACKET
      end = at + 1
    },
    /** The last text written; valid until the next one. */
    bytes: () => bytes.subarray(0, end),

    /** The SHA-1 of that text followed by `tail`, 40 hex digits. */
    hashWith(tail: Uint8Array): string {
      bytes.set(tail, end)
      return hash('sha1', bytes.subarray(0, end + tail.length), 'hex')
    },
  }
}

/** Fits a usual book; a larger one grows the buffer. */
const emptySide = (): SideText => ({
  ladder: { prices: [], sizes: [] },
  bytes: new Uint8Array(8192),
  ends: [],
  length: 0,
})

/** Returns a function that prints the start of a level; usual prices are printed once. */
function createPriceTexts(): (price: Millionths) => Uint8Array {
  const print = (price: Millionths): Uint8Array => {
    const text = new Uint8Array(LEVEL_BYTES_MAX)
    const start = encoder.encodeInto('{"price":"', text).written
    const end = putMillionths(text, start, price)
    return text.slice(0, end + encoder.encodeInto('","size":"', text.subarray(end)).written)
  }
  const usual = Array.from({ length: 1000 }, (_, index) => print(index * TICK))
  return (price) => (price % TICK === 0 ? usual[price / TICK] : undefined) ?? print(price)
}
