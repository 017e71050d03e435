import { describe, expect, test } from 'bun:test'

import { createCache } from '#src/lib/cache.ts'
import { createRandom } from '#src/lib/random.ts'

describe('createCache', () => {
  test('default: drops what was not used longest', () => {
    const cache = createCache<string, string>(3)
    for (const key of ['a', 'b', 'c']) cache.set(key, key, { size: 1 })
    expect(cache.get('a')).toBe('a')
    cache.set('d', 'd', { size: 1 })
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual(['a', undefined, 'c', 'd'])
  })

  test('behavior: a value larger than the whole cache is not kept, and its old one is gone', () => {
    const cache = createCache<string, string>(10)
    cache.set('a', 'old', { size: 10 })
    cache.set('a', 'new', { size: 11 })
    expect(cache.get('a')).toBeUndefined()
  })

  test('behavior: a cache of nothing keeps nothing that is counted in bytes', () => {
    const cache = createCache<string, string>(0)
    cache.set('a', 'a', { size: 1024 })
    expect(cache.get('a')).toBeUndefined()
  })

  test('behavior: never outgrows its bound', () => {
    const random = createRandom('cache')
    const cache = createCache<number, number>(100)
    const sizes = new Map<number, number>()
    for (let step = 0; step < 3000; step++) {
      const key = random.integer(30)
      const size = 1 + random.integer(40)
      cache.set(key, step, { size })
      sizes.set(key, size)
      const held = [...cache.keys()].reduce((sum, each) => sum + (sizes.get(each) ?? 0), 0)
      expect(held).toBeLessThanOrEqual(100)
      expect(cache.get(key)).toBe(step)
    }
  })
})
