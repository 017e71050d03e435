/** Levels of many rows as columns of integers, read from the text that is served. */
import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import { Copies } from '#src/platform/copies.ts'

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

const noCopies = new Copies()

/** A side that was added: its indexes in the columns, and where its text is, from the row's on. */
type Side = { from: number; to: number; at: number }
const none: Side = { from: 0, to: 0, at: 0 }

/**
 * Reused from run to run: copy what must last. Levels whose text is that of the row before, which
 * most are, are not read again.
 */
export class LevelColumns {
  prices = new Int32Array(1024)
  sizes = new Float64Array(1024)
  /** Of each row, two after another: where its bids end, and its asks, which follow them. */
  readonly ends: number[] = []
  readonly #depth: number
  /** Of each level where its text ends in the buffer. */
  #stops = new Int32Array(1024)
  /** Of each outcome the last row. */
  #former: { bids: Side; asks: Side }[] = []
  #bytes = new Uint8Array(0) as Uint8Array
  #place = 0
  #length = 0

  /** Of each side `depth` levels at most, from the best. */
  constructor(depth: number) {
    this.#depth = depth
  }

  reset(): void {
    this.ends.length = 0
    this.#length = 0
    this.#former = []
  }

  /** Reads a row alone: the levels of each side, valid until the next row is read. */
  alone(text: Uint8Array) {
    this.reset()
    this.add(text, 0, noCopies)
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
   * are those of its text in a buffer which it shares with all rows since `reset`.
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

  /** Returns where the text of the side ends. */
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

  /** Adds levels of the former row again as far as the text repeats it; returns the one after. */
  #repeat(first: number, { copies, former: { from, to, at } }: Hints, stop: number): number {
    if (first >= to) return first
    const { prices, sizes } = this
    const stops = this.#stops
    const shift = this.#place - (first === from ? at : (stops[first - 1] ?? 0) + 1)
    // Up to its price each level is like all others.
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

  /** Reads a level; returns the first of the former row that is worse. */
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

/** Prices become worse by rising (1) or falling (-1). */
type Hints = { copies: Copies; former: Side; worse: 1 | -1 }
