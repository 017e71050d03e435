/**
 * A chunk is a run of consecutive rows of one market as one blob: columns of fixed width that say
 * where each row is, then the rows' frames as one run of bits.
 *
 * | part | content |
 * |---|---|
 * | header, 40 bytes | u32 code version, rows, flags, row stream bytes, checkpoints; f64 first
 * time, f64 least id |
 * | columns, u32 a row | time - first time; id - least id; text end; bit end and outcome; CRC to
 * here; own CRC to here (only with both outcomes) |
 * | checkpoints, 8 bytes | row; bit end |
 * | row stream | frames, then `READ_SLACK` bytes |
 * | checkpoint stream | frames, then `READ_SLACK` bytes |
 *
 * The text of a chunk is its rows, each with a comma before it. "To here" means from the chunk's
 * start; "own" means over the rows of the same outcome only. The first row of each outcome is
 * alone; every other one needs the previous row of its outcome. A checkpoint is a row once more,
 * encoded against the first row of its outcome, so that a text inside the chunk is reached in few
 * steps.
 */
import type { Outcome } from '#src/core/market.ts'
import type { Position, StoredSnapshot } from '#src/core/snapshot.ts'
import { assert } from '#src/lib/assert.ts'
import { BitWriter, READ_SLACK } from '#src/lib/bits.ts'
import { crc32 } from '#src/lib/crc32.ts'
import { allocatedBytes, release } from '#src/lib/release.ts'

import { CODE_VERSION, type FrameBits } from './deflate-code.ts'
import { FrameEncoder } from './frame-encoder.ts'
import { RowText, writeRowText } from './row-text.ts'
import { type ColumnRow, RunColumns } from './run-columns.ts'

/** Rows of a full chunk: the default page, so that a walk in such pages never splits one. */
export const CHUNK_ROWS = 100
/** Rows of one outcome between two checkpoints. */
const CHECKPOINT_ROWS = 10

/** More than the longest text that a snapshot can have, 4,000 levels. */
const ROW_BYTES_MAX = 512 * 1024

const HEADER_BYTES = 40
const HEADER_WORDS = HEADER_BYTES / 4
const CHECKPOINT_BYTES = 8
const FLAG_BOTH = 1
const DOWN_BIT = 0x80000000
const BIT_END_MASK = 0x7fffffff

export const outcomeCodes = { up: 0, down: 1 } as const satisfies Record<Outcome, number>

type Checkpoint = { row: number; bitEnd: number }

type ChunkParts = {
  columns: Pick<RunColumns, 'count' | 'textEnds' | 'crcs' | 'ownCrcs'> & {
    rows: readonly Pick<ColumnRow, 'timeMs' | 'id' | 'outcome' | 'bitEnd'>[]
  }
  rowStream: Uint8Array
  checkpoints?: readonly Checkpoint[]
  checkpointStream?: Uint8Array
}

/** Copies the streams. Loops are plain: a chunk of one outcome is made while a page waits. */
export function encodeChunk({
  columns: { count, rows, textEnds, crcs, ownCrcs },
  rowStream,
  checkpoints = [],
  checkpointStream = new Uint8Array(0),
}: ChunkParts): Uint8Array {
  const firstMs = rows[0]?.timeMs ?? 0
  let [downCount, leastId] = [0, Number.POSITIVE_INFINITY]
  for (const { outcome, id } of rows) {
    downCount += outcome
    if (id < leastId) leastId = id
  }
  const hasBoth = downCount > 0 && downCount < count
  const columnWords = count * (hasBoth ? 6 : 5)
  const streamWord = HEADER_WORDS + columnWords + checkpoints.length * 2
  const rowBytes = rowStream.length + READ_SLACK
  const checkpointBytes = checkpoints.length && checkpointStream.length + READ_SLACK
  const blob = new Uint8Array(streamWord * 4 + rowBytes + checkpointBytes)
  const words = new Uint32Array(blob.buffer, 0, streamWord)
  words.set([CODE_VERSION, count, hasBoth ? FLAG_BOTH : 0, rowBytes, checkpoints.length])
  new Float64Array(blob.buffer, 24, 2).set([firstMs, leastId])
  words.set(textEnds, HEADER_WORDS + count * 2)
  words.set(crcs, HEADER_WORDS + count * 4)
  if (hasBoth) words.set(ownCrcs, HEADER_WORDS + count * 5)
  let at = HEADER_WORDS
  for (const { timeMs, id, outcome, bitEnd } of rows) {
    words[at] = timeMs - firstMs
    words[at + count] = id - leastId
    words[at++ + count * 3] = bitEnd + outcome * DOWN_BIT
  }
  at = HEADER_WORDS + columnWords
  for (const { row, bitEnd } of checkpoints) {
    words[at++] = row
    words[at++] = bitEnd
  }
  blob.set(rowStream, streamWord * 4)
  if (checkpointBytes > 0) blob.set(checkpointStream, streamWord * 4 + rowBytes)
  return blob
}

