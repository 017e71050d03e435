/** Rows of one outcome of a chunk that holds both, as a chunk by themselves. */
import { BitWriter, READ_SLACK } from '#src/lib/bits.ts'

import { Chunk, encodeChunk } from './chunk.ts'
import { moveFrame } from './deflate-code.ts'

// To make them takes as long as a tenth of all else.
const rowBits = new BitWriter(65_536)
const checkpointBits = new BitWriter(8192)

/** Made in some 100 us: a page then only copies bits, instead of moving each frame by itself. */
export function ownChunkOf(chunk: Chunk, outcome: number): Chunk {
  rowBits.reset()
  rowBits.reserve(chunk.byteLength)
  const rows: { timeMs: number; id: number; outcome: number; bitEnd: number }[] = []
  const [textEnds, crcs]: [number[], number[]] = [[], []]
  const places = new Map<number, number>()
  let previous = -1
  for (let row = chunk.nextRowOf(outcome, 0); row < chunk.count;) {
    moveFrame(chunk.frame(row, chunk.gap(row, previous)), rowBits)
    places.set(row, rows.length)
    rows.push({ timeMs: chunk.timeMs(row), id: chunk.id(row), outcome, bitEnd: rowBits.length })
    textEnds.push((textEnds.at(-1) ?? 0) + chunk.textEnd(row) - chunk.textStart(row))
    crcs.push(chunk.ownCrc(row))
    previous = row
    row = chunk.nextRowOf(outcome, row + 1)
  }
  const columns = { count: rows.length, rows, textEnds, crcs, ownCrcs: crcs }
  const rowStream = rowBits.toBytes(READ_SLACK)
  return new Chunk(encodeChunk({ columns, rowStream, ...checkpointsOf(chunk, places) }))
}

/** Each refers to the first row of its outcome only, and so stays as it is. */
function checkpointsOf(chunk: Chunk, places: ReadonlyMap<number, number>) {
  checkpointBits.reset()
  checkpointBits.reserve(chunk.byteLength)
  const checkpoints: { row: number; bitEnd: number }[] = []
  for (let index = 0; index < chunk.checkpointCount; index++) {
    const row = places.get(chunk.checkpoint(index).row)
    if (row === undefined) continue
    const { start, end } = chunk.checkpointFrame(index)
    checkpointBits.copy(chunk.words, start, end)
    checkpoints.push({ row, bitEnd: checkpointBits.length })
  }
  return { checkpoints, checkpointStream: checkpointBits.toBytes(READ_SLACK) }
}
