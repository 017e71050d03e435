import { expect, test } from 'bun:test'

import { outcomes } from '#src/domain/market.ts'
import type { Ladder, StoredSnapshot } from '#src/domain/snapshot.ts'
import { LevelColumns } from '#src/domain/wire/level-columns.ts'
import { ChunkDecoder } from '#src/history/codec/chunk-decoder.ts'
import { ChunkWriter } from '#src/history/codec/chunk-writer.ts'
import { Chunk, CHUNK_ROWS } from '#src/history/codec/chunk.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { aSnapshot, createBookMaker, simulatedSnapshots, START_MS } from '../books.ts'

const ROUNDS = 60
const writer = new ChunkWriter()
const decoder = new ChunkDecoder()

function randomRows(random: Random): StoredSnapshot[] {
  const makers = { up: createBookMaker(random), down: createBookMaker(random) }
  return Array.from({ length: 1 + random.integer(CHUNK_ROWS) }, (_, at) => {
    const outcome = random.pick(outcomes)
    const book = makers[outcome]()
    return { ...aSnapshot({ outcome, timestampMs: START_MS + at, ...book }), id: at + 1 }
  })
}

/** Reads the levels of rows into columns, at most `depth` levels of each side. */
function readColumns(
  columns: LevelColumns,
  rows: readonly StoredSnapshot[],
  isWanted: (row: number) => boolean,
): Ladder[] {
  writer.reset()
  for (const row of rows) writer.add(row)
  const chunk = new Chunk(writer.toChunk())
  columns.reset()
  decoder.forEach(chunk, (text, row, copies) => {
    if (isWanted(row)) columns.add(text, chunk.outcome(row), copies)
  })
  const { ends, prices, sizes } = columns
  return ends.map((to, index) => {
    const from = ends[index - 1] ?? 0
    return { prices: [...prices.slice(from, to)], sizes: [...sizes.slice(from, to)] }
  })
}

const cut = ({ prices, sizes }: Ladder, depth: number): Ladder => ({
  prices: prices.slice(0, depth),
  sizes: sizes.slice(0, depth),
})

test('default: levels of any rows, of one outcome or both, to any depth, are those written', () => {
  const random = createRandom('level-columns')
  for (let round = 0; round < ROUNDS; round++) {
    const depth = random.pick([1, 3, 10, Number.POSITIVE_INFINITY])
    const columns = new LevelColumns(depth)
    // Columns are used again: what is left of a run before must not matter.
    for (let run = 0; run < 3; run++) {
      const isSimulated = random.integer(3) === 0
      const rows = isSimulated
        ? simulatedSnapshots(`${round}`, CHUNK_ROWS).map((row, id) => ({ ...row, id: id + 1 }))
        : randomRows(random)
      const wanted = new Set(rows.flatMap((_, row) => (random.integer(5) > 0 ? [row] : [])))
      const read = readColumns(columns, rows.slice(0, CHUNK_ROWS), (row) => wanted.has(row))
      const expected = rows
        .slice(0, CHUNK_ROWS)
        .filter((_, row) => wanted.has(row))
        .flatMap(({ bids, asks }) => [cut(bids, depth), cut(asks, depth)])
      expect(read).toEqual(expected)
    }
  }
})
