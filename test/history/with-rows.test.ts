import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { withRows } from '#src/history/reads/with-rows.ts'

import { expectLeftOut } from '../support/left-out-rows.ts'
import { appendAll, conditionIdOf, someSnapshots } from './books.ts'

describe('withRows', () => {
  test('default: lists of a history without some rows are as if these had not been recorded', async () => {
    await expectLeftOut({
      isState: ({ asks }) => asks.sizes[0] === 1_000_010,
      isTrade: ({ price }) => price % 3 === 0,
      open: (history) =>
        withRows(history, {
          isState: ({ askSize }) => askSize === 1_000_010,
          isTrade: ({ price }) => price % 3 === 0,
        }),
    })
  }, 60_000)

  const snapshots = someSnapshots(6000)
  const history = openHistory(':memory:')
  appendAll(history, snapshots)
  const market = history.findMarket(conditionIdOf(1))
  if (market === undefined) throw new Error('The market of the snapshots is there.')
  const isRare = ({ timestampMs }: { timestampMs: number }) => timestampMs % 1_500_000 === 0
  const left = withRows(history, { isState: isRare })
  const rare = snapshots.filter(isRare)

  test('behavior: rows far apart are found by every verb that reads rows', () => {
    expect(rare.length).toBeGreaterThan(2)
    for (const order of ['asc', 'desc'] as const) {
      const query = { market, order, limit: 2 }
      const expected = (order === 'asc' ? rare : rare.toReversed()).slice(0, 2)
      const times = expected.map(({ timestampMs }) => timestampMs)
      expect(left.tops(query).map(({ timestampMs }) => timestampMs)).toEqual(times)
      const page = left.page(query)
      expect([page.count, page.hasMore, page.last?.timestampMs]).toEqual([2, true, times[1]])
    }
    const last = rare.at(-1)
    const found = { market, outcome: last?.outcome ?? 'up' }
    expect(left.latest(found)?.snapshot().bids).toEqual(last?.bids ?? { prices: [], sizes: [] })
    const before = (last?.timestampMs ?? 0) - 1
    expect(left.at({ ...found, timestampMs: before })?.timestampMs).toBe(
      rare.findLast((each) => each.outcome === last?.outcome && each !== last)?.timestampMs ?? 0,
    )
  })

  test('error: a page with a step is refused, which `withSteps` finds', () => {
    expect(() => left.page({ market, order: 'asc', limit: 2, stepMs: 1000 })).toThrow('withSteps')
  })
})
