/**
 * Lines as one gzip member of one deflate block, never ended before the stream is: the rows' stored
 * frames, each with the code of a newline after it instead of a comma before. No match reaches over
 * a comma, so none meets the difference. A piece ends with a whole byte; its odd bits begin the
 * next one.
 */
import { BitWriter, toWords } from '#src/lib/bits.ts'

import type { ChunkDecoder } from './chunk-decoder.ts'
import type { Chunk } from './chunk.ts'
import {
  lineHeaderBits,
  lineHeaderBytes,
  literalBits,
  newlineBits,
  newlineCode,
} from './deflate-code.ts'
import { moveFrame } from './frame-decoder.ts'
import { FrameEncoder } from './frame-encoder.ts'
import type { LineWriter } from './line-encoder.ts'
import { gzipHeader } from './page-encoder.ts'

/** A piece is full at this size; one row more may be in it. */
const PIECE_BYTES = 49_152
const BUFFER_BYTES_START = 65_536

const COMMA_BITS = literalBits[0x2c] ?? 0

const streamStart = toWords(Uint8Array.of(...gzipHeader, ...lineHeaderBytes))
const streamStartBits = gzipHeader.length * 8 + lineHeaderBits

/** Holds the piece in the making; `reader` may be shared. */
export class GzipLines implements LineWriter {
  readonly #bits = new BitWriter(BUFFER_BYTES_START)
  readonly #frames = new FrameEncoder(this.#bits)
  readonly #reader: ChunkDecoder
  #isTaken = false

  constructor(reader: ChunkDecoder) {
    this.#reader = reader
    this.#bits.copy(streamStart, 0, streamStartBits)
  }

  begin(): void {
    if (!this.#isTaken) return
    this.#isTaken = false
    const bits = this.#bits
    const odd = bits.length & 7
    const rest = (bits.view()[bits.length >>> 3] ?? 0) & ((1 << odd) - 1)
    bits.reset()
    bits.put(rest, odd)
  }

  hasRoom(): boolean {
    return this.#bits.length < PIECE_BYTES * 8
  }

  /** Frames refer to text by its distance, whatever holds it: nothing is kept here. */
  forget(): void {}

  join(chunk: Chunk, row: number, gap: number): void {
    const bits = this.#bits
    const start = chunk.bitStart(row) + COMMA_BITS
    const end = chunk.bitEnd(row)
    // Distances that are written again may grow longer by some bits each.
    bits.reserve((end - start) >>> 2)
    if (gap === 0) bits.copy(chunk.words, start, end)
    else moveFrame({ ...chunk.frame(row, gap), start }, bits)
    bits.put(newlineCode, newlineBits)
  }

  alone(chunk: Chunk, row: number): void {
    const text = this.#reader.text(chunk, row)
    this.#frames.alone(text, 0, text.length)
    this.#bits.put(newlineCode, newlineBits)
  }

  take(): Uint8Array<ArrayBuffer> {
    this.#isTaken = true
    return this.#bits.view().subarray(0, this.#bits.length >>> 3)
  }

  end(textCrc: number, textBytes: number): Uint8Array<ArrayBuffer> {
    this.begin()
    const bits = this.#bits
    bits.reserve(16)
    this.#frames.endOfBlock()
    bits.align()
    bits.putUint32(textCrc)
    bits.putUint32(textBytes)
    return bits.view()
  }
}
