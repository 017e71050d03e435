import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { bookPeriod, type Period } from '#src/domain/selling/subscription.ts'
import { defaultTiers, type Terms } from '#src/domain/selling/tier.ts'

const DAY_MS = 86_400_000
const RUNS = 500

const termsOf = (rank: number): Terms => ({
  tierId: `tier-${rank}`,
  name: `Tier ${rank}`,
  rank,
  coins: ['btc'],
  routes: ['markets'],
  requestsPerMinute: rank,
})

type Purchase = { rank: number; days: number; waitDays: number }
const purchases = fc.array(
  fc.record({
    rank: fc.integer({ min: 1, max: 4 }),
    days: fc.integer({ min: 1, max: 30 }),
    waitDays: fc.integer({ min: 0, max: 20 }),
  }),
  { minLength: 1, maxLength: 14 },
)

let made = 0
/** Books a purchase as the ledger does. */
function book(periods: readonly Period[], { rank, days }: Purchase, nowMs: number) {
  const terms = termsOf(rank)
  const { startMs, endMs, moved, rest } = bookPeriod(periods, { terms, days, nowMs })
  const kept = periods.map((period) => moved.find(({ id }) => id === period.id) ?? period)
  const added: Period = { id: `sub_${++made}`, tierId: terms.tierId, terms, startMs, endMs }
  const behind = rest === undefined ? [] : [{ ...rest, id: `sub_${++made}` }]
  return { added, moved, rest, periods: [...kept, ...behind, added] }
}

/**
 * The rank of each day, in a list; 0 for a day without one. Throws if
 * two periods have the same day.
 */
function toDays(periods: readonly Period[]): number[] {
  const days: number[] = []
  for (const { startMs, endMs, terms } of periods) {
    for (let day = startMs / DAY_MS; day < endMs / DAY_MS; day++) {
      if (days[day]) throw new Error(`Day ${day} is in two periods.`)
      days[day] = terms.rank
    }
  }
  return Array.from(days, (rank) => rank ?? 0)
}

/**
 * The model knows no periods: the days ahead are a queue of ranks, from which each day takes the
 * first. What is bought goes before the first lower one.
 */
function buyInModel(queue: readonly number[], { rank, days }: Purchase): number[] {
  const lower = queue.findIndex((other) => other < rank)
  const at = lower < 0 ? queue.length : lower
  return [...queue.slice(0, at), ...Array<number>(days).fill(rank), ...queue.slice(at)]
}

type After = ReturnType<typeof book> & { expected: number[]; nowMs: number }

