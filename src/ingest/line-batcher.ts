/**
 * Cuts a stream of bytes into batches of whole lines. Where a batch ends depends on the content
 * alone, never on how it arrived in chunks, because a batch is known by the hash of its bytes.
 */
import { LINE_BYTES_MAX } from '#src/wire/snapshot-json.ts'

/** Whole lines in the order of the file; only the last line of a file may lack its newline. */
export type LineBatch = {
  kind: 'lines'
  bytes: Uint8Array
  /** Number of the first line; a file begins with line 1. */
  firstLine: number
  lineCount: number
}

/** A line that was passed over because it is longer than `LINE_BYTES_MAX`. */
export type LongLine = { kind: 'long_line'; line: number }

export type LineBatchLimits = {
  /** Most lines in a batch. */
  linesMax: number
  /** Most bytes in a batch of more than one line. */
  bytesMax: number
}

export type LineBatcher = {
  /** Takes the next bytes, which are copied, and yields the batches that they complete. */
  push(chunk: Uint8Array): Generator<LineBatch | LongLine>
  /** Yields the whole lines still held; at the real end of a file, its unterminated one as well. */
  finish(isWhole: boolean): Generator<LineBatch | LongLine>
}

const NEWLINE = 0x0a
const byteOrderMark = [0xef, 0xbb, 0xbf] as const

/** Creates a batcher for one file. Its memory is one batch and one longest line. */
export function createLineBatcher({ linesMax, bytesMax }: LineBatchLimits): LineBatcher {
  const block = new Uint8Array(bytesMax + LINE_BYTES_MAX + 1)
  let filled = 0
  /** Where the last whole line in the block ends. */
  let wholeEnd = 0
  let lineCount = 0
  let firstLine = 1
  let isPassingOver = false

  function* emit(): Generator<LineBatch> {
    if (lineCount === 0) return
    const bytes = block.slice(0, wholeEnd)
    block.copyWithin(0, wholeEnd, filled)
    filled -= wholeEnd
    wholeEnd = 0
    yield { kind: 'lines', bytes, firstLine, lineCount }
    firstLine += lineCount
    lineCount = 0
  }

  function* add(piece: Uint8Array): Generator<LineBatch> {
    if (!isPassingOver && filled - wholeEnd + piece.length > LINE_BYTES_MAX) {
      yield* emit()
      filled = 0
      isPassingOver = true
    }
    if (isPassingOver) return
    block.set(piece, filled)
    filled += piece.length
  }

  function* endLine(hasNewline: boolean): Generator<LineBatch | LongLine> {
    if (isPassingOver) {
      isPassingOver = false
      yield { kind: 'long_line', line: firstLine++ }
      return
    }
    if (hasNewline) block[filled++] = NEWLINE
    if (firstLine + lineCount === 1) dropByteOrderMark()
    if (filled > bytesMax) yield* emit()
    wholeEnd = filled
    lineCount++
    if (lineCount >= linesMax || wholeEnd >= bytesMax) yield* emit()
  }

  function dropByteOrderMark(): void {
    if (byteOrderMark.some((byte, index) => block[index] !== byte)) return
    block.copyWithin(0, byteOrderMark.length, filled)
    filled = Math.max(0, filled - byteOrderMark.length)
  }

  return {
    *push(chunk) {
      let from = 0
      while (from < chunk.length) {
        const newline = chunk.indexOf(NEWLINE, from)
        const to = newline === -1 ? chunk.length : newline
        yield* add(chunk.subarray(from, to))
        if (newline !== -1) yield* endLine(true)
        from = to + 1
      }
    },

    *finish(isWhole) {
      if (isWhole && (isPassingOver || filled > wholeEnd)) yield* endLine(false)
      yield* emit()
    },
  }
}
