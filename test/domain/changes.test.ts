import { describe, expect, test } from 'bun:test'

import { readChanges } from '#src/domain/changes.ts'
import type { StatePart } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { type NumberedState, randomStates, readerOf } from '../support/state-reader.ts'

const isSame = (a: NumberedState, b: NumberedState) => a.value === b.value

type Filters = Pick<StatePart, 'outcome' | 'fromMs' | 'toMs'>

/**
 * Every state that differs from the one of its outcome before it in the
 * range, computed the plain way.
 */
function changesOf(states: readonly NumberedState[], filters: Filters): NumberedState[] {
  const { outcome, fromMs = 0, toMs = Infinity } = filters
  const inRange = states.filter(
    (state) =>
      (outcome ?? state.outcome) === state.outcome &&
      state.timestampMs >= fromMs &&
      state.timestampMs < toMs,
  )
  return inRange.filter((state, index) => {
    const before = inRange.slice(0, index).findLast((other) => other.outcome === state.outcome)
    return before?.value !== state.value
  })
}

function drawFilters(random: Random, states: readonly NumberedState[]): Filters {
  const first = states[0]?.timestampMs ?? 0
  const last = states.at(-1)?.timestampMs ?? 1
  const fromMs = first + random.integer(last - first + 1)
  return {
    outcome: random.pick([undefined, 'up', 'down'] as const),
    fromMs: random.integer(2) === 0 ? fromMs : undefined,
    toMs: random.integer(2) === 0 ? fromMs + 1 + random.integer(last - fromMs + 2) : undefined,
  }
}

type Walk = { order: 'asc' | 'desc'; filters: Filters; limitOf: () => number }

function walk(states: readonly NumberedState[], { order, filters, limitOf }: Walk) {
  const { read } = readerOf(states)
  const rows: NumberedState[] = []
  let after: Position | undefined
  for (;;) {
    const range = { order, ...filters, after, limit: limitOf() }
    const page = readChanges({ read, isSame, range })
    rows.push(...page.rows)
    expect(page.rows.length).toBeLessThanOrEqual(range.limit)
    if (!page.hasMore) return { rows, last: page.last }
    // Only a page that is the last one may have fewer rows than asked for.
    expect(page.rows.length).toBe(range.limit)
    after = page.last
  }
}

describe('readChanges', () => {
  test('default: a state that repeats the one before it is no row, each outcome by itself', () => {
    const states: NumberedState[] = [
      { timestampMs: 1, id: 1, outcome: 'up', value: 1 },
      { timestampMs: 1, id: 2, outcome: 'down', value: 1 },
      { timestampMs: 2, id: 3, outcome: 'up', value: 1 },
      { timestampMs: 3, id: 4, outcome: 'up', value: 2 },
      { timestampMs: 4, id: 5, outcome: 'down', value: 1 },
    ]
    const { read } = readerOf(states)
    const page = readChanges({ read, isSame, range: { order: 'asc', limit: 10 } })
    expect(page.rows.map(({ id }) => id)).toEqual([1, 2, 4])
    // The last place looked at, not that of the last row.
    expect([page.last, page.hasMore]).toEqual([expect.objectContaining({ id: 5 }), false])
  })

  test.each(Array.from({ length: 60 }, (_, index) => index))(
    'property: a walk at any limits, in either order, gives what the plain way gives (seed %d)',
    (seed) => {
      const random = createRandom(`changes ${seed}`)
      const states = randomStates(random, 1 + random.integer(300))
      const filters = drawFilters(random, states)
      const expected = changesOf(states, filters)
      for (const order of ['asc', 'desc'] as const) {
        const limitOf = () => 1 + random.integer(random.pick([2, 40, 400]))
        const { rows } = walk(states, { order, filters, limitOf })
        expect(rows).toEqual(order === 'asc' ? expected : expected.toReversed())
      }
    },
  )

  test('behavior: repeats for longer than a block neither end a walk nor begin a row', () => {
    const states = Array.from({ length: 7_000 }, (_, index): NumberedState => ({
      timestampMs: index,
      id: index + 1,
      outcome: index % 5_000 === 4_999 ? 'down' : 'up',
      value: index > 6_000 ? 2 : 1,
    }))
    for (const order of ['asc', 'desc'] as const) {
      const { rows } = walk(states, { order, filters: {}, limitOf: () => 1 })
      const ids = rows.map(({ id }) => id).sort((a, b) => a - b)
      expect(ids).toEqual([1, 5_000, 6_002])
    }
  })

  test('behavior: a follower goes on without reading repeats again', () => {
    const states: NumberedState[] = Array.from({ length: 500 }, (_, index) => ({
      timestampMs: index,
      id: index + 1,
      outcome: 'up',
      value: 1,
    }))
    const { read, counts } = readerOf(states)
    const range: StatePart = { order: 'asc', limit: 100 }
    const { last } = readChanges({ read, isSame, range })
    counts.states = 0
    states.push({ timestampMs: 500, id: 501, outcome: 'up', value: 1 })
    states.push({ timestampMs: 501, id: 502, outcome: 'up', value: 2 })
    const page = readChanges({ read, isSame, range: { ...range, after: last } })
    expect(page.rows.map(({ id }) => id)).toEqual([502])
    // What is new, and the state before it.
    expect(counts.states).toBe(3)
  })

  test('behavior: a small page of a long history reads little of it', () => {
    const random = createRandom('small page')
    const { read, counts } = readerOf(randomStates(random, 4_000))
    for (const order of ['asc', 'desc'] as const) {
      readChanges({ read, isSame, range: { order, limit: 10 } })
    }
    expect(counts.states).toBeLessThan(300)
  })

  test('behavior: nothing is a page without rows or a place', () => {
    const { read } = readerOf<NumberedState>([])
    for (const order of ['asc', 'desc'] as const) {
      const page = readChanges({ read, isSame, range: { order, limit: 1 } })
      expect(page).toEqual({ rows: [], last: undefined, hasMore: false })
    }
  })
})
