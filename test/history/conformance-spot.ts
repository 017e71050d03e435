/** The conformance suite's part on reference prices. */
import { describe, expect, test } from 'bun:test'

import type { SpotQuery, SpotTick } from '#src/domain/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { START_MS } from './books.ts'
import type { Use } from './conformance.ts'

const aTick = (changes: Partial<SpotTick> = {}): SpotTick => ({
  coin: 'btc',
  source: 'chainlink',
  windowSeconds: 60,
  timestampMs: START_MS,
  price: '64126.50',
  ...changes,
})

const listed = (history: MarketHistory, query: Partial<SpotQuery> = {}) =>
  history.spot({ coin: 'btc', order: 'asc', limit: 1000, ...query })

const timesOf = (history: MarketHistory, query: Partial<SpotQuery> = {}): number[] =>
  listed(history, query).map(({ timestampMs }) => timestampMs - START_MS)

/** Three series of two moments each, of two coins. */
async function fill(history: MarketHistory): Promise<void> {
  const moments = [2, 0].map((at) => START_MS + at)
  await history.putSpot(
    moments.flatMap((timestampMs) => [
      aTick({ timestampMs }),
      aTick({ timestampMs, windowSeconds: 0 }),
      aTick({ timestampMs, source: 'pyth' }),
      aTick({ timestampMs, coin: 'eth' }),
    ]),
  )
}

export function conformSpot(use: Use): void {
  describe('putSpot', () => {
    conformPut(use)
    conformDropped(use)
    conformReceipts(use)
    conformCorrections(use)
  })
  describe('spot', () => {
    conformList(use)
    test(
      'behavior: ids bound it, and the last one is that of any coin',
      use(async (history) => {
        expect(history.lastSpotId()).toBe(0)
        await fill(history)
        expect(history.lastSpotId()).toBe(8)
        for (const order of ['asc', 'desc'] as const) {
          const ids = listed(history, { order, aboveId: 2, uptoId: 6 }).map(({ id }) => id)
          expect(ids.toSorted()).toEqual([3, 5, 6])
        }
      }),
    )
  })
}

function conformReceipts(use: Use): void {
  test(
    'behavior: of equal ticks the one that was received first stays, whatever was put first',
    use(async (history) => {
      const received = (ms: number | undefined, price = '64126.50') =>
        aTick({ receivedMs: ms === undefined ? undefined : START_MS + ms, price })
      const ticks = [received(90), received(undefined), received(40, '64126.5'), received(40)]
      const orders = [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 3, 0, 2, 1],
      ]
      const found = await Array.fromAsync(orders, async (order, index) => {
        for (const at of order)
          await history.putSpot([{ ...(ticks[at] ?? aTick()), source: `source${index}` }])
        return listed(history, { source: `source${index}` }).map(({ receivedMs, price }) => [
          receivedMs,
          price,
        ])
      })
      for (const each of found) expect(each).toEqual([[START_MS + 40, '64126.5']])
      expect([...history.verify()]).toEqual([])
    }),
  )
}

function conformCorrections(use: Use): void {
  test(
    'behavior: of two prices of a moment the one that was received later stays, whatever was put first',
    use(async (history) => {
      const received = (ms: number | undefined, price: string) =>
        aTick({ receivedMs: ms === undefined ? undefined : START_MS + ms, price })
      const ticks = [
        received(40, '64126.50'),
        received(90, '64126.51'),
        received(95, '64126.510'),
        received(undefined, '64126.99'),
        // Another feed rounds it in another way.
        received(99, '64126.510000001'),
      ]
      const orders = [
        [0, 1, 2, 3, 4],
        [4, 3, 2, 1, 0],
        [2, 0, 4, 1, 3],
        [3, 1, 0, 4, 2],
      ]
      for (const [index, order] of orders.entries()) {
        const source = `source${index}`
        for (const at of order) await history.putSpot([{ ...(ticks[at] ?? aTick()), source }])
        const found = listed(history, { source }).map(({ receivedMs, price }) => [
          receivedMs,
          price,
        ])
        expect(found).toEqual([[START_MS + 90, '64126.51']])
      }
      expect([...history.verify()]).toEqual([])
    }),
  )
}

