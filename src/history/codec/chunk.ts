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
import type { Outcome } from '#src/domain/market.ts'
import { assert } from '#src/platform/assert.ts'
import { READ_SLACK } from '#src/platform/bits.ts'
import { type Movable, type Part, partOf, releaseOwn } from '#src/platform/parts.ts'

import { CODE_VERSION, type FrameBits } from './deflate-code.ts'
import type { ColumnRow, RunColumns } from './run-columns.ts'

/** Rows of a full chunk: the default page size, so that walks in such pages never split one. */
export const CHUNK_ROWS = 100

/** More than the longest text of a snapshot, which has 4,000 levels. */
const ROW_BYTES_MAX = 512 * 1024

const HEADER_BYTES = 40
const HEADER_WORDS = HEADER_BYTES / 4
const CHECKPOINT_BYTES = 8
const FLAG_BOTH = 1
const DOWN_BIT = 0x80000000
const BIT_END_MASK = 0x7fffffff

export const outcomeCodes = { up: 0, down: 1 } as const satisfies Record<Outcome, number>

export type Checkpoint = { row: number; bitEnd: number }

type ChunkParts = {
  columns: Pick<RunColumns, 'count' | 'textEnds' | 'crcs' | 'ownCrcs'> & {
    rows: readonly Pick<ColumnRow, 'timeMs' | 'id' | 'outcome' | 'bitEnd'>[]
  }
  rowStream: Uint8Array
  checkpoints?: readonly Checkpoint[]
  checkpointStream?: Uint8Array
}

