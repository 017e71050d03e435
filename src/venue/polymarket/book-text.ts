/**
 * A book as the venue writes it to hash it: compact JSON without its own hash, best level last on
 * both sides, up to the end of the levels.
 */
import { hash } from 'node:crypto'

import type { Millionths } from '#src/core/decimal.ts'
import type { Ladder, Snapshot } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'
import { byteOf } from '#src/wire/json-bytes.ts'
import { putMillionths } from '#src/wire/row-bytes.ts'

/** Holds the text of one book. Ladders that are written must never change. */
export type BookText = {
  write(snapshot: Snapshot): void
  /** What was written last; valid until the next one is. */
  bytes(): Uint8Array
  /** The SHA-1 of what was written last and this after it, 40 hex digits. */
  hashWith(tail: Uint8Array): string
}

const encoder = new TextEncoder()
const sideStarts = { bids: encoder.encode('"bids":['), asks: encoder.encode('],"asks":[') }
const CLOSE_BRACKET = 93

/** Tokens remembered, more than are live at once; the longest unused are forgotten first. */
const TOKENS_MAX = 512

/** The finest of the usual steps of prices. */
const TICK: Millionths = 1000

/** More than what is around the levels takes, and than one level takes. */
const HEAD_BYTES_MAX = 512
const LEVEL_BYTES_MAX = 64

/** A side as text, of a ladder that never changes. */
type SideText = { ladder: Ladder | undefined; bytes: Uint8Array; length: number }
type Sides = { bids: SideText; asks: SideText }

export function createBookText(): BookText {
  let bytes = new Uint8Array(65_536)
  let end = 0
  const prices = createPriceTexts()
  const tokens = createCache<string, Sides>(TOKENS_MAX)

  function sidesOf(assetId: string): Sides {
    const known = tokens.get(assetId)
    if (known !== undefined) return known
    const sides = { bids: emptySide(), asks: emptySide() }
    tokens.set(assetId, sides, { size: 1 })
    return sides
  }

  function writeLevels(side: SideText, ladder: Ladder): void {
    const bytesMax = ladder.prices.length * LEVEL_BYTES_MAX
    if (side.bytes.length < bytesMax) side.bytes = new Uint8Array(bytesMax)
    const text = side.bytes
    let at = 0
    // The ladder's best level comes first, the venue's last.
    for (let index = ladder.prices.length - 1; index >= 0; index--) {
      const price = prices(ladder.prices[index] ?? 0)
      text.set(price, at)
      at = putMillionths(text, at + price.length, ladder.sizes[index] ?? 0)
      text[at++] = byteOf.quote
      text[at++] = byteOf.closeBrace
      text[at++] = byteOf.comma
    }
    side.length = Math.max(0, at - 1)
    side.ladder = ladder
  }

  function putSide(start: number, key: Uint8Array, side: SideText): number {
    bytes.set(key, start)
    bytes.set(side.bytes.subarray(0, side.length), start + key.length)
    return start + key.length + side.length
  }

  return {
    write({ conditionId, assetId, timestampMs, bids, asks }) {
      const sides = sidesOf(assetId)
      // In most books of a stream one side is that of the book before.
      if (sides.bids.ladder !== bids) writeLevels(sides.bids, bids)
      if (sides.asks.ladder !== asks) writeLevels(sides.asks, asks)
      const bytesMax = HEAD_BYTES_MAX + sides.bids.length + sides.asks.length
      if (bytes.length < bytesMax) bytes = new Uint8Array(bytesMax)
      const head = `{"market":"${conditionId}","asset_id":"${assetId}","timestamp":"${timestampMs}","hash":"",`
      let at = encoder.encodeInto(head, bytes).written
      at = putSide(at, sideStarts.bids, sides.bids)
      at = putSide(at, sideStarts.asks, sides.asks)
      bytes[at] = CLOSE_BRACKET
      end = at + 1
    },
    bytes: () => bytes.subarray(0, end),
    hashWith(tail) {
      bytes.set(tail, end)
      return hash('sha1', bytes.subarray(0, end + tail.length), 'hex')
    },
  }
}

/** A side of an usual book fits; a larger one makes room for itself. */
const emptySide = (): SideText => ({ ladder: undefined, bytes: new Uint8Array(4096), length: 0 })

/**
 * Returns a function from a price to what a level begins with; the usual prices are printed once.
 */
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
