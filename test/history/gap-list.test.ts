import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'

import { appendAll, aSnapshot, conditionIdOf, getMarket, START_MS } from './books.ts'

describe('gaps', () => {
  // What is derived from a list is remembered by its identity: domain/coverage.ts.
  test('behavior: the list stays the same one as long as nothing in it changed', async () => {
    const history = openHistory(':memory:')
    const add = (afterMs: number) =>
      appendAll(history, [aSnapshot({ timestampMs: START_MS + afterMs }, afterMs + 1)])
    const gaps = () => history.gaps(getMarket(history))
    await add(0)
    expect(gaps()).toBe(gaps())
    await add(20_000)
    const before = gaps()
    expect(before).toHaveLength(1)
    await add(21_000)
    await history.putGaps(conditionIdOf(1), [])
    expect(gaps()).toBe(before)
    await add(10_000)
    expect(gaps()).not.toBe(before)
    expect(gaps()).toHaveLength(2)
    history.dispose()
  })
})