/** Copies the streams. The loops are plain: a chunk of one outcome is made while a page waits. */
export function encodeChunk({
  columns: { count, rows, textEnds, crcs, ownCrcs },
  rowStream,
  checkpoints = [],
  checkpointStream = new Uint8Array(0),
}: ChunkParts): Uint8Array {
  const firstMs = rows[0]?.timeMs ?? 0
  let downCount = 0
  let leastId = Number.POSITIVE_INFINITY
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

/**
 * A chunk read in place, followed by room for the text of the first row of each outcome, which is
 * cached after its first use.
 */
export class Chunk implements Movable<Chunk> {
  readonly count: number
  readonly hasBoth: boolean
  readonly checkpointCount: number
  /** Bytes of the chunk and of that room. */
  readonly size: number
  readonly #part: Part
  readonly #blobBytes: number
  readonly #firstMs: number
  readonly #leastId: number
  /** Undefined after `release`, so that a reader fails instead of reading nothing. */
  #words: Int32Array
  /** Offsets in `words` of the first column and of the checkpoints. */
  readonly #columns: number
  readonly #checkpoints: number
  /** Bit offsets of the streams in `words`. */
  readonly #rowStream: number
  readonly #checkpointStream: number
  /** Bit set of the outcome codes whose first text is cached. */
  #texts = 0
  #room: Uint8Array | undefined

  /** Throws if the blob is not a chunk of this version, or if its parts do not fill it. */
  constructor(blob: Uint8Array)
  /** A chunk of `blobBytes` at the start of the part, which has room for the texts as well. */
  constructor(part: Part, blobBytes: number)
  constructor(given: Uint8Array | Part, blobBytes = given.length) {
    const part = given instanceof Uint8Array ? partOf(given) : given
    assert(blobBytes >= HEADER_BYTES, 'a chunk is longer than its header')
    const { words, view } = part.memory
    const { start } = part
    const version = view.getInt32(start, true)
    const count = view.getInt32(start + 4, true)
    const flags = view.getInt32(start + 8, true)
    const rowBytes = view.getInt32(start + 12, true)
    const checkpointCount = view.getInt32(start + 16, true)
    assert(version === CODE_VERSION, `chunk version ${version} is known`)
    this.count = count
    this.hasBoth = (flags & FLAG_BOTH) !== 0
    this.checkpointCount = checkpointCount
    this.#part = part
    this.#blobBytes = blobBytes
    this.#firstMs = view.getFloat64(start + 24, true)
    this.#leastId = view.getFloat64(start + 32, true)
    this.#words = words
    this.#columns = (start >>> 2) + HEADER_WORDS
    this.#checkpoints = this.#columns + count * (this.hasBoth ? 6 : 5)
    const rowStart = this.#checkpoints * 4 + checkpointCount * CHECKPOINT_BYTES
    const checkpointStart = rowStart + rowBytes
    this.#rowStream = rowStart * 8
    this.#checkpointStream = checkpointStart * 8
    assert(count > 0 && checkpointCount >= 0 && rowBytes >= READ_SLACK, 'a chunk has rows')
    assert(
      checkpointStart <= start + blobBytes - READ_SLACK * Math.sign(checkpointCount),
      'its parts fit',
    )
    this.#assertRising()
    this.size = blobBytes + this.#textRoom(1 - this.outcome(0)).end
  }

  /** The whole memory: columns at their offsets, bits of rows from `bitStart` to `bitEnd`. */
  get words(): Int32Array {
    return this.#words
  }

  copyTo(part: Part): Chunk {
    const { bytes } = part.memory
    const end = part.start + this.#blobBytes
    const own = this.#part
    bytes.set(own.memory.bytes.subarray(own.start, own.start + this.#blobBytes), part.start)
    if (this.#texts !== 0) bytes.set(this.#openRoom(), end)
    const copy = new Chunk(part, this.#blobBytes)
    copy.#texts = this.#texts
    return copy
  }

  /** A copy that belongs to its holder. */
  copy(): Chunk {
    return this.copyTo(partOf(new Uint8Array(this.size)))
  }

  release(): void {
    releaseOwn(this.#part.memory)
    this.#words = undefined as unknown as Int32Array
  }

  /** The text of the first row of an outcome, with which every walk begins; cached. */
  firstText(outcome: number, make: (row: number) => Uint8Array): Uint8Array {
    const { row, start, end } = this.#textRoom(outcome)
    const room = this.#openRoom()
    if ((this.#texts & (1 << outcome)) === 0) {
      const text = make(row)
      assert(text.length === end - start, 'a text is as long as it should be')
      room.set(text, start)
      this.#texts |= 1 << outcome
    }
    return room.subarray(start, end)
  }

  #openRoom(): Uint8Array {
    const { memory, start, length } = this.#part
    const roomBytes = this.size - this.#blobBytes
    this.#room ??=
      length < this.size
        ? new Uint8Array(roomBytes)
        : memory.bytes.subarray(start + this.#blobBytes, start + this.size)
    return this.#room
  }

  /** The first row of an outcome, if there is one, and the bounds of its text. */
  #textRoom(outcome: number): { row: number; start: number; end: number } {
    const isFirst = outcome === this.outcome(0)
    const row = isFirst ? 0 : this.nextRowOf(outcome, 0)
    const start = isFirst ? 0 : this.textEnd(0)
    const length = row === this.count ? 0 : this.textEnd(row) - this.textStart(row)
    return { row, start, end: start + length }
  }

  /**
   * Checks that columns ascend: a flipped bit must not point outside the blob, nor make a page of
   * gigabytes.
   */
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
    return this.#firstMs + ((this.#words[this.#columns + row] ?? 0) >>> 0)
  }

  id(row: number): number {
    return this.#leastId + ((this.#words[this.#columns + this.count + row] ?? 0) >>> 0)
  }

  /** A code of `outcomeCodes`. */
  outcome(row: number): number {
    return (this.#words[this.#columns + this.count * 3 + row] ?? 0) >>> 31
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
    return this.#words[this.#columns + this.count * 2 + row] ?? 0
  }

  bitStart(row: number): number {
    return row === 0 ? this.#rowStream : this.bitEnd(row - 1)
  }

  bitEnd(row: number): number {
    return (
      this.#rowStream + ((this.#words[this.#columns + this.count * 3 + row] ?? 0) & BIT_END_MASK)
    )
  }

  /** CRC of the chunk's text up to the end of this row; 0 for row -1. */
  crc(row: number): number {
    if (row < 0) return 0
    return (this.#words[this.#columns + this.count * 4 + row] ?? 0) >>> 0
  }

  ownCrc(row: number): number {
    return (this.#words[this.#columns + this.count * (this.hasBoth ? 5 : 4) + row] ?? 0) >>> 0
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

  /** The row's frame, for a text in which the previous row of its outcome is `gap` bytes nearer. */
  frame(row: number, gap: number): FrameBits {
    return { view: this.#part.memory.view, start: this.bitStart(row), end: this.bitEnd(row), gap }
  }

  /** The checkpoint's frame, for a text in which it follows the first row of its outcome. */
  checkpointFrame(index: number): FrameBits {
    const from = index === 0 ? 0 : this.checkpoint(index - 1).bitEnd
    const start = this.#checkpointStream + from
    const end = this.#checkpointStream + this.checkpoint(index).bitEnd
    return { view: this.#part.memory.view, start, end, gap: 0 }
  }

  checkpoint(index: number): Checkpoint {
    const at = this.#checkpoints + index * 2
    return { row: this.#words[at] ?? 0, bitEnd: this.#words[at + 1] ?? 0 }
  }

  /** The first row at or after the position; `count` if there is none. */
  seek(timestampMs: number, id: number): number {
    // Most chunks are entirely before or after the position.
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
