import { describe, expect, test } from 'bun:test'

import { BitWriter, READ_SLACK, toWords } from '#src/platform/bits.ts'
import { createRandom } from '#src/platform/random.ts'

const random = createRandom('bits')

/** Bits `start` to `end`, one by one, the lowest of a byte first. */
const bitsOf = (bytes: Uint8Array, start: number, end: number): number[] =>
  Array.from(
    { length: end - start },
    (_, at) => ((bytes[(start + at) >> 3] ?? 0) >> ((start + at) & 7)) & 1,
  )

const toBytes = (bits: readonly number[]): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, at) => {
    bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (bit << (at & 7))
  })
  return bytes
}

const numberBits = (value: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => (value >>> at) & 1)

describe('BitWriter.copy', () => {
  test('default: appends any stretch at any alignment as a copy bit by bit does', () => {
    const source = Uint8Array.from({ length: 80 + READ_SLACK }, () => random.integer(256))
    for (let before = 0; before < 8; before++) {
      for (let start = 0; start < 40; start++) {
        const end = start + random.integer(80 * 8 - start + 1)
        const writer = new BitWriter(256)
        const lead = random.integer(1 << before)
        writer.put(lead, before)
        writer.copy(toWords(source), start, end)
        writer.put(1, 1)
        const bits = [...numberBits(lead, before), ...bitsOf(source, start, end), 1]
        const seen = { before, start, end, length: writer.length, bytes: writer.toBytes() }
        expect(seen).toEqual({ before, start, end, length: bits.length, bytes: toBytes(bits) })
      }
    }
  })

  test('behavior: long random mixes of all writes agree with the reference', () => {
    const writer = new BitWriter(1)
    for (let round = 0; round < 30; round++) {
      writer.reset()
      const bits: number[] = []
      for (let step = 0; step < 60; step++) {
        writer.reserve(600)
        random.pick(writes)(writer, bits)
        expect(writer.length).toBe(bits.length)
      }
      expect(Buffer.compare(writer.toBytes(), toBytes(bits))).toBe(0)
      expect(writer.toBytes().length).toBe(toBytes(bits).length)
    }
  })
})

const longSource = Uint8Array.from({ length: 500 + READ_SLACK }, () => random.integer(256))
const longWords = toWords(longSource)

/** Each writes to both: the writer and the reference. */
const writes: ((writer: BitWriter, bits: number[]) => void)[] = [
  (writer, bits) => {
    const count = random.integer(32)
    const value = random.integer(2 ** count)
    writer.put(value, count)
    bits.push(...numberBits(value, count))
  },
  (writer, bits) => {
    const start = random.integer(4000)
    const end = start + random.integer(4001 - start)
    writer.copy(longWords, start, end)
    bits.push(...bitsOf(longSource, start, end))
  },
  (writer, bits) => {
    writer.align()
    while (bits.length % 8 > 0) bits.push(0)
    const value = random.integer(2 ** 32)
    writer.putUint32(value)
    bits.push(...numberBits(value, 32))
  },
]
