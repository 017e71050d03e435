import { describe, expect, test } from 'bun:test'
import { createGunzip, inflateRawSync } from 'node:zlib'

import { outcomes } from '#src/domain/market.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import { ChunkDecoder, type Slice } from '#src/history/codec/chunk-decoder.ts'
import { ChunkWriter } from '#src/history/codec/chunk-writer.ts'
import { Chunk, CHUNK_ROWS } from '#src/history/codec/chunk.ts'
import {
  endOfBlockBits,
  endOfBlockCode,
  lineHeaderBits,
  lineHeaderBytes,
  literalBits,
  literalCodes,
  newlineBits,
  newlineCode,
} from '#src/history/codec/deflate-code.ts'
import { LineEncoder } from '#src/history/codec/line-encoder.ts'
import type { Encoding } from '#src/history/history.ts'
import { BitWriter, toWords } from '#src/platform/bits.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { aSnapshot, createBookMaker, START_MS } from '../books.ts'
import { rowsText } from '../history-model.ts'

const ROUNDS = 40
const encodings = ['identity', 'gzip'] as const

const chunkWriter = new ChunkWriter()
const reader = new ChunkDecoder()

const newEncoder = (encoding: Encoding): LineEncoder => new LineEncoder(encoding, reader)

function toChunk(rows: readonly StoredSnapshot[]): Chunk {
  chunkWriter.reset()
  for (const row of rows) chunkWriter.add(row)
  return new Chunk(chunkWriter.toChunk())
}

/** One to a hundred rows of one outcome or both, in any mix. */
function randomRows(random: Random): StoredSnapshot[] {
  const only = random.pick([undefined, undefined, ...outcomes])
  const makers = { up: createBookMaker(random), down: createBookMaker(random) }
  let outcome = random.pick(outcomes)
  return Array.from({ length: 1 + random.integer(CHUNK_ROWS) }, (_, at) => {
    if (random.integer(3) === 0) outcome = random.pick(outcomes)
    const own = only ?? outcome
    const book = makers[own]()
    return { ...aSnapshot({ outcome: own, timestampMs: START_MS + at, ...book }), id: at + 1 }
  })
}

/** What is put into a stream: a slice, and the rows that it stands for. */
type Part = { slice: Slice; rows: StoredSnapshot[] }

/**
 * Slices of one chunk after the other: some go on where the last one ended, some leave rows out.
 */
function randomParts(random: Random): Part[] {
  return Array.from({ length: 1 + random.integer(4) }, () => {
    const all = randomRows(random)
    const chunk = toChunk(all)
    const outcome = random.pick([undefined, undefined, ...outcomes])
    const code = outcome && (outcome === 'up' ? 0 : 1)
    const parts: Part[] = []
    for (let from = random.integer(20); from < all.length;) {
      const to = Math.min(all.length, from + 1 + random.integer(40))
      const rows = all.slice(from, to).filter((row) => (outcome ?? row.outcome) === row.outcome)
      // As the walk does: a chunk without rows of the outcome is no part.
      if (rows.length > 0) parts.push({ slice: { chunk, from, to, outcome: code }, rows })
      from = to + (random.integer(3) === 0 ? random.integer(10) : 0)
    }
    return parts
  }).flat()
}

/** Puts the parts into a stream of small pieces, so that it is interrupted very often. */
function encode(encoder: LineEncoder, parts: readonly Part[], random: Random): Buffer[] {
  const pieces: Buffer[] = []
  encoder.begin()
  for (const { slice } of parts) {
    let { from } = slice
    while (from < slice.to) {
      const before = encoder.rowCount
      encoder.add({ ...slice, from })
      const { last } = encoder
      if (!encoder.isFull) from = slice.to
      // The last row may be of another chunk, whose times and ids are the same here.
      else if (last && encoder.rowCount > before) {
        from = slice.chunk.seek(last.timestampMs, last.id) + 1
      }
      if (!encoder.isFull && random.integer(2) === 0) continue
      pieces.push(Buffer.from(encoder.take()))
      encoder.begin()
    }
  }
  pieces.push(Buffer.from(encoder.take()))
  pieces.push(Buffer.from(encoder.end()))
  return pieces
}

const linesOf = (rows: readonly StoredSnapshot[]): string =>
  rows.map((row) => `${rowsText([row])}\n`).join('')

const toText = (encoding: Encoding, bytes: Buffer<ArrayBuffer>): string =>
  Buffer.from(encoding === 'gzip' ? Bun.gunzipSync(bytes) : bytes).toString('latin1')

