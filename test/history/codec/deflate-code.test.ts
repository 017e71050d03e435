import { describe, expect, test } from 'bun:test'
import { inflateRawSync } from 'node:zlib'

import {
  distanceBits,
  distanceCodesByDistance,
  distanceTable,
  endOfBlockBits,
  endOfBlockCode,
  headerBits,
  headerBytes,
  lengthBits,
  lengthCodes,
  literalBits,
  literalCodes,
  MATCH_DISTANCE_MAX,
  MATCH_LENGTH_MAX,
  symbolTable,
} from '#src/history/codec/deflate-code.ts'
import { PageEncoder } from '#src/history/codec/page-encoder.ts'
import { BitWriter, toWords } from '#src/platform/bits.ts'

/** Starts a block of the store's code. */
function begin(): BitWriter {
  const bits = new BitWriter(200_000)
  bits.copy(toWords(headerBytes), 0, headerBits)
  return bits
}

function end(bits: BitWriter): Buffer {
  bits.put(endOfBlockCode, endOfBlockBits)
  return inflateRawSync(bits.toBytes())
}

const putLiteral = (bits: BitWriter, byte: number): void =>
  bits.put(literalCodes[byte] ?? 0, literalBits[byte] ?? 0)

function putMatch(bits: BitWriter, length: number, distance: number): void {
  bits.put(lengthCodes[length] ?? 0, lengthBits[length] ?? 0)
  bits.put(distanceCodesByDistance[distance] ?? 0, distanceBits[distance] ?? 0)
}

describe('the code of the store', () => {
  test('default: both codes are complete: every run of bits is a symbol, and Kraft sums are 1', () => {
    expect(symbolTable.every((entry) => (entry & 15) > 0)).toBe(true)
    expect(distanceTable.every((entry) => (entry & 15) > 0)).toBe(true)
    const kraft = (table: Int32Array): number => {
      const codes = new Map([...table].map((entry) => [entry, 2 ** -(entry & 15)]))
      return [...codes.values()].reduce((sum, share) => sum + share, 0)
    }
    expect(kraft(symbolTable)).toBe(1)
    expect(kraft(distanceTable)).toBe(1)
  })

  test('default: zlib accepts the header of an empty block and of an empty page', () => {
    expect(end(begin()).length).toBe(0)
    expect(Buffer.from(Bun.gunzipSync(new PageEncoder().gzip([], '', '').slice())).length).toBe(0)
  })

  test('behavior: zlib reads every printable byte back', () => {
    const bits = begin()
    const text = Array.from({ length: 95 }, (_, at) => 32 + at)
    for (const byte of text) putLiteral(bits, byte)
    expect([...end(bits)]).toEqual(text)
  })

  test('behavior: zlib reads matches of every length back', () => {
    const bits = begin()
    let size = 1
    putLiteral(bits, 0x61)
    for (let length = 3; length <= MATCH_LENGTH_MAX; length++) {
      putMatch(bits, length, 1)
      putLiteral(bits, 0x61)
      size += length + 1
    }
    expect(end(bits).toString()).toBe('a'.repeat(size))
  })

  test('behavior: zlib reads matches of every distance back', () => {
    const bits = begin()
    const digits = Array.from(
      { length: MATCH_DISTANCE_MAX },
      (_, at) => 32 + ((at * 7919 + (at >> 7)) % 95),
    )
    const expected = [...digits]
    for (const byte of digits) putLiteral(bits, byte)
    for (let distance = 1; distance <= MATCH_DISTANCE_MAX; distance += distance < 600 ? 1 : 13) {
      bits.reserve(64)
      putMatch(bits, 3, distance)
      for (let step = 0; step < 3; step++) expected.push(expected[expected.length - distance] ?? 0)
    }
    bits.reserve(64)
    putMatch(bits, 3, MATCH_DISTANCE_MAX)
    for (let step = 0; step < 3; step++)
      expected.push(expected[expected.length - MATCH_DISTANCE_MAX] ?? 0)
    expect(Buffer.compare(end(bits), Buffer.from(expected))).toBe(0)
  })
})
