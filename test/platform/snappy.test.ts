import { expect, test } from 'bun:test'

import { snappyUncompress } from 'hyparquet'

import { createRandom } from '#src/platform/random.ts'
import { createSnappy } from '#src/platform/snappy.ts'

const compress = createSnappy()

function unpacked(packed: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length)
  snappyUncompress(packed, out)
  return out
}

test('behavior: bytes of any length and any period come back', () => {
  const random = createRandom('snappy')
  for (let round = 0; round < 400; round++) {
    const length = random.integer(round % 10 === 0 ? 300_000 : 2_000)
    const period = 1 + random.integer(3_000)
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; at++) {
      const isNew = at < period || random.integer(50) === 0
      bytes[at] = isNew ? random.integer(256) : (bytes[at - period] ?? 0)
    }
    expect(Buffer.compare(unpacked(compress(bytes), length), bytes)).toBe(0)
  }
})

test.each([0, 1, 4, 60, 61, 64, 65, 68, 255, 256, 257, 65_536, 65_537, 200_000])(
  'case %d equal bytes, and as many that differ: both come back',
  (length) => {
    const equal = new Uint8Array(length).fill(7)
    const packed = compress(equal).slice()
    expect(Buffer.compare(unpacked(packed, length), equal)).toBe(0)
    expect(packed.length).toBeLessThanOrEqual(16 + length / 16)
    const random = createRandom('noise')
    const noise = equal.map(() => random.integer(256))
    expect(Buffer.compare(unpacked(compress(noise), length), noise)).toBe(0)
  },
)
