import { expect, test } from 'bun:test'

import { createMint } from '#src/platform/mint.ts'

test('createMint > default: names of 32 digits, each of random bytes of its own', () => {
  let fetches = 0
  const mint = createMint((length) => {
    fetches++
    return crypto.getRandomValues(new Uint8Array(length))
  })
  const names = Array.from({ length: 1000 }, mint)
  expect(names.filter((name) => !/^[0-9a-f]{32}$/.test(name))).toEqual([])
  expect([new Set(names).size, fetches]).toEqual([1000, 16])
})
