/**
 * A book as the venue writes it to hash it: compact JSON without its own hash, best level last on
 * both sides, up to the end of the levels.
 */
import { hash } from 'node:crypto'

import type { Millionths } from '#src/core/decimal.ts'
import type { Ladder, Snapshot } from '#src/core/snapshot.ts'
import { byteOf } from '#src/wire/json-bytes.ts'
import { putMillionths } from '#src/wire/millionths-bytes.ts'

/** Holds the text of one book. */
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

/** The finest of the usual steps of prices. */
const TICK: Millionths = 1000

/** More than what is around the levels takes, and than one level takes. */
const HEAD_BYTES_MAX = 512
const LEVEL_BYTES_MAX = 64

export function createBookText(): BookText {
  let bytes = new Uint8Array(65_536)
  let end = 0
  const prices = createPriceTexts()

  function writeSide(start: number, key: Uint8Array, ladder: Ladder): number {
    bytes.set(key, start)
    let at = start + key.length
    // The ladder's best level comes first, the venue's last.
    for (let index = ladder.prices.length - 1; index >= 0; index--) {
      const text = prices(ladder.prices[index] ?? 0)
      bytes.set(text, at)
      at = putMillionths(bytes, at + text.length, ladder.sizes[index] ?? 0)
      bytes[at++] = byteOf.quote
      bytes[at++] = byteOf.closeBrace
      bytes[at++] = byteOf.comma
    }
    return ladder.prices.length === 0 ? at : at - 1
  }

  return {
    write({ conditionId, assetId, timestampMs, bids, asks }) {
      const levels = bids.prices.length + asks.prices.length
      const bytesMax = HEAD_BYTES_MAX + levels * LEVEL_BYTES_MAX
      if (bytes.length < bytesMax) bytes = new Uint8Array(bytesMax)
      const head = `{"market":"${conditionId}","asset_id":"${assetId}","timestamp":"${timestampMs}","hash":"",`
      let at = encoder.encodeInto(head, bytes).written
      at = writeSide(at, sideStarts.bids, bids)
      at = writeSide(at, sideStarts.asks, asks)
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
