import { expect, test } from 'bun:test'

import { gzipped } from '#src/features/exports/service.ts'

const PIECES = 40
const paces = ['at once', 'a turn each', 'late at the end'] as const

async function* pieces(pace: (typeof paces)[number]) {
  for (let piece = 0; piece < PIECES; piece++) {
    if (pace === 'a turn each') await Bun.sleep(0)
    if (pace === 'late at the end' && piece > PIECES - 3) await Bun.sleep(1)
    const lines = Array.from({ length: 400 }, (_, at) => `${piece},${(at * 7919 * piece) % 1000}\n`)
    yield new TextEncoder().encode(lines.join(''))
  }
}

test('gzipped: the bytes are the same however fast the pieces come', async () => {
  const digests = new Set<string>()
  for (let round = 0; round < 10; round++) {
    for (const pace of paces) {
      const hasher = new Bun.CryptoHasher('sha256')
      for await (const piece of gzipped(pieces(pace))) hasher.update(piece)
      digests.add(hasher.digest('hex'))
    }
  }
  expect(digests.size).toBe(1)
})
