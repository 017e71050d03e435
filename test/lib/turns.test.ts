import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { createTurns } from '#src/lib/turns.ts'

describe('createTurns', () => {
  test('default: lets one waiter go on in each round, the first one first', async () => {
    const turns = createTurns()
    const seen: string[] = []
    const work = async (name: string) => {
      for (let step = 1; step <= 3; step++) {
        await turns.take()
        seen.push(`${name}${step}`)
      }
    }
    const all = Promise.all([work('a'), work('b')])
    const rounds: number[] = []
    while (seen.length < 6) {
      await setImmediate()
      rounds.push(seen.length)
    }
    await all
    expect(seen).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3'])
    expect(rounds.every((count, round) => count - (rounds[round - 1] ?? 0) <= 1)).toBeTrue()
  })

  test('idle: a turn after a rest comes as soon as the first', async () => {
    const turns = createTurns()
    await turns.take()
    await setImmediate()
    let isTaken = false
    void turns.take().then(() => {
      isTaken = true
    })
    await setImmediate()
    await setImmediate()
    expect(isTaken).toBeTrue()
  })
})
