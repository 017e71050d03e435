/** Levels of many rows as columns of integers, read from the text that is served. */
import { byteOf } from './json-bytes.ts'
import { readMillionths } from './snapshot-values.ts'

const PRICE_KEY = '{"price":'.length
const SIZE_KEY = ',"size":'.length
/** From the end of the bids to the first of the asks. */
const ASKS_KEY = '],"asks":['.length
/** Less than any level takes: `{"price":0.1,"size":1}`. */
const LEVEL_BYTES_MIN = 20

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
    while (bytes[cursor.at] === byteOf.openBrace && at < stop) {
      cursor.at += PRICE_KEY
      prices[at] = readMillionths(cursor)
      cursor.at += SIZE_KEY
      sizes[at++] = readMillionths(cursor)
      cursor.at += bytes[cursor.at + 1] === byteOf.comma ? 2 : 1
    }
    if (at === stop) cursor.at = bytes.indexOf(byteOf.closeBracket, cursor.at)
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