/** A chunk read in place: one view of words and one of bytes, because there are very many. */
export class Chunk {
  readonly count: number
  readonly hasBoth: boolean
  readonly checkpointCount: number
  /** Bytes that the chunk takes in memory, `firstTexts` included. */
  readonly byteLength: number
  /** Texts of the first row of each outcome, once they were read; by outcome code. */
  readonly firstTexts: (Uint8Array | undefined)[] = [undefined, undefined]
  readonly #firstMs: number
  readonly #leastId: number
  /** Undefined after `release`, so that whoever still reads fails in place of reading nothing. */
  #words: Int32Array
  readonly #bytes: DataView
  readonly #checkpoints: number
  /** Bit offsets of the streams in the blob. */
  readonly #rowStream: number
  readonly #checkpointStream: number

  /** Throws when the blob is not a chunk of this version or its parts do not fill it. */
  constructor(stored: Uint8Array) {
    const blob = stored.byteOffset % 4 === 0 ? stored : stored.slice()
    assert(blob.length >= HEADER_BYTES, 'a chunk is longer than its header')
    const words = new Int32Array(blob.buffer, blob.byteOffset, blob.length >>> 2)
    const bytes = new DataView(blob.buffer, blob.byteOffset, blob.length)
    const [version = 0, count = 0, flags = 0, rowBytes = 0, checkpointCount = 0] = words
    assert(version === CODE_VERSION, `chunk version ${version} is known`)
    this.count = count
    this.hasBoth = (flags & FLAG_BOTH) !== 0
    this.checkpointCount = checkpointCount
    this.#firstMs = bytes.getFloat64(24, true)
    this.#leastId = bytes.getFloat64(32, true)
    this.#words = words
    this.#bytes = bytes
    this.#checkpoints = HEADER_WORDS + count * (this.hasBoth ? 6 : 5)
    const rowStart = this.#checkpoints * 4 + checkpointCount * CHECKPOINT_BYTES
    const checkpointStart = rowStart + rowBytes
    this.#rowStream = rowStart * 8
    this.#checkpointStream = checkpointStart * 8
    assert(count > 0 && checkpointCount >= 0 && rowBytes >= READ_SLACK, 'a chunk has rows')
    assert(
      checkpointStart <= blob.length - READ_SLACK * Math.sign(checkpointCount),
      'its parts fit',
    )
    this.#assertRising()
    const texts = allocatedBytes(this.textEnd(0)) * (this.hasBoth ? 2 : 1)
    this.byteLength = allocatedBytes(blob.length) + texts
  }

  /** The whole blob, with columns at their offsets and bits of rows at `bitStart` to `bitEnd`. */
  get words(): Int32Array {
    return this.#words
  }

