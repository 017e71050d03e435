import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { createRounds } from '#src/http/rounds.ts'

/** Requests that are answered before a round is watched. */
const UNWATCHED = 8
const [PAID, FREE, GUEST] = [0, 1, 2]

/** A clock that moves only as requests take time, and a round of which nothing is left. */
function createFullRound() {
  let nowMs = 0
  const rounds = createRounds(() => nowMs)
  const pass = (ms: number): void => {
    nowMs += ms
  }
  const by = (owner: string, level: number | undefined = PAID) => ({ owner, level })
  const fill = () => {
    for (let count = 0; count < UNWATCHED; count++) void rounds.enter(by('first'))
    pass(3)
  }
  fill()
  const order: string[] = []
  /** A request that takes a millisecond. */
  const ask = (owner: string, level?: number, isUrgent?: boolean): Promise<void> | undefined =>
    rounds.enter({ owner, level: level ?? PAID }, isUrgent)?.then(() => {
      order.push(owner)
      pass(1)
    })
  return { rounds, by, fill, order, ask }
}

describe('enter', () => {
  test('default: requests are answered at once', () => {
    const rounds = createRounds(() => 0)
    for (let count = 0; count < 100; count++)
      expect(rounds.enter({ owner: 'a', level: PAID })).toBeUndefined()
  })

  test('behavior: once a round has lasted three milliseconds, requests wait for the next one', async () => {
    const { rounds, by, ask } = createFullRound()
    const wait = ask('a')
    expect([wait, rounds.waiting()]).toEqual([expect.any(Promise), 1])
    await wait
    await setImmediate()
    expect([rounds.enter(by('a')), rounds.waiting()]).toEqual([undefined, 0])
  })

  test('behavior: time that passes in other rounds does not count', async () => {
    const { rounds, by } = createFullRound()
    await setImmediate()
    expect(rounds.enter(by('a'))).toBeUndefined()
  })

  test('behavior: a round answers three milliseconds of those that waited, accounts in turn', async () => {
    const { rounds, order, ask } = createFullRound()
    const waits = ['a', 'a', 'a', 'a', 'b', 'c'].map((owner) => ask(owner))
    await setImmediate()
    expect([order, rounds.waiting()]).toEqual([['a', 'b', 'c'], 3])
    // Nobody overtakes those that wait.
    const late = ask('d')
    expect(late).toBeInstanceOf(Promise)
    await Promise.all([...waits, late])
    expect(order).toEqual(['a', 'b', 'c', 'a', 'd', 'a', 'a'])
  })

  test('behavior: each round answers one that waited, however late it is', async () => {
    let nowMs = 0
    const rounds = createRounds(() => (nowMs += 1_000))
    const by = { owner: 'a', level: PAID }
    await Promise.all(Array.from({ length: 20 }, () => rounds.enter(by)))
    expect(rounds.waiting()).toBe(0)
  })

  test('behavior: a flood of guests makes paying accounts wait for one round', async () => {
    const { order, ask } = createFullRound()
    const guests = Array.from({ length: 150 }, (_, at) => ask(`guest ${at}`, GUEST))
    const paid = Array.from({ length: 3 }, () => ask('paid'))
    await Promise.all(paid)
    expect(order.filter((owner) => owner !== 'paid').length).toBeLessThanOrEqual(1)
    await Promise.all(guests)
    expect(order).toHaveLength(153)
  })

  test('error: where too many wait, guests are refused first and paying accounts last', async () => {
    const { rounds, ask } = createFullRound()
    const outcomes = new Map<string, number>()
    const count = (owner: string, level?: number, isUrgent?: boolean) =>
      ask(owner, level, isUrgent)?.then(
        () => outcomes.set(owner, (outcomes.get(owner) ?? 0) + 1),
        (error) =>
          expect(error).toMatchObject({ code: 'unavailable', extras: { retryAfterSeconds: 1 } }),
      )
    const waits = [
      ...Array.from({ length: 300 }, () => count('guest', GUEST)),
      ...Array.from({ length: 300 }, () => count('free', FREE)),
      ...Array.from({ length: 600 }, () => count('paid', PAID)),
      count('billing', GUEST, true),
    ]
    expect(rounds.waiting()).toBe(1_001)
    await Promise.all(waits)
    expect(Object.fromEntries(outcomes)).toEqual({ guest: 250, free: 250, paid: 500, billing: 1 })
  })
})
