import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { createScheduler } from '#src/platform/scheduler.ts'

/** Does steps of work for an owner and notes each. */
async function work(
  { scheduler, seen }: { scheduler: ReturnType<typeof createScheduler>; seen: string[] },
  owner: string,
  { name = owner, steps = 3 } = {},
) {
  for (let step = 1; step <= steps; step++) {
    await scheduler.take(owner)
    seen.push(`${name}${step}`)
  }
}

describe('createScheduler', () => {
  test('default: lets one waiter go on in each round, the first one first', async () => {
    const scheduler = createScheduler()
    const seen = [] as string[]
    const rounds = [] as number[]
    const all = Promise.all([work({ scheduler, seen }, 'a'), work({ scheduler, seen }, 'b')])
    while (seen.length < 6) {
      await setImmediate()
      rounds.push(seen.length)
    }
    await all
    expect(seen).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    expect(rounds.every((count, round) => count - (rounds[round - 1] ?? 0) <= 1)).toBeTrue()
  })

  test('behavior: an owner with much work waits for himself, not the others', async () => {
    const scheduler = createScheduler()
    const seen = [] as string[]
    const many = Array.from({ length: 100 }, (_, job) =>
      work({ scheduler, seen }, 'greedy', { name: `g${job}.`, steps: 5 }),
    )
    const few = ['b', 'c'].map((owner) => work({ scheduler, seen }, owner, { steps: 10 }))
    await Promise.all(few)
    // Ten steps of each: between two of them the others had one at most.
    expect(seen.length).toBeLessThanOrEqual(31)
    expect(scheduler.waiting).toBeGreaterThan(90)
    await Promise.all(many)
    expect(seen.length).toBe(520)
    // Of its own work the oldest goes first.
    expect(seen.filter((name) => name.startsWith('g')).slice(0, 3)).toEqual([
      'g0.1',
      'g1.1',
      'g2.1',
    ])
  })

  test('idle: a turn after a rest comes as soon as the first', async () => {
    const scheduler = createScheduler()
    await scheduler.take('a')
    await setImmediate()
    let isTaken = false
    void scheduler.take('a').then(() => {
      isTaken = true
    })
    await setImmediate()
    await setImmediate()
    expect(isTaken).toBeTrue()
    expect(scheduler.waiting).toBe(0)
  })
})
