/** Writes the header of a deflate block. */
import { BitWriter } from '#src/platform/bits.ts'
import { reversedCodes } from '#src/platform/huffman.ts'

import { huffmanLengths } from './huffman-lengths.ts'

/** Order in which a block header gives the lengths of the code length code (RFC 1951 §3.2.7). */
const lengthCodeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

/** One symbol of the code length code with the extra bits of a repetition. */
type Run = { symbol: number; extra: number; extraBits: number }

/**
 * Returns the header of a final block (RFC 1951 §3.2.7) in a code, and how many of its bits count.
 */
export function buildHeader(
  lengthsOfSymbols: readonly number[],
  distanceLengths: readonly number[],
): { headerBytes: Uint8Array; headerBits: number } {
  const runs = runLengths([...lengthsOfSymbols, ...distanceLengths])
  const frequencies = Array.from({ length: 19 }, () => 0)
  for (const { symbol } of runs) frequencies[symbol] = (frequencies[symbol] ?? 0) + 1
  const lengths = huffmanLengths(frequencies, 7)
  const codes = reversedCodes(lengths)
  const count = 1 + lengthCodeOrder.findLastIndex((symbol) => (lengths[symbol] ?? 0) > 0)
  const writer = new BitWriter(1024)
  writer.put(1, 1)
  writer.put(2, 2)
  writer.put(lengthsOfSymbols.length - 257, 5)
  writer.put(distanceLengths.length - 1, 5)
  writer.put(count - 4, 4)
  for (const symbol of lengthCodeOrder.slice(0, count)) writer.put(lengths[symbol] ?? 0, 3)
  for (const { symbol, extra, extraBits } of runs) {
    writer.put(codes[symbol] ?? 0, lengths[symbol] ?? 0)
    writer.put(extra, extraBits)
  }
  const headerBits = writer.length
  return { headerBytes: writer.toBytes(), headerBits }
}

/** Lengths with repetitions named: 16 repeats the one before, 17 and 18 repeat zero. */
function runLengths(lengths: readonly number[]): Run[] {
  const runs: Run[] = []
  for (let at = 0; at < lengths.length;) {
    const value = lengths[at] ?? 0
    let end = at + 1
    while (end < lengths.length && lengths[end] === value) end++
    runs.push(...(value === 0 ? zeroRuns(end - at) : valueRuns(value, end - at)))
    at = end
  }
  return runs
}

function plain(value: number): Run {
  return { symbol: value, extra: 0, extraBits: 0 }
}

function valueRuns(value: number, count: number): Run[] {
  const runs = [plain(value)]
  let rest = count - 1
  for (; rest >= 3; rest -= Math.min(rest, 6)) {
    runs.push({ symbol: 16, extra: Math.min(rest, 6) - 3, extraBits: 2 })
  }
  for (; rest > 0; rest--) runs.push(plain(value))
  return runs
}

function zeroRuns(count: number): Run[] {
  const runs: Run[] = []
  let rest = count
  for (; rest >= 11; rest -= Math.min(rest, 138)) {
    runs.push({ symbol: 18, extra: Math.min(rest, 138) - 11, extraBits: 7 })
  }
  if (rest >= 3) return [...runs, { symbol: 17, extra: rest - 3, extraBits: 3 }]
  for (; rest > 0; rest--) runs.push(plain(0))
  return runs
}
