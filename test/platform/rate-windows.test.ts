import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { createRateWindows } from '#src/platform/rate-windows.ts'
import { createSharedRateWindows, makeRateMemory } from '#src/server/threads/shared-memory.ts'

const MINUTE_MS = 60_000
const SEED = 20_261_122

/** In a map, and in memory that threads share, with how many windows are held of 1,000 or more. */
const kinds = [
  ['of one thread', 1000, (capacity = 1000) => createRateWindows(MINUTE_MS, capacity)],
  [
    'that threads share',
    2048,
    (capacity = 1000) => createSharedRateWindows(MINUTE_MS, makeRateMemory(capacity, SEED)),
  ],
] as const

/** What a window per key is, with nothing clever about it. */
function createModel(windowMs: number) {
  const windows = new Map<string, { endMs: number; used: number }>()
  return (key: string, limit: number, nowMs: number): boolean => {
    const known = windows.get(key)
    const window = known && nowMs < known.endMs ? known : { endMs: nowMs + windowMs, used: 0 }
    windows.set(key, window)
    if (window.used >= limit) return false
    window.used++
    return true
  }
}

/**
 * Attacks at an even rate, as the load tests of key services run them: how many pass is not between
 * bounds here, but exact. `passes` was worked out by hand: limit × the windows begun, as long as
 * each is filled; a window begins with the first request at or after the end of the one before.
 */
const attacks = [
  { name: 'half the rate passes whole', limit: 60, perSecond: 0.5, seconds: 600, passes: 300 },
  { name: 'the very rate passes whole', limit: 60, perSecond: 1, seconds: 600, passes: 600 },
  { name: 'twice the rate passes half', limit: 60, perSecond: 2, seconds: 600, passes: 600 },
  { name: 'a flood passes the limit', limit: 10, perSecond: 1000, seconds: 60, passes: 10 },
  { name: 'ten windows of a flood', limit: 10, perSecond: 250, seconds: 600, passes: 100 },
  {
    name: 'one more request, one more window',
    limit: 10,
    perSecond: 250,
    seconds: 600.004,
    passes: 101,
  },
  { name: 'pro at 15 a second', limit: 300, perSecond: 15, seconds: 120, passes: 600 },
  { name: 'pro at 4 a second', limit: 300, perSecond: 4, seconds: 120, passes: 480 },
  { name: 'enterprise at 200 a second', limit: 1000, perSecond: 200, seconds: 180, passes: 3000 },
  { name: 'nothing allowed, nothing passes', limit: 0, perSecond: 10, seconds: 60, passes: 0 },
]

describe.each(kinds)('rate windows %s', (_kind, windowsHeld, createWindows) => {
  test.each(attacks)(
    'default: $name: $limit a minute at $perSecond/s for $seconds s passes $passes',
    ({ limit, perSecond, seconds, passes }) => {
      const windows = createWindows()
      const requests = Math.round(perSecond * seconds)
      let passed = 0
      for (let index = 0; index < requests; index++) {
        const nowMs = 12_345 + (index * 1000) / perSecond
        if (windows.take('key', limit, nowMs).isTaken) passed++
      }
      expect(passed).toBe(passes)
    },
  )

  test('default: a window begins with the first request, and its end is exclusive', () => {
    const windows = createWindows()
    expect(windows.find('key', 1000)).toBeUndefined()
    expect(windows.take('key', 2, 1000)).toEqual({ used: 1, endMs: 61_000, isTaken: true })
    expect(windows.take('key', 2, 60_999)).toEqual({ used: 2, endMs: 61_000, isTaken: true })
    expect(windows.take('key', 2, 60_999.999)).toEqual({ used: 2, endMs: 61_000, isTaken: false })
    expect(windows.take('key', 2, 61_000)).toEqual({ used: 1, endMs: 121_000, isTaken: true })
  })

  test('behavior: a larger limit counts at once, within the window that runs', () => {
    const windows = createWindows()
    for (let index = 0; index < 10; index++) windows.take('key', 10, 0)
    expect(windows.take('key', 10, 1).isTaken).toBe(false)
    expect(windows.take('key', 60, 1).used).toBe(11)
    expect(windows.take('key', 5, 2).isTaken).toBe(false)
  })

  test('behavior: any keys at any times get what one plain window each would give them', () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      waitMs: fc.oneof(
        fc.nat(3),
        fc.nat(80_000),
        fc.constantFrom(59_999, 60_000, 60_001, 119_999, 120_000),
      ),
    })
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 4 }),
        (steps, limit) => {
          const windows = createWindows()
          const model = createModel(MINUTE_MS)
          let nowMs = 0
          for (const { key, waitMs } of steps) {
            nowMs += waitMs
            const { isTaken } = windows.take(key, limit, nowMs)
            expect(isTaken).toBe(model(key, limit, nowMs))
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  test('behavior: a place is free as soon as its window is over', () => {
    const windows = createWindows()
    for (let minute = 0; minute < 100; minute++) {
      const nowMs = minute * MINUTE_MS
      for (let index = 0; index < 1000; index++) {
        expect(windows.take(`${minute} ${index}`, 1, nowMs).isTaken).toBe(true)
        expect(windows.take(`${minute} ${index}`, 1, nowMs).isTaken).toBe(false)
      }
    }
  })

  test('behavior: beyond its capacity keys share one window: no more memory, and no more passes', () => {
    const windows = createWindows()
    let passed = 0
    for (let index = 0; index < 1_000_000; index++) {
      if (windows.take(`key ${index}`, 10, index / 100_000).isTaken) passed++
    }
    // Each that is held once, and ten for all others together.
    expect(passed).toBe(windowsHeld + 10)
    // Who was there before is not touched by the crowd.
    expect(windows.take('key 0', 10, 11).used).toBe(2)
  })

  test('behavior: a full house lets nobody pass twice whose window has ended, and resets nobody', () => {
    const windows = createWindows()
    for (let index = 0; index < 100_000; index++) windows.take(`key ${index}`, 10, index / 1000)
    const passes = (key: string, nowMs: number) => {
      let passed = 0
      for (let index = 0; index < 100; index++) if (windows.take(key, 10, nowMs).isTaken) passed++
      return passed
    }
    expect(passes('newcomer', 59_000)).toBe(0)
    expect(passes('key 5', 61_500)).toBe(10)
    expect(passes('newcomer', 61_500)).toBe(10)
    expect(passes('key 5', 61_600)).toBe(0)
  })
})
