/** Extracts the rows of one outcome from a chunk that holds both, as their own chunk. */
import { BitWriter } from '#src/platform/bits.ts'

import { Chunk, encodeChunk } from './chunk.ts'
import { moveFrame } from './deflate-code.ts'

// Reused: allocating them would take a tenth of the total time.
const rowBits = new BitWriter(65_536)
const checkpointBits = new BitWriter(8192)

/** Takes some 50 us, after which a page copies bits instead of moving every frame. */
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
    // A checkpoint refers only to the first row of its outcome, and so is copied unchanged.
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
