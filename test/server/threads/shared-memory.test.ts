import { expect, test } from 'bun:test'

import { createSharedRateWindows, makeRateMemory } from '#src/server/threads/shared-memory.ts'

const MINUTE_MS = 60_000
const SEED = 20_261_122

test('behavior: a window of another thread whose clock is ahead is no longer than its length', () => {
  const memory = makeRateMemory(10, SEED)
  createSharedRateWindows(MINUTE_MS, memory).take('key', 5, 1_003)
  const seen = createSharedRateWindows(MINUTE_MS, memory).find('key', 1_000)
  expect(seen).toEqual({ used: 1, endMs: 61_000 })
})

test('behavior: a window takes less than 100 bytes', () => {
  expect(makeRateMemory(80_000, SEED).byteLength / 80_000).toBeLessThan(100)
})
