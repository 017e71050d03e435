import { expect, test } from 'bun:test'

import { createIdGenerator } from '#src/platform/id-generator.ts'

test('createIdGenerator > default: names of 32 digits, each of random bytes of its own', () => {
  let fetches = 0
  const createId = createIdGenerator((length) => {
    fetches++
    return crypto.getRandomValues(new Uint8Array(length))
  })
  const names = Array.from({ length: 1000 }, createId)
  expect(names.filter((name) => !/^[0-9a-f]{32}$/.test(name))).toEqual([])
  expect([new Set(names).size, fetches]).toEqual([1000, 16])
})
