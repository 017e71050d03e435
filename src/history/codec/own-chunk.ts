/** Rows of one outcome of a chunk that holds both, as a chunk by themselves. */
import { BitWriter } from '#src/platform/bits.ts'

import { Chunk, encodeChunk } from './chunk.ts'
import { moveFrame } from './deflate-code.ts'

// To make them takes as long as a tenth of all else.
const rowBits = new BitWriter(65_536)
const checkpointBits = new BitWriter(8192)

/** Made in some 50 us: a page then only copies bits, instead of moving each frame by itself. */
export function ownChunkOf(chunk: Chunk, outcome: number): Chunk {
  rowBits.reset()
  rowBits.reserve(chunk.size)
  checkpointBits.reset()
  checkpointBits.reserve(chunk.size)
  const rows: { timeMs: number; id: number; outcome: number; bitEnd: number }[] = []
  const textEnds: number[] = []
  const crcs: number[] = []
  const checkpoints: { row: number; bitEnd: number }[] = []
  let previous = -1
  let textEnd = 0
  let next = 0
  for (let row = chunk.nextRowOf(outcome, 0); row < chunk.count;) {
    // Each refers to the first row of its outcome only, and so stays as it is.
    for (; next < chunk.checkpointCount && chunk.checkpoint(next).row <= row; next++) {
      if (chunk.checkpoint(next).row < row) continue
      const { start, end } = chunk.checkpointFrame(next)
      checkpointBits.copy(chunk.words, start, end)
      checkpoints.push({ row: rows.length, bitEnd: checkpointBits.length })
    }
    moveFrame(chunk.frame(row, chunk.gap(row, previous)), rowBits)
    textEnd += chunk.textEnd(row) - chunk.textStart(row)
    rows.push({ timeMs: chunk.timeMs(row), id: chunk.id(row), outcome, bitEnd: rowBits.length })
    textEnds.push(textEnd)
    crcs.push(chunk.ownCrc(row))
    previous = row
    row = chunk.nextRowOf(outcome, row + 1)
  }
  const columns = { count: rows.length, rows, textEnds, crcs, ownCrcs: crcs }
  const streams = { rowStream: rowBits.view(), checkpointStream: checkpointBits.view() }
  return new Chunk(encodeChunk({ columns, checkpoints, ...streams }))
}
