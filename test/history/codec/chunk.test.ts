import { describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import { outcomes } from '#src/domain/market.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import { ChunkDecoder, PageTexts, type Slice } from '#src/history/codec/chunk-decoder.ts'
import { ChunkWriter } from '#src/history/codec/chunk-writer.ts'
import { Chunk, CHUNK_ROWS } from '#src/history/codec/chunk.ts'
import { PageEncoder } from '#src/history/codec/page-encoder.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { ownSliceOf } from '../../support/own-slice.ts'
import { aSnapshot, createBookMaker, NO_LEVELS, START_MS } from '../books.ts'
import { rowsText } from '../history-model.ts'

const ROUNDS = 60
const PREFIX = '{"data":['
const SUFFIX = '],"nextCursor":null}'

const writer = new ChunkWriter()
const encoder = new PageEncoder()
const texts = new PageTexts()
const reader = new ChunkDecoder()

function toChunk(rows: readonly StoredSnapshot[]): Chunk {
  writer.reset()
  for (const row of rows) writer.add(row)
  return new Chunk(writer.toChunk())
}

/**
 * Rows as one chunk may hold them: any mix of outcomes, ids out of order as late rows leave them.
 */
function randomRows(random: Random): StoredSnapshot[] {
  const only = random.pick([undefined, undefined, ...outcomes])
  const makers = { up: createBookMaker(random), down: createBookMaker(random) }
  const idStart = random.pick([1, 99_990, 2 ** 40])
  let outcome = random.pick(outcomes)
  let timestampMs = START_MS
  return Array.from({ length: 1 + random.integer(CHUNK_ROWS) }, () => {
    // Long runs of one outcome push the other's last row beyond deflate's window.
    if (random.integer(3) === 0) outcome = random.pick(outcomes)
    timestampMs += random.integer(3000)
    const own = only ?? outcome
    const id = idStart + random.integer(2 ** 20)
    return { ...aSnapshot({ outcome: own, timestampMs, ...makers[own]() }), id }
  })
}

const textOf = (rows: readonly StoredSnapshot[]): string => PREFIX + rowsText(rows) + SUFFIX

/** A stretch of a chunk, of one outcome or both, and the rows that it stands for. */
function randomSlice(random: Random, chunk: Chunk, rows: readonly StoredSnapshot[]) {
  const from = random.integer(rows.length)
  const to = from + 1 + random.integer(rows.length - from)
  const outcome = chunk.hasBoth ? random.pick([undefined, ...outcomes]) : undefined
  const code = outcome && (outcome === 'up' ? 0 : 1)
  const chosen = rows.slice(from, to).filter((row) => (outcome ?? row.outcome) === row.outcome)
  return { slice: { chunk, from, to, outcome: code }, outcome, rows: chosen }
}

describe('a chunk', () => {
  test(`behavior: gives any rows back in every way they are read, ${ROUNDS} random chunks`, () => {
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const random = createRandom(`chunk-${seed}`)
      const rows = randomRows(random)
      const chunk = toChunk(rows)
      const texts: string[] = []
      reader.forEach(chunk, (text) => texts.push(Buffer.from(text).toString()))
      expect([seed, texts.join(',') === rowsText(rows)]).toEqual([seed, true])
      rows.forEach((row, at) => {
        const text = Buffer.from(reader.text(chunk, at)).toString()
        expect([seed, at, text === rowsText([row])]).toEqual([seed, at, true])
        const position = [chunk.timeMs(at), chunk.id(at), chunk.outcome(at)]
        expect(position).toEqual([row.timestampMs, row.id, row.outcome === 'up' ? 0 : 1])
      })
      for (let read = 0; read < 8; read++) {
        const { slice, rows: chosen } = randomSlice(random, chunk, rows)
        if (chosen.length > 0) checkPage([slice], chosen, `seed ${seed}`)
      }
    }
  })

  test('behavior: pages over several chunks join into one gzip member', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = createRandom(`chunks-${seed}`)
      const parts = Array.from({ length: 1 + random.integer(5) }, () => randomRows(random))
      const outcome = random.pick([undefined, ...outcomes])
      const code = outcome && (outcome === 'up' ? 0 : 1)
      const slices = parts.flatMap((rows): Slice[] => {
        const chunk = toChunk(rows)
        const isLacking = outcome !== undefined && rows.every((row) => row.outcome !== outcome)
        return isLacking ? [] : [{ chunk, from: 0, to: rows.length, outcome: code }]
      })
      const rows = parts.flat().filter((row) => (outcome ?? row.outcome) === row.outcome)
      if (rows.length > 0) checkPage(slices, rows, `seed ${seed}`)
    }
  })

  test('behavior: rows far apart, empty, of one level and of 900 levels follow each other', () => {
    const many = (isBids: boolean) => {
      const ticks = Array.from({ length: 900 }, (_, at) => (at + 1) * 1000)
      return {
        prices: isBids ? ticks.toReversed() : ticks,
        sizes: ticks.map((at) => at * 7919 + 1),
      }
    }
    const books = [
      { bids: NO_LEVELS, asks: NO_LEVELS },
      { bids: many(true), asks: many(false) },
      { bids: { prices: [1], sizes: [1] }, asks: NO_LEVELS },
      { bids: NO_LEVELS, asks: { prices: [999_999], sizes: [Number.MAX_SAFE_INTEGER] } },
      { bids: many(true), asks: NO_LEVELS },
    ]
    const rows = books.flatMap((first, a) =>
      books.map((second, b): StoredSnapshot[] => {
        const id = a * 100 + b * 10 + 1
        const at = (step: number) => ({ timestampMs: id * 1000 + step })
        return [
          { ...aSnapshot({ ...at(0), ...first }), id },
          { ...aSnapshot({ ...at(1), ...second, outcome: 'down' }), id: id + 1 },
          { ...aSnapshot({ ...at(2), ...second }), id: id + 2 },
        ]
      }),
    )
    for (const outcome of [undefined, 0, 1]) {
      const flat = rows.flat()
      const chunk = toChunk(flat)
      const own = flat.filter(
        ({ outcome: name }) => outcome === undefined || (outcome === 0) === (name === 'up'),
      )
      checkPage([{ chunk, from: 0, to: flat.length, outcome }], own, `outcome ${outcome}`)
    }
  })
})

