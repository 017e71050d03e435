import { describe, expect, test } from 'bun:test'

import { createPartCache, type Movable, type Part, partOf } from '#src/platform/parts.ts'
import { createRandom } from '#src/platform/random.ts'

const nextRound = () => new Promise<void>((resolve) => void setImmediate(resolve))

/** Bytes in a part; `released` counts how often each of them was released. */
class Kept implements Movable<Kept> {
  readonly size: number
  readonly #part: Part
  readonly #released: Map<Kept, number>

  constructor(part: Part, released: Map<Kept, number>) {
    this.#part = part
    this.#released = released
    this.size = part.length
    released.set(this, 0)
  }

  get bytes(): Uint8Array {
    const { memory, start, length } = this.#part
    return memory.bytes.subarray(start, start + length)
  }

  copyTo(part: Part): Kept {
    part.memory.bytes.set(this.bytes, part.start)
    return new Kept(part, this.#released)
  }

  release(): void {
    this.#released.set(this, (this.#released.get(this) ?? 0) + 1)
  }
}

/** Bytes that say whose they are, from the first to the last. */
const bytesOf = (key: number, size: number) => new Uint8Array(size).fill((key % 255) + 1)

function createRig(bytesMax: number) {
  const released = new Map<Kept, number>()
  const cache = createPartCache<Kept>(bytesMax)
  return {
    cache,
    released,
    put: (key: number, size: number) =>
      cache.put(key, new Kept(partOf(bytesOf(key, size)), released)),
  }
}

describe('createPartCache', () => {
  test.each([
    { bytesMax: 2 ** 20, sizeMax: 20_000, steps: 20_000 },
    // More than one segment is empty at once.
    { bytesMax: 80 * 2 ** 20, sizeMax: 1_000_000, steps: 3000 },
  ])('default: gives back what was put, for a round of the event loop: %o', async (sizes) => {
    const { bytesMax, sizeMax, steps } = sizes
    const { cache, put } = createRig(bytesMax)
    const random = createRandom('parts')
    const sizeOf = Array.from({ length: 400 }, () => 1 + random.integer(sizeMax))
    /** What was read in this round. */
    let read: { key: number; kept: Kept }[] = []
    const check = () => {
      for (const { key, kept } of read) {
        const expected = bytesOf(key, sizeOf[key] ?? 0)
        expect(Buffer.compare(kept.bytes, expected)).toBe(0)
      }
    }
    let hits = 0
    for (let step = 0; step < steps; step++) {
      if (random.integer(30) === 0) {
        check()
        read = []
        await nextRound()
      }
      const key = random.integer(random.pick([20, 400]))
      const kept = cache.get(key)
      if (kept !== undefined) hits++
      read.push({ key, kept: kept ?? put(key, sizeOf[key] ?? 0) })
      if (random.integer(50) === 0) cache.delete(random.integer(400))
      expect(cache.counts().bytes).toBeLessThan(bytesMax)
    }
    check()
    // Of 20 that are asked for half of the time most are kept.
    expect(hits).toBeGreaterThan(steps * 0.4)
    expect(cache.counts()).toMatchObject({ hits, misses: steps - hits })
  })

  test('behavior: what was used stays, what was not makes room', async () => {
    const { cache, put } = createRig(2 ** 20)
    for (let key = 0; key < 400; key++) {
      if (cache.get(-1) === undefined) put(-1, 10_000)
      put(key, 10_000)
      await nextRound()
    }
    expect(cache.counts()).toMatchObject({ hits: 399, misses: 1 })
    expect(cache.peek(0)).toBeUndefined()
    expect(cache.peek(399)?.bytes).toEqual(bytesOf(399, 10_000))
  })

  test('behavior: where all are in use, new ones still find room', async () => {
    const { cache, put } = createRig(2 ** 20)
    for (let key = 0; key < 1000; key++) {
      put(key, 10_000)
      for (let used = 0; used <= key; used++) cache.get(used)
      await nextRound()
    }
    expect(cache.peek(999)?.bytes).toEqual(bytesOf(999, 10_000))
  })

  test('behavior: in one round it keeps no more than there is room for', async () => {
    const { cache, put } = createRig(2 ** 20)
    const all = Array.from({ length: 300 }, (_, key) => put(key, 10_000))
    for (const [key, kept] of all.entries()) expect(kept.bytes).toEqual(bytesOf(key, 10_000))
    expect(cache.peek(299)).toBeUndefined()
    await nextRound()
    put(300, 10_000)
    expect(cache.peek(300)).toBeDefined()
  })

  test('behavior: releases each copy once, and never one that is kept', async () => {
    const { cache, released, put } = createRig(2 ** 20)
    for (let key = 0; key < 1000; key++) {
      put(key % 300, 10_000)
      if (key % 7 === 0) await nextRound()
    }
    await nextRound()
    const kept = Array.from({ length: 300 }, (_, key) => cache.peek(key)).filter(Boolean)
    expect(kept.length).toBeGreaterThan(60)
    for (const each of kept) if (each !== undefined) expect(released.get(each)).toBe(0)
    // In segments that are not emptied yet: kept ones and those whose place others took.
    const waiting = [...released.values()].filter((times) => times === 0)
    expect(waiting.length).toBeLessThan(110)
    expect([...released.values()].filter((times) => times > 1)).toEqual([])
  })

  test.each([0, 64])('behavior: a cache of %d bytes keeps nothing', async (bytesMax) => {
    const { cache, put, released } = createRig(bytesMax)
    const value = put(1, 100)
    expect(value.bytes).toEqual(bytesOf(1, 100))
    expect(cache.peek(1)).toBeUndefined()
    await nextRound()
    expect([...released.values()]).toEqual([1])
  })
})