function conformDropped(use: Use): void {
  test(
    'behavior: what comes as history later is not missed any more by the next that was received',
    use(async (history) => {
      const received = (at: number, dropped?: number) =>
        aTick({ timestampMs: START_MS + at, receivedMs: START_MS + at + 80, dropped })
      const later = (at: number) => aTick({ timestampMs: START_MS + at })
      const droppedAt = () => listed(history).map(({ dropped }) => dropped)
      // What came before is no part of what was missed after it.
      await history.putSpot([later(0), later(1), received(2), received(5, 2), received(6)])
      expect(droppedAt()).toEqual([undefined, undefined, undefined, 2, undefined])
      // Of another series, held already, and one of the two.
      await history.putSpot([
        aTick({ timestampMs: START_MS + 3, source: 'pyth' }),
        later(2),
        later(3),
      ])
      expect(droppedAt()).toContain(1)
      await history.putSpot([later(3), later(4)])
      expect(droppedAt().filter((dropped) => dropped)).toEqual([])
      expect([...history.verify()]).toEqual([])
    }),
  )
}

function conformPut(use: Use): void {
  test(
    'default: keeps what a feed tells of a price with every digit, and nothing that it does not',
    use(async (history) => {
      const told = [
        aTick({ receivedMs: START_MS + 80, sequence: 7, dropped: 2 }),
        aTick({ timestampMs: START_MS + 1, price: '0.000000000000000001', sequence: 0 }),
        aTick({ timestampMs: START_MS + 2, price: '123456789012345678901234567890.10' }),
      ]
      expect(await history.putSpot(told)).toBe(3)
      expect(listed(history)).toEqual(told.map((tick, at) => ({ ...tick, id: at + 1 })))
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: one of a series and a moment stays, the first by content, and takes no other id',
    use(async (history) => {
      expect(await history.putSpot([aTick(), aTick({ price: '1' })])).toBe(1)
      const others = [aTick({ price: '2' }), aTick({ windowSeconds: 0 }), aTick({ source: 'pyth' })]
      expect(await history.putSpot(others)).toBe(2)
      expect(listed(history).map(({ id, price }) => [id, price])).toEqual([
        [2, '64126.50'],
        [1, '1'],
        [3, '64126.50'],
      ])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: of nothing there is nothing',
    use(async (history) => {
      expect(await history.putSpot([])).toBe(0)
      expect(listed(history)).toEqual([])
      expect([...history.verify()]).toEqual([])
    }),
  )
}

function conformList(use: Use): void {
  test(
    'default: ascends by time, then by source and average; descending is the same turned around; coins are apart',
    use(async (history) => {
      await fill(history)
      expect(timesOf(history)).toEqual([0, 0, 0, 2, 2, 2])
      const ids = listed(history).map(({ id }) => id)
      expect(ids).toEqual([6, 5, 7, 2, 1, 3])
      expect(listed(history, { order: 'desc' }).map(({ id }) => id)).toEqual(ids.reverse())
      expect(timesOf(history, { coin: 'eth' })).toEqual([0, 2])
      expect(timesOf(history, { coin: 'sol' })).toEqual([])
    }),
  )

  test(
    'behavior: `fromMs` is inclusive, `toMs` exclusive; source and window choose',
    use(async (history) => {
      await fill(history)
      expect(timesOf(history, { fromMs: START_MS, toMs: START_MS + 2 })).toEqual([0, 0, 0])
      expect(timesOf(history, { fromMs: START_MS + 1, toMs: START_MS + 3 })).toEqual([2, 2, 2])
      expect(timesOf(history, { source: 'pyth' })).toEqual([0, 2])
      expect(timesOf(history, { windowSeconds: 0 })).toEqual([0, 2])
      expect(timesOf(history, { source: 'pyth', windowSeconds: 0 })).toEqual([])
    }),
  )

  test(
    'behavior: pages of any length, put together, are the whole, in both orders',
    use(async (history) => {
      await fill(history)
      for (const order of ['asc', 'desc'] as const) {
        const whole = listed(history, { order })
        for (const limit of [1, 2, 5]) {
          const read = listed(history, { order, limit })
          for (let last = read.at(-1); last !== undefined;) {
            const page = listed(history, { order, limit, after: last })
            read.push(...page)
            last = page.at(-1)
          }
          expect(read).toEqual(whole)
        }
      }
    }),
  )
}