function checkPage(asked: readonly Slice[], rows: readonly StoredSnapshot[], name: string): void {
  const text = textOf(rows)
  const slices = asked.map(ownSliceOf)
  const plain = Buffer.from(encoder.identity(slices, PREFIX, SUFFIX)).toString()
  const zipped = encoder.gzip(slices, PREFIX, SUFFIX)
  const byNode = gunzipSync(zipped).toString()
  const byBun = Buffer.from(Bun.gunzipSync(zipped)).toString()
  const reversed = textsOf(slices, 'desc')
  const singly = textsOf(slices, 'asc')
  const isSame = [plain, byNode, byBun, singly].map((each) => each === text)
  isSame.push(reversed === textOf(rows.toReversed()))
  const names = ['plain', 'byNode', 'byBun', 'singly', 'reversed']
  expect([name, names.filter((_, at) => !isSame[at])]).toEqual([name, []])
}

function textsOf(parts: readonly Slice[], order: 'asc' | 'desc'): string {
  return Buffer.from(texts.joined({ parts, order }, PREFIX, SUFFIX)).toString()
}

const python = Bun.which('python3')
/** Reads `name.gz` and `name.txt` of each argument and demands one whole member with that text. */
const script = `
import gzip, sys, zlib
for name in sys.argv[1:]:
    packed, text = open(name + '.gz', 'rb').read(), open(name + '.txt', 'rb').read()
    assert gzip.decompress(packed) == text, name
    reader = zlib.decompressobj(31)
    parts = b''.join(reader.decompress(packed[at:at + 777]) for at in range(0, len(packed), 777))
    assert parts + reader.flush() == text and reader.eof and not reader.unused_data, name
print(len(sys.argv) - 1, 'pages')
`

describe('a gzip page', () => {
  test.skipIf(python === null)(
    'behavior: is read by another client, zlib of Python, whole and in pieces',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'bookfeed-gzip-'))
      const names: string[] = []
      for (let seed = 1; seed <= 25; seed++) {
        const random = createRandom(`python-${seed}`)
        const rows = randomRows(random)
        const { slice, rows: chosen } = randomSlice(random, toChunk(rows), rows)
        const name = join(folder, String(seed))
        if (chosen.length === 0) continue
        await Bun.write(`${name}.gz`, encoder.gzip([ownSliceOf(slice)], PREFIX, SUFFIX).slice())
        await Bun.write(`${name}.txt`, textOf(chosen))
        names.push(name)
      }
      const child = Bun.spawn([python ?? '', '-c', script, ...names], { stderr: 'pipe' })
      const [printed, errors] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ])
      await rm(folder, { recursive: true, force: true })
      expect([printed.trim(), errors]).toEqual([`${names.length} pages`, ''])
    },
  )
})
