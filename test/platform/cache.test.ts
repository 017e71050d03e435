import { describe, expect, test } from 'bun:test'

import { createCache } from '#src/platform/cache.ts'
import { createRandom } from '#src/platform/random.ts'

describe('createCache', () => {
  test('default: drops what was not used', () => {
    const cache = createCache<string, string>(3)
    for (const key of ['a', 'b', 'c']) cache.set(key, key, { size: 1 })
    expect(cache.get('a')).toBe('a')
    cache.set('d', 'd', { size: 1 })
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual(['a', undefined, 'c', 'd'])
  })

  test('behavior: a use counts until the next round, and none for one who looks only', () => {
    const cache = createCache<string, string>(3)
    for (const key of ['a', 'b', 'c']) cache.set(key, key, { size: 1 })
    for (const key of ['a', 'b', 'c']) cache.get(key)
    expect(cache.peek('b')).toBe('b')
    cache.set('d', 'd', { size: 1 })
    expect(['a', 'b', 'c', 'd'].map((key) => cache.peek(key))).toEqual([undefined, 'b', 'c', 'd'])
    cache.get('b')
    cache.set('e', 'e', { size: 1 })
    expect(['b', 'c', 'd', 'e'].map((key) => cache.peek(key))).toEqual(['b', undefined, 'd', 'e'])
  })

  test('behavior: where all are in use, a new one has its place soon', () => {
    const cache = createCache<number, number>(1000)
    for (let key = 0; key < 1000; key++) cache.set(key, key, { size: 1 })
    for (let key = 0; key < 1000; key++) cache.get(key)
    cache.set(1000, 1000, { size: 1 })
    expect(cache.counts().bytes).toBe(1000)
    expect(cache.get(1000)).toBe(1000)
  })

  test('behavior: counts what it was asked for, and is empty after it is cleared', () => {
    const cache = createCache<string, string>(10)
    cache.set('a', 'a', { size: 4 })
    cache.get('a')
    cache.get('b')
    expect(cache.counts()).toEqual({ bytes: 4, hits: 1, misses: 1 })
    cache.clear()
    expect([cache.peek('a'), cache.counts().bytes]).toEqual([undefined, 0])
    cache.set('c', 'c', { size: 10 })
    expect(cache.peek('c')).toBe('c')
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
      const held = [...sizes].filter(([each]) => cache.peek(each) !== undefined)
      const bytes = held.reduce((sum, [, each]) => sum + each, 0)
      expect([cache.counts().bytes, bytes <= 100]).toEqual([bytes, true])
      expect(cache.get(key)).toBe(step)
    }
  })
})
