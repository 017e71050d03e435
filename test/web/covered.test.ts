import { describe, expect, test } from 'bun:test'

import type { Market } from '#web/lib/bodies.ts'
import { bestCovered, showCovered } from '#web/lib/covered.ts'

const aMarket = (up: number | null, down: number | null) =>
  ({
    outcomes: [
      { outcome: 'up', coverage: { covered: up } },
      { outcome: 'down', coverage: { covered: down } },
    ],
  }) as unknown as Market

describe('how much of a market was recorded', () => {
  test('default: it is that of the outcome covered better, named where the other has another share', () => {
    expect(showCovered(aMarket(0, 0.987))).toBe('Down 98.7 %')
    expect(showCovered(aMarket(0.9, 0.5))).toBe('Up 90.0 %')
    expect(showCovered(aMarket(1, 1))).not.toContain('Up')
    expect(showCovered(aMarket(0, 0))).toBe('0.0 %')
    expect(showCovered(aMarket(null, null))).toBe('–')
    expect(showCovered({ ...aMarket(1, 1), status: 'upcoming' })).toBe('–')
    expect(bestCovered(aMarket(0.995, 1))).toBe('up')
    expect(bestCovered(aMarket(0.5, 0.6))).toBe('down')
  })
})
