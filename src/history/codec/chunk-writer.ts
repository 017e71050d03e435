/** Builds the unfinished run of a market row by row, and the chunk that it becomes. */
import type { Position, StoredSnapshot } from '#src/domain/snapshot.ts'
import { BitWriter } from '#src/platform/bits.ts'
import { crc32 } from '#src/platform/crc32.ts'

import { type Checkpoint, CHUNK_ROWS, encodeChunk, outcomeCodes } from './chunk.ts'
import { FrameEncoder } from './frame-encoder.ts'
import { RowText, writeRowText } from './row-text.ts'
import { RunColumns } from './run-columns.ts'

/** Rows of an outcome between two checkpoints. */
const CHECKPOINT_ROWS = 10

/** The widest span of times or ids that the columns of a chunk can hold. */
const COLUMN_MAX = 2 ** 32 - 1

const COMMA_CRC = crc32(Uint8Array.of(0x2c))

/** The first text and the last two texts of an outcome, and their number. */
class Chain {
  count = 0
  readonly first = new RowText()
  last = new RowText()
  spare = new RowText()
  lastRow = -1
}

export class ChunkWriter {
  readonly columns = new RunColumns()
  readonly snapshots: StoredSnapshot[] = []
  readonly #checkpoints: Checkpoint[] = []
  readonly #rowBits = new BitWriter(32_768)
  readonly #checkpointBits = new BitWriter(8192)
  readonly #rows = new FrameEncoder(this.#rowBits)
  readonly #checkpointFrames = new FrameEncoder(this.#checkpointBits)
  readonly #chains = [new Chain(), new Chain()]
  #leastId = Number.POSITIVE_INFINITY
  #greatestId = Number.NEGATIVE_INFINITY

  get count(): number {
    return this.columns.count
  }

  isFullFor({ timestampMs, id }: Position): boolean {
    const spread = Math.max(id, this.#greatestId) - Math.min(id, this.#leastId)
    return (
      this.count >= CHUNK_ROWS ||
      spread > COLUMN_MAX ||
      timestampMs - (this.columns.rows[0]?.timeMs ?? timestampMs) > COLUMN_MAX
    )
  }

  /** Adds a row after all others; the caller keeps the order by time and id. */
  add(snapshot: StoredSnapshot): void {
    const { id } = snapshot
    const outcome = outcomeCodes[snapshot.outcome]
    const chain = this.#chains[outcome] ?? new Chain()
    const row = chain.count === 0 ? chain.first : chain.spare
    const previous = chain.count === 1 ? chain.first : chain.last
    writeRowText(row, snapshot, chain.count === 0 ? undefined : previous)
    const { textEnd, textEnds } = this.columns
    this.#rows.text(',')
    if (chain.count === 0) {
      this.#rows.alone(row.bytes, 0, row.length)
    } else {
      this.#rows.after(row, previous, textEnd - (textEnds[chain.lastRow] ?? 0))
      if (chain.count % CHECKPOINT_ROWS === 0) this.#addCheckpoint(row, chain)
      chain.spare = chain.last
      chain.last = row
    }
    chain.lastRow = this.count
    chain.count++
    this.columns.add({
      timeMs: snapshot.timestampMs,
      id,
      outcome,
      textLength: row.length + 1,
      textCrc: crc32(row.bytes.subarray(0, row.length), COMMA_CRC),
      bitEnd: this.#rowBits.length,
    })
    this.#leastId = Math.min(id, this.#leastId)
    this.#greatestId = Math.max(id, this.#greatestId)
    this.snapshots.push(snapshot)
  }

  #addCheckpoint(row: RowText, chain: Chain): void {
    this.#checkpointFrames.text(',')
    this.#checkpointFrames.after(row, chain.first, 0)
    this.#checkpoints.push({ row: this.count, bitEnd: this.#checkpointBits.length })
  }

  /** The frames of the rows from `from` on, each byte-aligned. */
  frames(from: number): Uint8Array[] {
    const stream = this.#rowBits.toWords()
    const bits = new BitWriter(1024)
    return this.columns.rows.slice(from).map(({ bitEnd }, index) => {
      const start = this.columns.bitStart(from + index)
      bits.reset()
      bits.reserve((bitEnd - start) >>> 3)
      bits.copy(stream, start, bitEnd)
      return bits.toBytes()
    })
  }

  toChunk(): Uint8Array {
    return encodeChunk({
      columns: this.columns,
      rowStream: this.#rowBits.view(),
      checkpoints: this.#checkpoints,
      checkpointStream: this.#checkpointBits.view(),
    })
  }

  reset(): void {
    this.columns.reset()
    for (const list of [this.snapshots, this.#checkpoints]) list.length = 0
    for (const chain of this.#chains) chain.count = 0
    this.#leastId = Number.POSITIVE_INFINITY
    this.#greatestId = Number.NEGATIVE_INFINITY
    this.#rowBits.reset()
    this.#checkpointBits.reset()
  }
}