describe('a stream of lines', () => {
  for (const encoding of encodings) {
    test(`behavior: gives any rows back however it is cut into pieces, ${encoding}, ${ROUNDS} random streams`, () => {
      for (let seed = 1; seed <= ROUNDS; seed++) {
        const random = createRandom(`lines-${seed}`)
        const parts = randomParts(random)
        const encoder = newEncoder(encoding)
        const text = toText(encoding, Buffer.concat(encode(encoder, parts, random)))
        const expected = linesOf(parts.flatMap(({ rows }) => rows))
        expect([seed, text === expected]).toEqual([seed, true])
        expect([seed, encoder.textBytes]).toEqual([seed, expected.length])
        expect([seed, encoder.textCrc]).toEqual([seed, Bun.hash.crc32(expected)])
      }
    })

    test(`behavior: a book larger than a piece is a piece of its own, ${encoding}`, () => {
      const level = (at: number) => 999_999 - at * 7
      const prices = Array.from({ length: 4000 }, (_, at) => level(at))
      const book = (seed: number) => ({
        bids: { prices, sizes: prices.map((price) => (price * seed * 7919) % 2 ** 40) },
        asks: { prices: [], sizes: [] },
      })
      const rows = [1, 2, 3].map((id) => ({
        ...aSnapshot({ timestampMs: START_MS + id, ...book(id) }),
        id,
      }))
      const slice = { chunk: toChunk(rows), from: 0, to: rows.length, outcome: undefined }
      const encoder = newEncoder(encoding)
      const pieces = encode(encoder, [{ slice, rows }], createRandom('large'))
      expect(pieces.length).toBeGreaterThanOrEqual(rows.length)
      expect(toText(encoding, Buffer.concat(pieces)) === linesOf(rows)).toBe(true)
    })
  }

  test('behavior: can be inflated while it arrives', async () => {
    const random = createRandom('arriving')
    const parts = randomParts(random)
    const gunzip = createGunzip()
    const pieces = encode(newEncoder('gzip'), parts, random)
    const arrived: Buffer[] = []
    gunzip.on('data', (data: Buffer) => arrived.push(data))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    gunzip.on('end', resolve).on('error', reject)
    for (const piece of pieces) gunzip.write(piece)
    gunzip.end()
    await promise
    const text = Buffer.concat(arrived).toString('latin1')
    expect(text === linesOf(parts.flatMap(({ rows }) => rows))).toBe(true)
  })

  test('behavior: without a row it is no text, and still a member of gzip', () => {
    for (const encoding of encodings) {
      const encoder = newEncoder(encoding)
      expect(toText(encoding, Buffer.concat(encode(encoder, [], createRandom('none'))))).toBe('')
      expect([encoder.textBytes, encoder.textCrc]).toEqual([0, 0])
    }
  })

  test('error: a damaged row is not passed on as text of another length', () => {
    const random = createRandom('damage')
    const rows = Array.from({ length: 20 }, (_, at) => ({
      ...aSnapshot({ timestampMs: START_MS + at }, 1_234_567 + at),
      id: at + 1,
    }))
    chunkWriter.reset()
    for (const row of rows) chunkWriter.add(row)
    const blob = chunkWriter.toChunk()
    const sound = new Chunk(blob.slice())
    const first = sound.bitStart(0) >>> 3
    const length = (sound.bitEnd(rows.length - 1) >>> 3) - first
    let refused = 0
    for (let round = 0; round < 200; round++) {
      const damaged = blob.slice()
      const at = first + random.integer(length)
      damaged[at] = (damaged[at] ?? 0) ^ (1 << random.integer(8))
      const encoder = newEncoder('identity')
      const slice = { chunk: new Chunk(damaged), from: 0, to: rows.length, outcome: undefined }
      try {
        const [text] = encode(encoder, [{ slice, rows }], createRandom('damaged'))
        expect(text?.length).toBe(linesOf(rows).length)
        expect(encoder.textCrc).toBe(Bun.hash.crc32(linesOf(rows)))
      } catch {
        refused++
      }
    }
    expect(refused).toBeGreaterThan(100)
  })
})

describe('the code of lines', () => {
  test('default: zlib reads the newline and every printable byte but the space', () => {
    const bits = new BitWriter(10_000)
    bits.copy(toWords(lineHeaderBytes), 0, lineHeaderBits)
    const bytes = Array.from({ length: 94 }, (_, at) => 33 + at)
    for (const byte of bytes) bits.put(literalCodes[byte] ?? 0, literalBits[byte] ?? 0)
    bits.put(newlineCode, newlineBits)
    bits.put(endOfBlockCode, endOfBlockBits)
    expect([...inflateRawSync(bits.toBytes())]).toEqual([...bytes, 0x0a])
  })
})
