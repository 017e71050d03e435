import { describe, expect, test } from 'bun:test'

import { createRandom } from '#src/platform/random.ts'
import { putVarint, VARINT_BYTES_MAX, VarintReader } from '#src/platform/varint.ts'

/** The largest whose double is a safe integer. */
const HALF_MAX = Math.floor(Number.MAX_SAFE_INTEGER / 2)

function roundTrip(values: readonly number[]): { values: number[]; bytes: number } {
  const bytes = new Uint8Array(values.length * VARINT_BYTES_MAX)
  const end = values.reduce((at, value) => putVarint(bytes, at, value), 0)
  const reader = new VarintReader(bytes.slice(0, end))
  const read = values.map(() => reader.next())
  expect(reader.isAtEnd).toBe(true)
  return { values: read, bytes: end }
}

describe('putVarint and VarintReader', () => {
  test('default: give back what was written, at every bound of a byte and of a number', () => {
    const bounds = [0, HALF_MAX, HALF_MAX - 1]
    for (let bits = 0; bits < 52; bits++) bounds.push(2 ** bits - 1, 2 ** bits, 2 ** bits + 1)
    const values = bounds.flatMap((value) => [value, value === 0 ? 0 : -value])
    expect(roundTrip(values).values).toEqual(values)
  })

  test('behavior: small numbers of either sign take one byte, the largest eight', () => {
    expect(roundTrip([63]).bytes).toBe(1)
    expect(roundTrip([-63]).bytes).toBe(1)
    expect(roundTrip([64]).bytes).toBe(2)
    expect(roundTrip([HALF_MAX]).bytes).toBe(VARINT_BYTES_MAX)
  })

  test('behavior: random sequences come back', () => {
    const random = createRandom('varint')
    for (let round = 0; round < 100; round++) {
      const values = Array.from({ length: 50 }, () => {
        const size = Math.floor(random.uniform() * 2 ** random.integer(52))
        return random.integer(2) === 0 || size === 0 ? size : -size
      })
      expect(roundTrip(values).values).toEqual(values)
    }
  })

  test('error: truncated or endless bytes are refused, not read beyond', () => {
    for (const bytes of [[], [128], [255, 255], Array.from({ length: 100 }, () => 255)]) {
      const reader = new VarintReader(Uint8Array.from(bytes))
      expect(() => reader.next()).toThrow('An integer is')
    }
  })
})
