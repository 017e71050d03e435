import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { createLine } from '#src/http/line.ts'

/** A line whose answers take a millisecond each, on a clock that only they move. */
function createBusy() {
  let nowMs = 0
  const line = createLine(() => nowMs)
  const answered: string[] = []
  let refused = 0
  return {
    line,
    answered,
    refused: () => refused,
    pass: (ms: number) => {
      nowMs += ms
    },
    /** Comes, and waits or is refused; returns which. */
    come(owner: string): boolean {
      if (line.isTooLong(owner)) {
        refused++
        return false
      }
      void line.wait(owner).then(() => {
        nowMs++
        answered.push(owner)
      })
      return true
    },
  }
}

/** Lets rounds go by until the line is empty. */
async function untilEmpty({ waiting }: { waiting: () => number }): Promise<void> {
  while (waiting() > 0) await setImmediate()
  await setImmediate()
}

describe('createLine', () => {
  test('default: a burst is answered in the order in which it came, some in a round', async () => {
    const { line, answered, come } = createBusy()
    for (let count = 0; count < 100; count++) expect(come(String(count))).toBe(true)
    await setImmediate()
    await setImmediate()
    expect(answered.length).toBeGreaterThan(2)
    expect(answered.length).toBeLessThan(40)
    await untilEmpty({ waiting: () => line.waiting })
    expect(answered).toEqual(Array.from({ length: 100 }, (_, count) => String(count)))
  })

  test('behavior: while more come than can be answered the line stays short, and others are let in', async () => {
    const { line, come, answered, refused } = createBusy()
    let longest = 0
    let others = 0
    for (let round = 0; round < 300; round++) {
      for (let count = 0; count < 40; count++) come('greedy')
      if (round > 200) {
        longest = Math.max(longest, line.waiting)
        if (come('other')) others++
      }
      await setImmediate()
    }
    expect(refused()).toBeGreaterThan(4000)
    expect(answered.length).toBeGreaterThan(500)
    // Ten milliseconds of waiting, and what one round adds before the next is served.
    expect(longest).toBeLessThan(40)
    expect(others).toBe(99)
  })

  test('behavior: when the flood is over, the next is let in at once', async () => {
    const { line, come, refused } = createBusy()
    for (let round = 0; round < 100; round++) {
      for (let count = 0; count < 40; count++) come('greedy')
      await setImmediate()
    }
    expect(refused()).toBeGreaterThan(0)
    await untilEmpty({ waiting: () => line.waiting })
    expect(come('greedy')).toBe(true)
  })

  test('behavior: a while after a flood, a burst is answered as before', async () => {
    const { line, come, refused, pass } = createBusy()
    for (let round = 0; round < 100; round++) {
      for (let count = 0; count < 40; count++) come('greedy')
      await setImmediate()
    }
    await untilEmpty({ waiting: () => line.waiting })
    pass(2000)
    const before = refused()
    for (let count = 0; count < 100; count++) come('greedy')
    expect(refused()).toBe(before)
  })

  test('behavior: a burst is answered whole though answers took long before it', async () => {
    const { line, answered, come, pass, refused } = createBusy()
    for (let count = 0; count < 20; count++) come('early')
    pass(5000)
    await untilEmpty({ waiting: () => line.waiting })
    pass(2000)
    for (let count = 0; count < 400; count++) come('burst')
    expect([refused(), line.waiting]).toEqual([0, 400])
    expect(come('burst')).toBe(false)
    await untilEmpty({ waiting: () => line.waiting })
    expect(answered).toHaveLength(420)
  })
})
