import { expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { onEachEngine } from '../support/engines/each.ts'
import { appendAll, conditionIdOf, someSnapshots } from './books.ts'
import { textOf } from './pages.ts'

const DAY_MS = 86_400_000
const all = { conditionId: conditionIdOf(1), order: 'asc', limit: 1000 } as const

/** A market with books to put. */
function fill(history: MarketHistory): number {
  appendAll(history, someSnapshots(250))
  history.archive.setPlace('s3://nowhere')
  const [marketId = 0] = history.archive.due(Number.MAX_SAFE_INTEGER)
  return marketId
}

onEachEngine(({ placeOf }) => {
  test('error: what another process took for left is not sealed, and its books stay', () => {
    const place = placeOf('stalled')
    const stalled = openHistory(place)
    const other = openHistory(place)
    const marketId = fill(stalled)
    const before = textOf(stalled, all)
    const packed = stalled.archive.pack(marketId, 0)
    const { id = 0, name = '' } = packed ?? {}
    // What was begun a moment ago is not taken.
    expect(other.archive.takeOrphans(1000)).toEqual([])
    expect(other.archive.takeOrphans(DAY_MS)).toMatchObject([{ id, name }])
    expect(packed?.seal()).toBe(false)
    other.archive.forget(id)
    expect(packed?.seal()).toBe(false)
    expect([...other.verify()]).toEqual([])
    expect(textOf(other, all) === before).toBe(true)
    expect(other.archive.totals().objects).toBe(0)

    const again = stalled.archive.pack(marketId, DAY_MS)
    expect(again?.name).not.toBe(name)
    expect(again?.seal()).toBe(true)
    expect(other.archive.takeOrphans(Number.MAX_SAFE_INTEGER)).toEqual([])
    for (const each of [stalled, other]) each.dispose()
  })

  test('error: nor is what was put of a market that was deleted meanwhile', () => {
    const history = openHistory(placeOf('deleted'))
    const packed = history.archive.pack(fill(history), 0)
    history.close(conditionIdOf(1))
    while (history.deleteOldest(Number.MAX_SAFE_INTEGER));
    expect(packed?.seal()).toBe(false)
    expect(history.archive.takeOrphans(0).map(({ name }) => name)).toEqual([packed?.name ?? ''])
    expect([...history.verify()]).toEqual([])
    history.dispose()
  })
})
