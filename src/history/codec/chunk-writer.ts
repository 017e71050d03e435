/** Builds the unfinished run of one market row by row, and the chunk that it becomes. */
import type { Position, StoredSnapshot } from '#src/core/snapshot.ts'
import { BitWriter, READ_SLACK } from '#src/lib/bits.ts'
import { crc32 } from '#src/lib/crc32.ts'

import {
  type Checkpoint,
  CHECKPOINT_ROWS,
  CHUNK_ROWS,
  type ChunkColumns,
  encodeChunk,
  outcomeCodes,
} from './chunk.ts'
import { FrameEncoder } from './frame-encoder.ts'
import { RowText, writeRowText } from './row-text.ts'

/** Widest span of times or ids that the columns of one chunk hold. */
const COLUMN_MAX = 2 ** 32 - 1

const COMMA_CRC = crc32(Uint8Array.of(0x2c))

/** The first and the last two texts of one outcome, and how many there are. */
class Chain {
  count = 0
  readonly first = new RowText()
  last = new RowText()
  spare = new RowText()
  lastRow = -1
}

export class ChunkWriter {
  readonly columns: ChunkColumns = {
    ...{ times: [], ids: [], outcomes: [], textLengths: [], bitEnds: [], textCrcs: [] },
  }
  readonly snapshots: StoredSnapshot[] = []
  readonly #checkpoints: Checkpoint[] = []
  readonly #rowBits = new BitWriter(32_768)
  readonly #checkpointBits = new BitWriter(8192)
  readonly #rows = new FrameEncoder(this.#rowBits)
  readonly #checkpointFrames = new FrameEncoder(this.#checkpointBits)
  readonly #chains = [new Chain(), new Chain()]
  readonly #textEnds: number[] = []
  #leastId = Number.POSITIVE_INFINITY
  #greatestId = Number.NEGATIVE_INFINITY

  get count(): number {
    return this.columns.times.length
  }

  /** True when a row at this position must begin a new chunk. */
  isFullFor({ timestampMs, id }: Position): boolean {
    const spread = Math.max(id, this.#greatestId) - Math.min(id, this.#leastId)
    return (
      this.count >= CHUNK_ROWS ||
      spread > COLUMN_MAX ||
      timestampMs - (this.columns.times[0] ?? timestampMs) > COLUMN_MAX
    )
  }

  /** Adds a row after all others; the caller keeps the order by time and id. */
  add(snapshot: StoredSnapshot): void {
    const { id } = snapshot
    const outcome = outcomeCodes[snapshot.outcome]
    const chain = this.#chains[outcome] ?? new Chain()
    const row = chain.count === 0 ? chain.first : chain.spare
    writeRowText(row, snapshot)
    const textStart = this.#textEnds.at(-1) ?? 0
    this.#rows.text(',')
    if (chain.count === 0) {
      this.#rows.alone(row.bytes, 0, row.length)
    } else {
      const previous = chain.count === 1 ? chain.first : chain.last
      this.#rows.after(row, previous, textStart - (this.#textEnds[chain.lastRow] ?? 0))
      if (chain.count % CHECKPOINT_ROWS === 0) this.#addCheckpoint(row, chain)
      chain.spare = chain.last
      chain.last = row
    }
    chain.lastRow = this.count
    chain.count++
    const { times, ids, outcomes, textLengths, bitEnds, textCrcs } = this.columns
    times.push(snapshot.timestampMs)
    ids.push(id)
    this.#leastId = Math.min(id, this.#leastId)
    this.#greatestId = Math.max(id, this.#greatestId)
    outcomes.push(outcome)
    textLengths.push(row.length + 1)
    this.#textEnds.push(textStart + row.length + 1)
    bitEnds.push(this.#rowBits.length)
    textCrcs.push(crc32(row.bytes.subarray(0, row.length), COMMA_CRC))
    this.snapshots.push(snapshot)
  }

  #addCheckpoint(row: RowText, chain: Chain): void {
    this.#checkpointFrames.text(',')
    this.#checkpointFrames.after(row, chain.first, 0)
    this.#checkpoints.push({ row: this.count, bitEnd: this.#checkpointBits.length })
  }

  /** The frames of the rows from `from` on, each at the start of a byte. */
  frames(from: number): Uint8Array[] {
    const stream = this.#rowBits.toWords()
    const bits = new BitWriter(1024)
    const { bitEnds } = this.columns
    return bitEnds.slice(from).map((end, index) => {
      const start = bitEnds[from + index - 1] ?? 0
      bits.reset()
      bits.reserve((end - start) >>> 3)
      bits.copy(stream, start, end)
      return bits.toBytes()
    })
  }

  /** The rows as a chunk. The writer is unchanged. */
  toChunk(): Uint8Array {
    return encodeChunk({
      columns: this.columns,
      rowStream: this.#rowBits.toBytes(READ_SLACK),
      checkpoints: this.#checkpoints,
      checkpointStream: this.#checkpointBits.toBytes(READ_SLACK),
    })
  }

  reset(): void {
    for (const column of Object.values(this.columns)) column.length = 0
    for (const list of [this.snapshots, this.#checkpoints, this.#textEnds]) list.length = 0
    for (const chain of this.#chains) chain.count = 0
    this.#leastId = Number.POSITIVE_INFINITY
    this.#greatestId = Number.NEGATIVE_INFINITY
    this.#rowBits.reset()
    this.#checkpointBits.reset()
  }
}
