import { describe, expect, test } from 'bun:test'

import { type Bar, barPosition, readBars } from '#src/domain/bars.ts'
import type { BestLevels } from '#src/domain/quote.ts'
import type { State, StatePart } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { randomStates, readerOf } from '../support/state-reader.ts'

type Levels = State & BestLevels
const NO_END = 1_000_000

const randomLevels = (random: Random, count: number): Levels[] =>
  randomStates(random, count).map(({ timestampMs, id, outcome }) => {
    const hasBid = random.integer(5) > 0
    const hasAsk = random.integer(5) > 0
    return {
      timestampMs,
      id,
      outcome,
      bidPrice: hasBid ? 1 + random.integer(999_999) : 0,
      bidSize: hasBid ? 1 : 0,
      askPrice: hasAsk ? 1 + random.integer(999_999) : 0,
      askSize: hasAsk ? 1 : 0,
    }
  })

type Asked = { stepMs: number } & Pick<StatePart, 'outcome' | 'fromMs' | 'toMs'>

/** Each bar from the list of its states. */
function plainBars(states: readonly Levels[], asked: Asked): Bar[] {
  const { stepMs, outcome, fromMs = 0, toMs = Infinity } = asked
  const inRange = states.filter((each) => each.timestampMs >= fromMs && each.timestampMs < toMs)
  const starts = new Set(
    inRange.map(({ timestampMs }) => Math.floor(timestampMs / stepMs) * stepMs),
  )
  const bars: Bar[] = []
  for (const startMs of [...starts].sort((a, b) => a - b)) {
    for (const own of ['up', 'down'] as const) {
      const inStep = inRange.filter(
        (each) =>
          each.outcome === own &&
          each.timestampMs >= startMs &&
          each.timestampMs < startMs + stepMs,
      )
      if (inStep.length === 0 || (outcome ?? own) !== own) continue
      const mids = inStep
        .filter(({ bidSize, askSize }) => bidSize > 0 && askSize > 0)
        .map(({ bidPrice, askPrice }) => bidPrice + askPrice)
      const open = mids[0]
      const close = mids.at(-1)
      const all = { high: Math.max(...mids), low: Math.min(...mids) }
      const known = open !== undefined && close !== undefined
      const shown = known ? { open, ...all, close } : undefined
      bars.push({ outcome: own, startMs, states: inStep.length, mids: shown })
    }
  }
  return bars
}

type Walk = Asked & { order: 'asc' | 'desc'; statesMax?: number }

function walk(states: readonly Levels[], asked: Walk, limitOf: () => number) {
  const { stepMs, statesMax = NO_END, ...filters } = asked
  const { read } = readerOf(states)
  const pages: Bar[][] = []
  let after: Position | undefined
  for (;;) {
    const limit = limitOf()
    const range: StatePart = { ...filters, after, limit }
    const { bars, hasMore } = readBars({ read, stepMs, range, statesMax })
    expect(bars.length).toBeLessThanOrEqual(limit)
    pages.push(bars)
    const last = bars.at(-1)
    if (!hasMore || last === undefined) return pages
    after = barPosition(last)
  }
}

describe('readBars', () => {
  test.each(Array.from({ length: 60 }, (_, index) => index))(
    'property: a walk in either order gives the bars of the lists of states (seed %d)',
    (seed) => {
      const random = createRandom(`bars ${seed}`)
      const states = randomLevels(random, 1 + random.integer(300))
      const fromMs = random.pick(states).timestampMs
      const asked: Asked = {
        stepMs: random.pick([1_000, 5_000, 60_000]),
        outcome: random.pick([undefined, 'up', 'down'] as const),
        fromMs: random.integer(2) === 0 ? fromMs : undefined,
        toMs: random.integer(2) === 0 ? fromMs + 1 + random.integer(90_000) : undefined,
      }
      const expected = plainBars(states, asked)
      const limitOf = () => 1 + random.integer(random.pick([2, 30, 500]))
      const up = walk(states, { ...asked, order: 'asc' }, limitOf).flat()
      expect(up).toEqual(expected)
      const down = walk(states, { ...asked, order: 'desc' }, limitOf).flat()
      expect(down).toEqual(expected.reverse())
    },
  )

  test('behavior: a page ends early rather than read on, and the walk still finds everything', () => {
    const states = randomLevels(createRandom('early'), 6_000)
    for (const order of ['asc', 'desc'] as const) {
      const asked: Walk = { stepMs: 60_000, order, statesMax: 500 }
      const pages = walk(states, asked, () => 10_000)
      expect(pages.length).toBeGreaterThan(3)
      expect(pages.every((bars) => bars.length > 0)).toBe(true)
      const expected = plainBars(states, asked)
      expect(pages.flat()).toEqual(order === 'asc' ? expected : expected.reverse())
    }
  })

  test('behavior: a step without a state has no bar', () => {
    const one = randomLevels(createRandom('one'), 1)
    const later = one.map((state) => ({
      ...state,
      timestampMs: state.timestampMs + 3_600_000,
      id: 2,
    }))
    expect(walk([...one, ...later], { stepMs: 1_000, order: 'asc' }, () => 10).flat()).toHaveLength(
      2,
    )
    expect(walk([], { stepMs: 1_000, order: 'desc' }, () => 10)).toEqual([[]])
  })
})