/** Runs `check` after each of some purchases, with the days that the model expects. */
function runThrough(bought: readonly Purchase[], check: (after: After) => void): void {
  let periods: Period[] = []
  let past: number[] = []
  let queue: number[] = []
  for (const purchase of bought) {
    for (let day = 0; day < purchase.waitDays; day++) past = [...past, queue.shift() ?? 0]
    queue = buyInModel(queue, purchase)
    const nowMs = past.length * DAY_MS
    const after = book(periods, purchase, nowMs)
    check({ ...after, expected: [...past, ...queue], nowMs })
    periods = after.periods
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

/** What became of a period: it stays, or all of it is behind what was bought. */
function expectWhole(period: Period, { added, moved, rest, nowMs }: After): void {
  const after = moved.find(({ id }) => id === period.id)
  const stays = period.endMs <= nowMs || period.terms.rank >= added.terms.rank
  expect(after === undefined).toBe(stays)
  if (after === undefined) return
  const lengthMs = added.endMs - added.startMs
  const isCut = period.startMs < added.startMs
  // What it ends with is as far behind as the new one is long.
  const last = isCut ? rest : after
  expect(last?.endMs).toBe(period.endMs + lengthMs)
  expect(last?.startMs).toBe(Math.max(period.startMs, added.startMs) + lengthMs)
  expect(last?.terms).toBe(period.terms)
  if (isCut) expect(after).toEqual({ ...period, endMs: added.startMs })
}

describe('bookPeriod', () => {
  test('default: day by day it is what a queue of days gives, and no day is in two periods', () =>
    fc.assert(
      fc.property(purchases, (bought) =>
        runThrough(bought, ({ periods, expected }) => expect(toDays(periods)).toEqual(expected)),
      ),
      { numRuns: RUNS },
    ))

  test('behavior: every paid day of every tier is there exactly once, at any moment of a day', () =>
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            rank: fc.integer({ min: 1, max: 3 }),
            days: fc.integer({ min: 1, max: 30 }),
            waitMs: fc.integer({ min: 0, max: 20 * DAY_MS }),
          }),
          { maxLength: 14 },
        ),
        (bought) => {
          let periods: Period[] = []
          let nowMs = 0
          for (const [index, { rank, days, waitMs }] of bought.entries()) {
            nowMs += waitMs
            periods = book(periods, { rank, days, waitDays: 0 }, nowMs).periods
            const byStart = periods.toSorted((a, b) => a.startMs - b.startMs)
            for (const [at, { startMs, endMs }] of byStart.entries()) {
              expect(endMs).toBeGreaterThan(startMs)
              expect(byStart[at + 1]?.startMs ?? Infinity).toBeGreaterThanOrEqual(endMs)
            }
            for (const tier of [1, 2, 3]) {
              const paid = bought.slice(0, index + 1).filter((each) => each.rank === tier)
              const there = periods.filter(({ terms }) => terms.rank === tier)
              expect(sum(there.map(({ startMs, endMs }) => endMs - startMs))).toBe(
                sum(paid.map((each) => each.days)) * DAY_MS,
              )
            }
          }
        },
      ),
      { numRuns: RUNS },
    ))

  test('behavior: a tier higher than all that run or wait starts at once', () =>
    fc.assert(
      fc.property(purchases, fc.integer({ min: 0, max: 40 * DAY_MS }), (bought, laterMs) =>
        runThrough(bought, ({ periods, nowMs: boughtMs }) => {
          const nowMs = boughtMs + laterMs
          const { added } = book(periods, { rank: 9, days: 30, waitDays: 0 }, nowMs)
          expect([added.startMs, added.endMs]).toEqual([nowMs, nowMs + 30 * DAY_MS])
        }),
      ),
      { numRuns: RUNS },
    ))

  test('behavior: what is moved moves whole, and what has ended or is as high stays', () =>
    fc.assert(
      fc.property(purchases, (bought) => {
        let before: Period[] = []
        runThrough(bought, (after) => {
          for (const period of before) expectWhole(period, after)
          before = after.periods
        })
      }),
      { numRuns: RUNS },
    ))

  test('default: Pro in the middle of Starter starts at once, and the rest of Starter follows', () => {
    const [starter, pro] = ['starter', 'pro'].map((tierId) => {
      const terms = defaultTiers.find((tier) => tier.tierId === tierId)
      if (terms === undefined) throw new Error(tierId)
      return terms
    })
    if (starter === undefined || pro === undefined) throw new Error('no tiers')
    const running = { id: 'a', tierId: 'starter', terms: starter, startMs: 0, endMs: 30 * DAY_MS }
    const { id: _, ...rest } = running
    const nowMs = 10 * DAY_MS
    expect(bookPeriod([running], { terms: pro, days: 30, nowMs })).toEqual({
      startMs: nowMs,
      endMs: 40 * DAY_MS,
      moved: [{ ...running, endMs: nowMs }],
      rest: { ...rest, startMs: 40 * DAY_MS, endMs: 60 * DAY_MS },
    })
  })

  test('default: the same tier again, and a lower one, start when it ends', () => {
    const terms = termsOf(2)
    const running = { id: 'a', tierId: terms.tierId, terms, startMs: 0, endMs: 30 * DAY_MS }
    for (const rank of [2, 1]) {
      expect(bookPeriod([running], { terms: termsOf(rank), days: 7, nowMs: 5 })).toEqual({
        startMs: 30 * DAY_MS,
        endMs: 37 * DAY_MS,
        moved: [],
        rest: undefined,
      })
    }
  })

  test('behavior: without anything paid it starts now, and what has ended does not count', () => {
    const terms = termsOf(2)
    const ended = { id: 'a', tierId: terms.tierId, terms, startMs: 0, endMs: DAY_MS }
    for (const periods of [[], [ended]]) {
      expect(bookPeriod(periods, { terms, days: 1, nowMs: DAY_MS })).toEqual({
        startMs: DAY_MS,
        endMs: 2 * DAY_MS,
        moved: [],
        rest: undefined,
      })
    }
  })
})
