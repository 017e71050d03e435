/** Levels of many rows as integer columns, read from the served text. */
import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import { type Copies, noCopies } from '#src/platform/copies.ts'

import { byteOf } from './json-bytes.ts'

export const PRICE_KEY = '{"price":'.length
const SIZE_KEY = ',"size":'.length
/** Distance from the end of the bids to the first of the asks. */
export const ASKS_KEY = '],"asks":['.length
/** Less than the length of any level: `{"price":0.1,"size":1}`. */
export const LEVEL_BYTES_MIN = 20

/** Multiplier that turns a fraction with this many digits into millionths. */
const scales = [1e6, 1e5, 1e4, 1e3, 100, 10, 1]
/** The end of the last read: a second return value without an allocation. */
const end = new Int32Array(1)

/**
 * Reads a decimal as the store prints it, without checks. Takes half the time of `readMillionths`;
 * a market has a million decimals.
 */
export function readDecimal(bytes: Uint8Array, start: number): number {
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

/** A side that was added: its indexes in the columns, and the offset of its text within the row. */
type Side = { from: number; to: number; at: number }
const none: Side = { from: 0, to: 0, at: 0 }

/**
 * Reused for every run: copy what must outlive it. A level with the same text as in the previous
 * row is not parsed again; most are.
 */
export class LevelColumns {
  prices = new Int32Array(1024)
  sizes = new Float64Array(1024)
  /** Two entries per row: the end of its bids, and of its asks, which follow them. */
  readonly ends: number[] = []
  readonly #depth: number
  /** The end of each level's text in the buffer. */
  #stops = new Int32Array(1024)
  /** The last row of each outcome. */
  #former: { bids: Side; asks: Side }[] = []
  #bytes = new Uint8Array(0) as Uint8Array
  #place = 0
  #length = 0

  /** Reads at most `depth` levels of each side, from the best. */
  constructor(depth: number) {
    this.#depth = depth
  }

  reset(): void {
    this.ends.length = 0
    this.#length = 0
    this.#former = []
  }

  /** Reads one row in place of all before it. */
  read(text: Uint8Array): void {
    this.reset()
    this.add(text, 0, noCopies)
  }

  /** Reads one row: the levels of each side, valid until the next row is read. */
  alone(text: Uint8Array) {
    this.read(text)
    const [middle = 0, length = 0] = this.ends
    const { prices, sizes } = this
    const from = (start: number, end: number) => ({
      prices: prices.subarray(start, end),
      sizes: sizes.subarray(start, end),
    })
    return { bids: from(0, middle), asks: from(middle, length) }
  }

  /**
   * Adds the levels of a row's JSON object as the store writes it; `outcome` is its code. `copies`
   * are the copies within its text, in a buffer that it shares with all rows since `reset`.
   */
  add(text: Uint8Array, outcome: number, copies: Copies): void {
    this.#reserve(this.#length + text.length / LEVEL_BYTES_MIN)
    const { bids, asks } = this.#former[outcome] ?? { bids: none, asks: none }
    if (text.buffer !== this.#bytes.buffer) this.#bytes = new Uint8Array(text.buffer)
    const bidsAt = text.byteOffset + text.indexOf(byteOf.openBracket) + 1
    const from = this.#length
    const asksAt = this.#addSide(bidsAt, { copies, former: bids, worse: -1 }) + ASKS_KEY
    const middle = this.#length
    this.#addSide(asksAt, { copies, former: asks, worse: 1 })
    this.#former[outcome] = {
      bids: { from, to: middle, at: bidsAt },
      asks: { from: middle, to: this.#length, at: asksAt },
    }
  }

  /** Returns the end of the side's text. */
  #addSide(start: number, hints: Hints): number {
    const bytes = this.#bytes
    const stop = this.#length + this.#depth
    let { from: former } = hints.former
    this.#place = start
    while (bytes[this.#place] === byteOf.openBrace && this.#length < stop) {
      const next = this.#repeat(former, hints, stop)
      former = next > former ? next : this.#read(former, hints)
      if (bytes[this.#place] === byteOf.comma) this.#place++
    }
    if (this.#length === stop) this.#place = bytes.indexOf(byteOf.closeBracket, this.#place)
    if (bytes[this.#place] !== byteOf.closeBracket) throw new Error('A row holds no levels.')
    this.ends.push(this.#length)
    return this.#place
  }

  /** Copies levels of the previous row while the text repeats; returns the index after the last. */
  #repeat(first: number, { copies, former: { from, to, at } }: Hints, stop: number): number {
    if (first >= to) return first
    const { prices, sizes } = this
    const stops = this.#stops
    const shift = this.#place - (first === from ? at : (stops[first - 1] ?? 0) + 1)
    // All levels have the same text up to the price.
    const alike = copies.endOf(this.#place + PRICE_KEY, shift)
    let next = first
    let length = this.#length
    for (; next < to && length < stop; next++) {
      const ending = (stops[next] ?? 0) + shift
      if (ending > alike) break
      prices[length] = prices[next] ?? 0
      sizes[length] = sizes[next] ?? 0
      stops[length++] = ending
    }
    if (next > first) this.#place = stops[length - 1] ?? 0
    this.#length = length
    return next
  }

  /** Reads a level; returns the index of the first level of the previous row that is worse. */
  #read(first: number, { former: { to }, worse }: Hints): number {
    const price = readDecimal(this.#bytes, this.#place + PRICE_KEY)
    this.prices[this.#length] = price
    this.sizes[this.#length] = readDecimal(this.#bytes, (end[0] ?? 0) + SIZE_KEY)
    this.#place = (end[0] ?? 0) + 1
    this.#stops[this.#length++] = this.#place
    let next = first
    while (next < to && ((this.prices[next] ?? 0) - price) * worse <= 0) next++
    return next
  }

  #reserve(count: number): void {
    if (count <= this.prices.length) return
    const grow = <T extends Int32Array | Float64Array>(column: T, grown: T): T => {
      grown.set(column)
      return grown
    }
    this.prices = grow(this.prices, new Int32Array(count * 2))
    this.sizes = grow(this.sizes, new Float64Array(count * 2))
    this.#stops = grow(this.#stops, new Int32Array(count * 2))
  }
}

/** Prices get worse by rising (1) or falling (-1). */
type Hints = { copies: Copies; former: Side; worse: 1 | -1 }
