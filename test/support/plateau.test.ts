import { describe, expect, test } from 'bun:test'

import { createRandom } from '#src/platform/random.ts'

import { growthOf } from './plateau.ts'

const bounds = { memory: { share: 0.1, more: 8 }, descriptors: { share: 0, more: 2 } }

/** An hour with a sample a second: caches fill within ten minutes, and garbage fluctuates. */
function looksOf({ leakAnHour = 0, descriptorsAnHour = 0, seconds = 3600 } = {}) {
  const random = createRandom('plateau')
  const each = Array.from({ length: seconds }, (_, second) => second)
  return {
    memory: each.map(
      (second) =>
        200 + Math.min(100, second / 6) + random.integer(60) + (leakAnHour * second) / 3600,
    ),
    descriptors: each.map(
      (second) => 40 + random.integer(9) + Math.floor((descriptorsAnHour * second) / 3600),
    ),
  }
}

describe('growthOf', () => {
  test('default: a process that fills its caches and then rests does not grow', () => {
    expect(growthOf(looksOf(), bounds)).toEqual([])
  })

  test.each([
    ['memory', { leakAnHour: 200 }],
    ['descriptors', { descriptorsAnHour: 12 }],
  ])('behavior: fires for a leak of %s', (name, leak) => {
    expect(growthOf(looksOf(leak), bounds).map((text) => text.split(' grows:')[0])).toEqual([name])
  })

  test('error: too few samples prove nothing', () => {
    expect(growthOf(looksOf({ seconds: 20 }), bounds)).toHaveLength(2)
    expect(growthOf({}, bounds)).toHaveLength(2)
  })
})