  /** Gives its memory back at once; nothing of it can be read any more. */
  release(): void {
    for (const part of [this.#bytes, ...this.firstTexts]) if (part !== undefined) release(part)
    this.#words = undefined as unknown as Int32Array
  }

  /** A flipped bit must neither lead out of the blob nor make a page of gigabytes. */
  #assertRising(): void {
    for (let row = 0; row < this.count; row++) {
      const text = this.textEnd(row) - this.textStart(row)
      const isSound = text > 0 && text <= ROW_BYTES_MAX && this.bitEnd(row) > this.bitStart(row)
      if (!isSound) throw new Error(`Row ${row} of a chunk is damaged.`)
    }
    const rowsEnd = this.#checkpointStream - READ_SLACK * 8
    assert(this.bitEnd(this.count - 1) <= rowsEnd, 'the rows of a chunk fit')
  }

  timeMs(row: number): number {
    return this.#firstMs + ((this.#words[HEADER_WORDS + row] ?? 0) >>> 0)
  }

  id(row: number): number {
    return this.#leastId + ((this.#words[HEADER_WORDS + this.count + row] ?? 0) >>> 0)
  }

  /** A code of `outcomeCodes`. */
  outcome(row: number): number {
    return (this.#words[HEADER_WORDS + this.count * 3 + row] ?? 0) >>> 31
  }

  outcomes(): number[] {
    return Array.from({ length: this.count }, (_, row) => this.outcome(row))
  }

  lacks(outcome: number): boolean {
    return !this.hasBoth && this.outcome(0) !== outcome
  }

  /** Offset of the row's comma in the chunk's text. */
  textStart(row: number): number {
    return row === 0 ? 0 : this.textEnd(row - 1)
  }

  textEnd(row: number): number {
    return this.#words[HEADER_WORDS + this.count * 2 + row] ?? 0
  }

  bitStart(row: number): number {
    return row === 0 ? this.#rowStream : this.bitEnd(row - 1)
  }

  bitEnd(row: number): number {
    return (
      this.#rowStream + ((this.#words[HEADER_WORDS + this.count * 3 + row] ?? 0) & BIT_END_MASK)
    )
  }

  /** CRC of the chunk's text up to and with this row; 0 before the first, -1. */
  crc(row: number): number {
    if (row < 0) return 0
    return (this.#words[HEADER_WORDS + this.count * 4 + row] ?? 0) >>> 0
  }

  ownCrc(row: number): number {
    return (this.#words[HEADER_WORDS + this.count * (this.hasBoth ? 5 : 4) + row] ?? 0) >>> 0
  }

  /** The nearest row of `outcome` before `row`, or -1. */
  previousRowOf(outcome: number, row: number): number {
    let at = row - 1
    while (at >= 0 && this.outcome(at) !== outcome) at--
    return at
  }

  /** The nearest row of `outcome` at or after `row`, or `count`. */
  nextRowOf(outcome: number, row: number): number {
    let at = row
    while (at < this.count && this.outcome(at) !== outcome) at++
    return at
  }

  /** Bytes of other rows between `row` and the row `previous` of its outcome. */
  gap(row: number, previous: number): number {
    return previous < 0 ? 0 : this.textStart(row) - this.textEnd(previous)
  }

  /** The row's frame, for a place where the previous row of its outcome is `gap` bytes nearer. */
  frame(row: number, gap: number): FrameBits {
    return { view: this.#bytes, start: this.bitStart(row), end: this.bitEnd(row), gap }
  }

  /** The checkpoint's frame, for a place right after the first row of its outcome. */
  checkpointFrame(index: number): FrameBits {
    const from = index === 0 ? 0 : this.checkpoint(index - 1).bitEnd
    const start = this.#checkpointStream + from
    const end = this.#checkpointStream + this.checkpoint(index).bitEnd
    return { view: this.#bytes, start, end, gap: 0 }
  }

  checkpoint(index: number): Checkpoint {
    const at = this.#checkpoints + index * 2
    return { row: this.#words[at] ?? 0, bitEnd: this.#words[at + 1] ?? 0 }
  }

  /** First row at or after the position, `count` if none. */
  seek(timestampMs: number, id: number): number {
    // Most chunks lie wholly on one side.
    if (timestampMs < this.#firstMs) return 0
    if (timestampMs > this.timeMs(this.count - 1)) return this.count
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      const order = this.timeMs(middle) - timestampMs || this.id(middle) - id
      if (order < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

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

/** Builds the unfinished run of one market row by row, and the chunk that it becomes. */
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
      ...{ id, outcome },
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

  /** The frames of the rows from `from` on, each at the start of a byte. */
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
