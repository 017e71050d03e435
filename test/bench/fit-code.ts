/**
 * `bun test/bench/fit-code.ts`: fits the store's Huffman code to books and prints the tables of
 * `src/history/codec/deflate-code.ts`. A fitted code may replace that one only as a new
 * `CODE_VERSION`.
 */
import { MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import { ChunkWriter } from '#src/history/codec/chunk-writer.ts'
import { Chunk } from '#src/history/codec/chunk.ts'
import {
  DISTANCE_BITS_MAX,
  distanceBases,
  distanceTable,
  END_OF_BLOCK,
  lengthBases,
  SYMBOL_BITS_MAX,
  symbolTable,
} from '#src/history/codec/deflate-code.ts'

import { buildHeader } from './block-header.ts'
import { huffmanLengths } from './huffman-lengths.ts'
import { readSnapshots } from './snapshot-source.ts'

const SNAPSHOTS = 100_000
/** Whatever is printable must have a code, however seldom it is. */
const LEAST_FREQUENCY = 20

/**
 * How often each entry of the decoding tables was met; entries are distinguished by their values.
 */
type Counts = { symbols: Map<number, number>; distances: Map<number, number> }

const increment = (counts: Map<number, number>, key: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function countFrame(chunk: Chunk, row: number, { symbols, distances }: Counts): void {
  const { view, start, end } = chunk.frame(row, 0)
  let position = start
  const load = (): number => view.getInt32(position >> 3, true) >> (position & 7)
  while (position < end) {
    const symbol = symbolTable[load() & ((1 << SYMBOL_BITS_MAX) - 1)] ?? 0
    position += (symbol & 15) + ((symbol >> 4) & 15)
    increment(symbols, symbol >> 8)
    if (symbol >> 8 < END_OF_BLOCK) continue
    const code = distanceTable[load() & ((1 << DISTANCE_BITS_MAX) - 1)] ?? 0
    position += (code & 15) + ((code >> 4) & 15)
    increment(distances, code >> 8)
  }
}

/** The other outcome's book, so that the distances of markets with both are met as well. */
const mirror = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  outcome: snapshot.outcome === 'up' ? 'down' : 'up',
  bids: {
    prices: snapshot.asks.prices.map((price) => MILLIONTHS_PER_UNIT - price),
    sizes: snapshot.asks.sizes,
  },
  asks: {
    prices: snapshot.bids.prices.map((price) => MILLIONTHS_PER_UNIT - price),
    sizes: snapshot.bids.sizes,
  },
})

async function count(hasBoth: boolean): Promise<Counts> {
  const counts: Counts = { symbols: new Map(), distances: new Map() }
  const writer = new ChunkWriter()
  let id = 1_000_000
  let market = ''
  const flush = (): void => {
    if (writer.count === 0) return
    const chunk = new Chunk(writer.toChunk())
    for (let row = 0; row < chunk.count; row++) countFrame(chunk, row, counts)
    writer.reset()
  }
  for await (const batch of readSnapshots(SNAPSHOTS)) {
    for (const snapshot of batch) {
      for (const row of hasBoth ? [snapshot, mirror(snapshot)] : [snapshot]) {
        const stored = { ...row, id: ++id }
        if (market !== row.conditionId || writer.isFullFor(stored)) flush()
        market = row.conditionId
        writer.add(stored)
      }
    }
  }
  flush()
  return counts
}

/** Shares of two counts, each weighing the same, as whole numbers. */
function blend(a: Map<number, number>, b: Map<number, number>, key: number): number {
  const share = (counts: Map<number, number>): number =>
    (counts.get(key) ?? 0) / [...counts.values()].reduce((sum, value) => sum + value, 0)
  return Math.round((share(a) + share(b)) * 1_000_000)
}

/** Distances of longer and shorter books than those at hand: to rows before, and within a level. */
const likelyDistance = (code: number): boolean =>
  (code >= 20 && code <= 27) || (code >= 6 && code <= 12)

const one = await count(false)
const both = await count(true)
const symbolFrequencies = Array.from({ length: 286 }, (_, symbol) => {
  if (symbol < 32 || (symbol > 126 && symbol < 256)) return 0
  const value = symbol < 257 ? symbol : 256 + (lengthBases[symbol - 257] ?? 0)
  return blend(one.symbols, both.symbols, value) + LEAST_FREQUENCY
})
const distanceFrequencies = distanceBases.map(
  (base, code) => blend(one.distances, both.distances, base) + (likelyDistance(code) ? 3000 : 300),
)
const print = (lengths: readonly number[]): string =>
  lengths.map((bits) => bits.toString(36)).join('')
const symbolLengths = huffmanLengths(symbolFrequencies, SYMBOL_BITS_MAX)
console.log(`PRINTABLE_LENGTHS = '${print(symbolLengths.slice(32, 127))}'`)
console.log(`LENGTH_LENGTHS = '${print(symbolLengths.slice(256))}'`)
const distanceLengths = huffmanLengths(distanceFrequencies, DISTANCE_BITS_MAX)
console.log(`DISTANCE_LENGTHS = '${print(distanceLengths)}'`)
/** Lines have a newline of the code of the space, which no row holds. */
const lineLengths = symbolLengths.with(10, symbolLengths[32] ?? 0).with(32, 0)
for (const [name, lengths] of Object.entries({ header: symbolLengths, lineHeader: lineLengths })) {
  const { headerBytes, headerBits } = buildHeader(lengths, distanceLengths)
  console.log(`${name}: ${headerBits} bits of '${headerBytes.toBase64()}'`)
}
