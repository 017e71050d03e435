/** Levels of many rows as columns of integers, read from the text that is served. */
import { MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'

import { byteOf } from './json-bytes.ts'

const PRICE_KEY = '{"price":'.length
const SIZE_KEY = ',"size":'.length
/** From the end of the bids to the first of the asks. */
const ASKS_KEY = '],"asks":['.length
/** Less than any level takes: `{"price":0.1,"size":1}`. */
const LEVEL_BYTES_MIN = 20

/** What a fraction of so many digits is multiplied by to make millionths. */
const scales = [1e6, 1e5, 1e4, 1e3, 100, 10, 1]
/** Where what was read last ends: a second result without an object. */
const end = new Int32Array(1)

/**
 * Reads a decimal as the store prints it, which is known to be one, so nothing is checked: half of
 * what `readMillionths` takes, of which a whole market has a million.
 */
function readDecimal(bytes: Uint8Array, start: number): number {
  let at = start
  let digits = 0
  let byte = bytes[at] ?? 0
  while (byte >= byteOf.zero && byte <= byteOf.nine) {
    digits = digits * 10 + (byte - byteOf.zero)
    byte = bytes[++at] ?? 0
  }
  const whole = digits * MILLIONTHS_PER_UNIT
  end[0] = at
  if (byte !== byteOf.dot) return whole
  const point = at
  digits = 0
  byte = bytes[++at] ?? 0
  while (byte >= byteOf.zero && byte <= byteOf.nine) {
    digits = digits * 10 + (byte - byteOf.zero)
    byte = bytes[++at] ?? 0
  }
  end[0] = at
  return whole + digits * (scales[at - point - 1] ?? Number.NaN)
}

/** Reused from run to run: copy what must last. */
export class LevelColumns {
  prices = new Int32Array(1024)
  sizes = new Float64Array(1024)
  /** Of each row, two after another: where its bids end, and its asks, which follow them. */
  readonly ends: number[] = []
  readonly #depth: number
  readonly #cursor: { bytes: Uint8Array; at: number } = { bytes: new Uint8Array(0), at: 0 }
  #length = 0

  /** Of each side `depth` levels at most, from the best. */
  constructor(depth: number) {
    this.#depth = depth
  }

  reset(): void {
    this.ends.length = 0
    this.#length = 0
  }

  /** Adds the levels of a row's JSON object as the store writes it. */
  add(text: Uint8Array): void {
    this.#reserve(this.#length + text.length / LEVEL_BYTES_MIN)
    this.#cursor.bytes = text
    this.#cursor.at = text.indexOf(byteOf.openBracket) + 1
    this.#addSide()
    this.#cursor.at += ASKS_KEY
    this.#addSide()
  }

  #addSide(): void {
    const { prices, sizes } = this
    const cursor = this.#cursor
    const { bytes } = cursor
    const first = this.#length
    const stop = first + this.#depth
    let at = first
    let place = cursor.at
    while (bytes[place] === byteOf.openBrace && at < stop) {
      prices[at] = readDecimal(bytes, place + PRICE_KEY)
      sizes[at++] = readDecimal(bytes, (end[0] ?? 0) + SIZE_KEY)
      place = end[0] ?? 0
      place += bytes[place + 1] === byteOf.comma ? 2 : 1
    }
    cursor.at = at === stop ? bytes.indexOf(byteOf.closeBracket, place) : place
    if (bytes[cursor.at] !== byteOf.closeBracket) throw new Error('A row holds no levels.')
    this.#length = at
    this.ends.push(at)
  }

  #reserve(count: number): void {
    if (count <= this.prices.length) return
    const [{ prices }, { sizes }] = [this, this]
    this.prices = new Int32Array(count * 2)
    this.sizes = new Float64Array(count * 2)
    this.prices.set(prices)
    this.sizes.set(sizes)
  }
}
