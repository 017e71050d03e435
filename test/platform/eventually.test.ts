import { describe, expect, test } from 'bun:test'

import { Missing, readAhead, Reading, stillInReads } from '#src/platform/eventually.ts'

/** Has nothing at first; counts the rounds in which something is fetched. */
class Shelf extends Reading {
  readonly here = new Set<number>()
  readonly rounds: number[][] = []
  #asked: number[] = []

  take(one: number): number {
    if (this.here.has(one)) return one
    this.#asked.push(one)
    throw new Missing()
  }

  override async fetch(): Promise<void> {
    const asked = [...new Set(this.#asked)]
    this.#asked = []
    this.rounds.push(asked)
    for (const one of asked) this.here.add(one)
  }
}

describe('readAhead', () => {
  test('default: a walk through 200 runs again four times, and a read of one asks for one', async () => {
    for (const [length, rounds] of [
      [200, [1, 4, 16, 64, 115]],
      [1, [1]],
      [2, [1, 1]],
    ] as const) {
      const shelf = new Shelf()
      const all = Array.from({ length }, (_, at) => at)
      const sum = await shelf.run(() =>
        all.reduce((total, one) => {
          const next = (count: number) => all.slice(one + 1, one + 1 + count)
          return total + readAhead(one, (each) => shelf.take(each), next)
        }, 0),
      )
      expect(sum).toBe((length * (length - 1)) / 2)
      expect(shelf.rounds.map((round) => round.length)).toEqual([...rounds])
    }
  })

  test('error: what is not about lacking is thrown at once', () => {
    const broken = () => {
      throw new RangeError('broken')
    }
    expect(() => readAhead(1, broken, () => [2])).toThrow(RangeError)
  })
})

describe('stillInReads', () => {
  test('default: in all runs of a read it is the same time, and another in the next', async () => {
    let nowMs = 0
    const clock = stillInReads(() => ++nowMs)
    expect([clock(), clock()]).toEqual([1, 2])
    for (const time of [3, 4]) {
      const shelf = new Shelf()
      expect(await shelf.run(() => shelf.take(clock()) + shelf.take(clock()))).toBe(2 * time)
      expect(shelf.rounds).toEqual([[time]])
    }
    expect(clock()).toBe(5)
  })
})
