/** What commands and recorders read of an archive, blocking, in whole blocks. */
import { expect, test } from 'bun:test'

import { createRangeReader, openArchive } from '#src/extensions/archive/range-reader.ts'

import { onBucket } from '../../support/engines/bucket.ts'

const BLOCK = 128 * 1024
const size = 2 * BLOCK + 1000
const object = Uint8Array.from({ length: size }, (_, at) => (at * 31) >> (at % 7))

onBucket(import.meta.path, ({ placeOf, tell }) => {
  test('default: parts within a block, across blocks, and at the end; error: those that are gone', async () => {
    const place = placeOf('blocks')
    const store = openArchive(place)
    await store.put('one', object)
    const reader = createRangeReader(place)
    try {
      const read = (at: number, length: number) => reader.read({ name: 'one', size, at, length })
      const part = (at: number, length: number) => object.slice(at, at + length)
      expect(read(0, 10)).toEqual(part(0, 10))
      // In memory now, and each caller has its own copy.
      await store.remove('one')
      read(10, 10).fill(0)
      expect(read(10, 10)).toEqual(part(10, 10))
      expect(() => read(BLOCK - 5, 10)).toThrow('one is not in the archive.')
      await store.put('one', object)
      for (const [at, length] of [
        [BLOCK - 5, 10],
        [BLOCK, BLOCK],
        [3, 2 * BLOCK],
        [2 * BLOCK - 1, 1001],
        [size - 1, 1],
      ] as const)
        expect(Bun.deepEquals(read(at, length), part(at, length))).toBe(true)
      const absent = { name: 'two', size: 10, at: 0, length: 10 }
      expect(() => reader.read(absent)).toThrow('two is not in the archive.')
      await tell('kill')
      expect(read(size - 10, 10)).toEqual(part(size - 10, 10))
      expect(() => reader.read(absent)).toThrow('The archive of older books does not answer')
    } finally {
      await tell('start')
      reader.close()
    }
  })
})
