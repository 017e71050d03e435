/**
 * `bun test/bench/codec.ts`: what pages cost in memory, without a server: joined from frames,
 * against compressing the same text at each request. Books of both outcomes, as live recording
 * brings them.
 */
import { gzipSync } from 'node:zlib'

import type { Slice } from '#src/history/codec/chunk-decoder.ts'
import { ChunkWriter } from '#src/history/codec/chunk-writer.ts'
import { Chunk, outcomeCodes } from '#src/history/codec/chunk.ts'
import { PageEncoder } from '#src/history/codec/page-encoder.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { ownSliceOf } from '../support/own-slice.ts'

const ROWS = 6000
const PAGES_A_ROUND = 300
const ROUNDS = 9

function buildChunks(): Chunk[] {
  const writer = new ChunkWriter()
  const chunks: Chunk[] = []
  let id = 1_000_000
  const startMs = 1_776_081_600_000
  const options = { seed: 'codec', markets: 1, startMs }
  for (const { snapshots } of simulate({ ...options, coins: ['btc'], timeframes: ['5m'] })) {
    for (const snapshot of snapshots) {
      if (chunks.length * 100 >= ROWS) return chunks
      const row = { ...snapshot, id: ++id }
      if (writer.isFullFor(row)) {
        chunks.push(new Chunk(writer.toChunk()))
        writer.reset()
      }
      writer.add(row)
    }
  }
  return chunks
}

const chunks = buildChunks()
const encoder = new PageEncoder()
const rows = chunks.length * 100

/** `count` rows from `from` on, of one outcome only if it is given. */
function slicesOf(from: number, count: number, outcome: number | undefined): Slice[] {
  const slices: Slice[] = []
  for (let at = Math.floor(from / 100); at * 100 < from + count; at++) {
    const chunk = chunks[at]
    if (chunk === undefined) break
    const start = Math.max(0, from - at * 100)
    const to = Math.min(chunk.count, from + count - at * 100)
    slices.push(ownSliceOf({ chunk, from: start, to, outcome }))
  }
  return slices
}

/** Median microseconds of CPU a page, and its bytes. */
function measure(limit: number, make: (from: number) => Uint8Array): [number, number] {
  const times: number[] = []
  let bytes = 0
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    for (let page = 0; page < PAGES_A_ROUND; page++) {
      bytes = make(((page * 7919 + round * 104_729) % (rows - 2 * limit)) + 1).length
    }
    times.push(process.cpuUsage(before).user / PAGES_A_ROUND)
  }
  return [times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0, bytes]
}

console.log('| page | rows | CPU µs | bytes |\n|---|---:|---:|---:|')
for (const limit of [100, 1000]) {
  const text = (from: number): Uint8Array<ArrayBuffer> =>
    encoder.identity(slicesOf(from, limit, undefined), '[', ']')
  const ways: Record<string, (from: number) => Uint8Array> = {
    'gzip, joined, both outcomes': (from) =>
      encoder.gzip(slicesOf(from, limit, undefined), '[', ']'),
    'gzip, joined, one outcome of both': (from) =>
      encoder.gzip(slicesOf(from, limit * 2, outcomeCodes.up), '[', ']'),
    'identity, decoded': text,
    'gzip level 1 at request': (from) => gzipSync(text(from), { level: 1 }),
    'gzip level 6 at request': (from) => gzipSync(text(from), { level: 6 }),
    'zstd level 1 at request': (from) => Bun.zstdCompressSync(text(from), { level: 1 }),
    'zstd level 3 at request': (from) => Bun.zstdCompressSync(text(from), { level: 3 }),
  }
  for (const [name, make] of Object.entries(ways)) {
    const [millionths, bytes] = measure(limit, make)
    console.log(`| ${name} | ${limit} | ${millionths.toFixed(0)} | ${bytes.toLocaleString('en')} |`)
  }
}
