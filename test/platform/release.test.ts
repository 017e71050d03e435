import { expect, test } from 'bun:test'

import { allocatedBytes } from '#src/platform/release.ts'

test('allocatedBytes: by hand', () => {
  const sizes = [1, 8, 9, 14_336, 14_337, 16_384, 16_385, 2 ** 31]
  expect(sizes.map(allocatedBytes)).toEqual([1, 8, 10, 14_336, 16_384, 16_384, 20_480, 2 ** 31])
})

const COUNT = 4000
/** Prints what each of many arrays of `bytes` takes of the memory of its process. */
const program = (bytes: number) => `
  const resident = () => process.memoryUsage.rss()
  const kept = []
  const make = (count) => {
    for (let made = 0; made < count; made++) kept.push(new Uint8Array(${bytes}).fill(1))
  }
  make(500)
  const before = resident()
  make(${COUNT})
  const taken = (resident() - before) / ${COUNT}
  process.stdout.write(String(taken))`

test.each([9000, 14_600, 16_500])('allocatedBytes: is what %d bytes take', (bytes) => {
  const { stdout } = Bun.spawnSync([process.execPath, '--eval', program(bytes)])
  const taken = Number(stdout.toString())
  // An array is an object besides, and a slab is not filled to its end.
  expect(taken).toBeWithin(allocatedBytes(bytes) * 0.98, allocatedBytes(bytes) * 1.15)
})
