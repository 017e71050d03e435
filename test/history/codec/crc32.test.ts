import { describe, expect, test } from 'bun:test'
import { crc32 as zlibCrc32 } from 'node:zlib'

import { crc32, crcBetween, crcJoin, crcShift } from '#src/platform/crc32.ts'
import { createRandom } from '#src/platform/random.ts'

const random = createRandom('crc32')

const someBytes = (length: number): Uint8Array =>
  Uint8Array.from({ length }, () => random.integer(256))

const lengths = [0, 1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 200_000]

describe('crcJoin and crcBetween', () => {
  test('default: agree with zlib at random splits of texts of any length', () => {
    for (const length of [...lengths, ...Array.from({ length: 30 }, () => random.integer(3000))]) {
      const bytes = someBytes(length)
      const whole = zlibCrc32(bytes) >>> 0
      for (let split = 0; split < 4; split++) {
        const at = random.integer(length + 1)
        const head = bytes.subarray(0, at)
        const tail = bytes.subarray(at)
        const seen = { length, at, whole: crcJoin(crc32(head), crc32(tail), tail.length) }
        expect(seen).toEqual({ length, at, whole })
        expect(crcBetween(crc32(head), whole, tail.length)).toBe(zlibCrc32(tail) >>> 0)
      }
    }
  })

  test('behavior: many parts joined one by one are the whole', () => {
    const parts = Array.from({ length: 200 }, () => someBytes(random.integer(90)))
    const joined = parts.reduce((crc, part) => crcJoin(crc, crc32(part), part.length), 0)
    expect(joined).toBe(zlibCrc32(Buffer.concat(parts)) >>> 0)
  })

  test('behavior: a continued CRC is that of both parts', () => {
    const head = someBytes(77)
    const tail = someBytes(99)
    expect(crc32(tail, crc32(head))).toBe(zlibCrc32(Buffer.concat([head, tail])) >>> 0)
  })
})

describe('crcShift', () => {
  test('behavior: shifts add up, also where every digit of the length is used', () => {
    for (let round = 0; round < 50; round++) {
      const crc = random.integer(2 ** 32)
      const a = random.integer(2 ** 31)
      const b = random.integer(2 ** 31)
      expect(crcShift(crcShift(crc, a), b) >>> 0).toBe(crcShift(crc, a + b) >>> 0)
    }
  })

  test('default: shifts by nothing at length 0, and zero bytes after nothing stay nothing', () => {
    expect(crcShift(0x1234_5678, 0)).toBe(0x1234_5678)
    for (const length of lengths) expect(crcShift(0, length)).toBe(0)
  })
})
