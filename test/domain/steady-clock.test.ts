import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { createSteadyClock } from '#src/domain/steady-clock.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const DAY_MS = 86_400_000

/** A clock of which system time and real time are set by hand. */
function createRig(floorMs?: number) {
  const at = { systemMs: NOW_MS, timerMs: 0, floorMs }
  const { now, keep } = createSteadyClock({
    clock: () => at.systemMs,
    timer: () => at.timerMs,
    floor: {
      get: () => at.floorMs,
      put: (nowMs) => {
        at.floorMs = nowMs
      },
    },
  })
  const pass = (ms: number) => {
    at.timerMs += ms
    at.systemMs += ms
  }
  return { at, now, keep, pass }
}

describe('createSteadyClock', () => {
  test('default: is the system clock while that goes on', () => {
    const { now, pass } = createRig(NOW_MS - 5)
    expect(now()).toBe(NOW_MS)
    pass(1_000)
    expect(now()).toBe(NOW_MS + 1_000)
  })

  test('behavior: set back, goes on at half the speed until the system clock is there again', () => {
    const { at, now, pass } = createRig()
    now()
    at.systemMs -= 60_000
    expect(now()).toBe(NOW_MS)
    pass(30_000)
    expect(now()).toBe(NOW_MS + 15_000)
    pass(30_000)
    expect(now()).toBe(NOW_MS + 30_000)
    pass(60_000)
    expect(now()).toBe(NOW_MS + 60_000)
  })

  test('behavior: begins at what was kept, unless that is more than a day ahead', () => {
    const first = createRig()
    void first.keep()
    expect(first.at.floorMs).toBe(NOW_MS)
    expect(createRig(NOW_MS + DAY_MS).now()).toBe(NOW_MS + DAY_MS)
    expect(createRig(NOW_MS + DAY_MS + 1).now()).toBe(NOW_MS)
  })

  test('property: never steps back while the system clock is set by less than a day', () => {
    const step = fc.record({ set: fc.integer({ min: -9_999, max: 9_999 }), pass: fc.nat(9_999) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { at, now, pass } = createRig()
        let lastMs = now()
        for (const { set, pass: ms } of steps) {
          at.systemMs += set
          pass(ms)
          const nowMs = now()
          expect(nowMs).toBeGreaterThanOrEqual(Math.max(lastMs, at.systemMs))
          lastMs = nowMs
        }
      }),
    )
  })
})
