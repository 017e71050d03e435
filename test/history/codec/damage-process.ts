/**
 * Reads damaged chunks in every way, in a process of its own, because what is to be ruled out is a
 * loop without an end. Arguments: what is done to a sound chunk, and how often. Prints a line
 * before each damage, and `done` at the end; anything thrown that is no Error ends it.
 */
import { writeSync } from 'node:fs'

import { ChunkDecoder, PageTexts } from '#src/history/codec/chunk-decoder.ts'
import { ChunkWriter } from '#src/history/codec/chunk-writer.ts'
import { Chunk } from '#src/history/codec/chunk.ts'
import { PageEncoder } from '#src/history/codec/page-encoder.ts'
import { createRandom } from '#src/platform/random.ts'

import { ownSliceOf } from '../../support/own-slice.ts'
import { simulatedSnapshots } from '../books.ts'

const [kind = 'flip', rounds = '1'] = process.argv.slice(2)
const random = createRandom(kind)
const encoder = new PageEncoder()
const texts = new PageTexts()
const reader = new ChunkDecoder()
const blob = aBlob()

for (let round = 0; round < Number(rounds); round++) {
  const { name, bytes } = damage(round)
  writeSync(1, `${name}\n`)
  readEverything(bytes)
}
writeSync(1, 'done\n')

function aBlob(): Uint8Array {
  const writer = new ChunkWriter()
  simulatedSnapshots('damage', 100).forEach((row, at) => {
    writer.add({ ...row, id: at + 1 })
  })
  return writer.toChunk()
}

function damage(round: number): { name: string; bytes: Uint8Array } {
  const bytes = blob.slice()
  if (kind === 'cut') {
    const length = round < 60 ? round : random.integer(blob.length)
    return { name: `cut to ${length} bytes`, bytes: bytes.slice(0, length) }
  }
  if (kind === 'noise') {
    // The header stays, so that what is behind it is looked at.
    for (let at = 40; at < bytes.length; at++)
      if (at % 5 === round % 5) bytes[at] = random.integer(256)
    return { name: `noise ${round}`, bytes }
  }
  // Half of them in the header and the columns, where a bit does the most.
  const at = random.integer(round % 2 === 0 ? 2500 : blob.length)
  const bit = random.integer(8)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
  return { name: `bit ${bit} of byte ${at}`, bytes }
}

function readEverything(bytes: Uint8Array): void {
  attempt(() => reader.forEach(new Chunk(bytes), () => {}))
  attempt(() => {
    const chunk = new Chunk(bytes)
    for (let row = 0; row < chunk.count; row += 7) reader.text(chunk, row)
  })
  for (const outcome of [undefined, 0, 1]) {
    const slices = () => {
      const chunk = new Chunk(bytes)
      return [ownSliceOf({ chunk, from: 3, to: chunk.count, outcome })]
    }
    const picks = () => {
      const chunk = new Chunk(bytes)
      return [{ chunk, rows: Array.from({ length: chunk.count / 2 }, (_, at) => at * 2) }]
    }
    attempt(() => encoder.gzip(slices(), '[', ']'))
    attempt(() => encoder.identity(slices(), '[', ']'))
    for (const order of ['asc', 'desc'] as const)
      attempt(() => texts.joined({ parts: slices(), order }, '[', ']'))
    attempt(() => texts.joined({ parts: picks(), order: 'asc' }, '[', ']'))
  }
}

function attempt(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof Error)) throw new Error('Not an Error.', { cause: error })
  }
}
