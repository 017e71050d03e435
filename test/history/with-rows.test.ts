import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { fetched } from '#src/history/reads/fetched.ts'
import { withRows } from '#src/history/reads/with-rows.ts'
import type { Steps } from '#src/platform/scheduler.ts'

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

  test('behavior: rows far apart are found with a pause after each 2,000 rows that are examined', () => {
    for (const order of ['asc', 'desc'] as const) {
      let examined = 0
      const counting: MarketHistory = {
        ...history,
        tops(query) {
          const found = history.tops(query)
          examined += found.length
          return found
        },
      }
      const sparse = withRows(counting, { isState: isRare })
      const query = { market, order, limit: 1000 }
      const read = function* (): Steps<number> {
        yield* fetched(sparse, query)
        return sparse.page(query).count
      }
      const steps = read()
      let step = steps.next()
      const most = [examined]
      for (let before = examined; !step.done; before = examined) {
        step = steps.next()
        most.push(examined - before)
      }
      expect(step.value).toBe(rare.length)
      expect(Math.max(...most)).toBeLessThanOrEqual(2 * 2000)
      expect(examined).toBeGreaterThanOrEqual(snapshots.length)
    }
  })

  test('behavior: rows that come between the pauses and the read are read, or left out, as they are', () => {
    const growing = openHistory(':memory:')
    const [first, ...rest] = someSnapshots(300)
    const later = rest.pop()
    const middle = rest.pop()
    if (first === undefined || middle === undefined || later === undefined) throw new Error('Some.')
    appendAll(growing, [first, ...rest.slice(0, 150), ...rest.slice(151), later])
    const found = growing.findMarket(conditionIdOf(1))
    const missing = rest[150]
    if (found === undefined || missing === undefined) throw new Error('It is there.')
    const lastId = growing.tops({ market: found, order: 'desc', limit: 1 })[0]?.id ?? 0
    const known = withRows(growing, { isState: ({ id }) => id <= lastId })
    const query = { market: found, order: 'asc', limit: 1000 } as const
    const before = known.tops(query).map(({ id }) => id)
    expect([...fetched(known, query)]).toEqual([])
    appendAll(growing, [missing, middle])
    const page = known.page(query)
    const ids = [...page.texts()].map((text) =>
      Number((JSON.parse(new TextDecoder().decode(text)) as { id: string }).id),
    )
    expect(ids).toEqual(before)
    expect(growing.tops({ ...query, limit: 1000 }).length).toBe(before.length + 2)
    growing.dispose()
  })

  test('error: a page with a step is refused, which `withSteps` finds', () => {
    expect(() => left.page({ market, order: 'asc', limit: 2, stepMs: 1000 })).toThrow('withSteps')
  })
})
