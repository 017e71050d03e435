/**
 * Checks a book against the venue's hash of it: the SHA-1 of compact JSON, best level last, with
 * minimum size, tick and last trade price after it. What is not recorded of these is guessed: the
 * prefix is hashed once, and each guess costs one more block.
 */
import { createHash, type Hash } from 'node:crypto'

import type { Millionths } from '#src/core/decimal.ts'
import type { Ladder, Snapshot } from '#src/core/snapshot.ts'
import { createCache } from '#src/lib/cache.ts'
import { byteOf } from '#src/wire/json-bytes.ts'
import { putMillionths } from '#src/wire/row-bytes.ts'

import type { BookVerifier } from '../venue.ts'

/** Prices that a trade can have, in thousandths: 1 to 999; 0 is no trade so far. */
const NO_TRADE = 0
const THOUSAND = 1000
const ticks = ['0.01', '0.001'] as const
type Tick = 0 | 1

/** Last trade prices remembered of each market: they alternate between few. */
const RECENT_MAX = 4
/** Markets remembered, more than are live at once; the longest unused are forgotten first. */
const MARKETS_MAX = 512

type Memory = { recent: readonly number[]; tick: Tick }
type Probe = (tick: Tick, price: number) => boolean

/** Remembers markets from row to row: best fed in order of time. A wrong hash costs 2,000 tries. */
export function createBookVerifier(): BookVerifier {
  const write = createBookWriter()
  const tails = createTails()
  const memories = createCache<string, Memory>(MARKETS_MAX)

  return {
    verify(snapshot) {
      const { sourceHash, conditionId } = snapshot
      if (sourceHash === undefined) return undefined
      const prefix = createHash('sha1').update(write(snapshot))
      const memory = memories.get(conditionId) ?? { recent: [], tick: 0 }
      const probe: Probe = (tick, price) => isHash(prefix, tails[tick]?.[price], sourceHash)
      const found = findLikely(memory, snapshot, probe) ?? search(memory, probe)
      if (found === undefined) return false
      if (found !== memory) memories.set(conditionId, found, { size: 1 })
      return true
    },
  }
}

function isHash(prefix: Hash, tail: Uint8Array | undefined, sourceHash: string): boolean {
  return tail !== undefined && prefix.copy().update(tail).digest('hex') === sourceHash
}

function findLikely(memory: Memory, snapshot: Snapshot, probe: Probe): Memory | undefined {
  const [last = NO_TRADE, ...earlier] = memory.recent
  // Every other book in a recording is settled by this.
  if (probe(memory.tick, last)) return learn(memory, memory.tick, last)
  const likely = [...touchOf(snapshot), ...earlier, last, NO_TRADE]
  for (const tick of ticksOf(memory)) {
    const price = likely.find((candidate) => probe(tick, candidate))
    if (price !== undefined) return learn(memory, tick, price)
  }
  return undefined
}

function search(memory: Memory, probe: Probe): Memory | undefined {
  for (const tick of ticksOf(memory)) {
    const price = searchOutwards(memory.recent[0] ?? THOUSAND / 2, (at) => probe(tick, at))
    if (price !== undefined) return learn(memory, tick, price)
  }
  return undefined
}

/** The tick of the book before comes first: it changes once or twice in a market. */
const ticksOf = ({ tick }: Memory): Tick[] => (tick === 0 ? [0, 1] : [1, 0])

function learn(memory: Memory, tick: Tick, price: number): Memory {
  if (memory.tick === tick && memory.recent[0] === price) return memory
  const others = memory.recent.filter((known) => known !== price)
  return { recent: [price, ...others].slice(0, RECENT_MAX), tick }
}

/** Where trades happen: at the best prices of this book, or of the other's, its mirror. */
function touchOf({ bids, asks }: Snapshot): number[] {
  const best = [bids.prices[0], asks.prices[0]].flatMap((price) =>
    price === undefined || price % THOUSAND !== 0 ? [] : [price / THOUSAND],
  )
  return [...best, ...best.map((price) => THOUSAND - price)]
}

function searchOutwards(start: number, isIt: (price: number) => boolean): number | undefined {
  for (let distance = 0; distance < THOUSAND; distance++) {
    const [below, above] = [start - distance, start + distance]
    if (below > NO_TRADE && isIt(below)) return below
    if (distance > 0 && above < THOUSAND && isIt(above)) return above
  }
  return undefined
}

const encoder = new TextEncoder()

/** What follows the size of a tick in a book, by tick and last trade price. */
const createTails = (): Uint8Array[][] =>
  ticks.map((tick) =>
    Array.from({ length: THOUSAND }, (_, price) => {
      const text = price === NO_TRADE ? '' : `0.${String(price).padStart(3, '0')}`
      return encoder.encode(`${tick}","neg_risk":false,"last_trade_price":"${text}"}`)
    }),
  )

const sideStarts = { bids: encoder.encode('"bids":['), asks: encoder.encode('],"asks":[') }
const middle = encoder.encode('],"min_order_size":"5","tick_size":"')

/** More than the ids and keys in front of the levels take, and than one level takes. */
const HEAD_BYTES_MAX = 512
const LEVEL_BYTES_MAX = 64

/** The book as the venue hashes it, up to its tick; valid until the next one is written. */
function createBookWriter(): (snapshot: Snapshot) => Uint8Array {
  let bytes = new Uint8Array(65_536)
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

  return ({ conditionId, assetId, timestampMs, bids, asks }) => {
    const levels = bids.prices.length + asks.prices.length
    const bytesMax = HEAD_BYTES_MAX + levels * LEVEL_BYTES_MAX
    if (bytes.length < bytesMax) bytes = new Uint8Array(bytesMax)
    const head = `{"market":"${conditionId}","asset_id":"${assetId}","timestamp":"${timestampMs}","hash":"",`
    let at = encoder.encodeInto(head, bytes).written
    at = writeSide(at, sideStarts.bids, bids)
    at = writeSide(at, sideStarts.asks, asks)
    bytes.set(middle, at)
    return bytes.subarray(0, at + middle.length)
  }
}

/** From a price to what a level begins with; the usual prices are printed once. */
function createPriceTexts(): (price: Millionths) => Uint8Array {
  const print = (price: Millionths): Uint8Array => {
    const text = new Uint8Array(LEVEL_BYTES_MAX)
    const start = encoder.encodeInto('{"price":"', text).written
    const end = putMillionths(text, start, price)
    return text.slice(0, end + encoder.encodeInto('","size":"', text.subarray(end)).written)
  }
  const usual = Array.from({ length: THOUSAND }, (_, index) => print(index * THOUSAND))
  return (price) => (price % THOUSAND === 0 ? usual[price / THOUSAND] : undefined) ?? print(price)
}
