import { expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { onEachEngine } from '../support/engines/each.ts'
import { openHistoryIn } from '../support/stores.ts'
import { appendAll, conditionIdOf, someSnapshots } from './books.ts'
import { textOf } from './pages.ts'

const DAY_MS = 86_400_000
const all = { conditionId: conditionIdOf(1), order: 'asc', limit: 1000 } as const

/** A market with books to put. */
async function fill(history: MarketHistory): Promise<number> {
  await appendAll(history, someSnapshots(250))
  await history.archive.setPlace('s3://nowhere')
  const [marketId = 0] = history.archive.due(Number.MAX_SAFE_INTEGER)
  return marketId
}

onEachEngine(({ placeOf }) => {
  test('error: what another process took for left is not sealed, and its books stay', async () => {
    const place = placeOf('stalled')
    const stalled = await openHistoryIn(place)
    const other = await openHistoryIn(place)
    const marketId = await fill(stalled)
    const before = textOf(stalled, all)
    const packed = await stalled.archive.pack(marketId, 0)
    const { id = 0, name = '' } = packed ?? {}
    // What was begun a moment ago is not taken.
    expect(await other.archive.takeOrphans(1000)).toEqual([])
    expect(await other.archive.takeOrphans(DAY_MS)).toMatchObject([{ id, name }])
    expect(await packed?.seal()).toBe(false)
    await other.archive.forget(id)
    expect(await packed?.seal()).toBe(false)
    expect([...other.verify()]).toEqual([])
    expect(textOf(other, all) === before).toBe(true)
    expect(other.archive.totals().objects).toBe(0)

    const again = await stalled.archive.pack(marketId, DAY_MS)
    expect(again?.name).not.toBe(name)
    expect(await again?.seal()).toBe(true)
    expect(await other.archive.takeOrphans(Number.MAX_SAFE_INTEGER)).toEqual([])
    for (const each of [stalled, other]) each.dispose()
  })

  test('error: nor is what was put of a market that was deleted meanwhile', async () => {
    const history = await openHistoryIn(placeOf('deleted'))
    const packed = await history.archive.pack(await fill(history), 0)
    await history.close(conditionIdOf(1))
    while (await history.deleteOldest(Number.MAX_SAFE_INTEGER));
    expect(await packed?.seal()).toBe(false)
    expect((await history.archive.takeOrphans(0)).map(({ name }) => name)).toEqual([
      packed?.name ?? '',
    ])
    expect([...history.verify()]).toEqual([])
    history.dispose()
  })
})
