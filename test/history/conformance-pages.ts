/**
 * The conformance suite's part on what comes out: bounds, filters, orders, limits, encodings, tops.
 */
import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'

import { outcomes } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'

import {
  appendAll,
  aSnapshot,
  conditionIdOf,
  getMarket,
  simulatedSnapshots,
  someSnapshots,
  START_MS,
} from './books.ts'
import type { Use } from './conformance.ts'
import { idsOf, pageOf, textOf } from './pages.ts'

const orders = ['asc', 'desc'] as const
/**
 * Rows of the market that most tests here read: more than two chunks of 100, and not a multiple.
 */
const ROWS = 230

const fill = async (history: MarketHistory): Promise<void> => {
  await appendAll(history, someSnapshots(ROWS))
}

const idsBetween = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

export function conformPages(use: Use): void {
  describe('page', () => {
    conformBounds(use)
    conformLimits(use)
    conformAfter(use)
    conformEmpty(use)
    conformFreshness(use)
  })
  describe('encode', () => {
    conformEncodings(use)
  })
  describe('tops', () => {
    test(
      'default: gives what the books of the same page say',
      use(async (history) => {
        const rows = simulatedSnapshots('tops', 600)
        await appendAll(history, rows)
        const conditionId = rows[0]?.conditionId
        for (const order of orders) {
          for (const outcome of [undefined, ...outcomes]) {
            const query = { order, outcome, limit: 1000 }
            const market = getMarket(history, conditionId)
            const tops = history.tops({ market, ...query })
            const books: Book[] = JSON.parse(textOf(history, { conditionId, ...query }))
            expect(tops.map(toShown)).toEqual(books.map(topOfBook))
          }
        }
      }),
    )
  })
}

type Level = { price: number; size: number }
type Book = { id: string; outcome: string; bids: Level[]; asks: Level[] }

const topOfBook = ({ id, outcome, bids, asks }: Book) => [
  Number(id),
  outcome,
  bids[0]?.price ?? 0,
  bids[0]?.size ?? 0,
  asks[0]?.price ?? 0,
  asks[0]?.size ?? 0,
]

type Shown = { id: number; outcome: string; bidPrice: number; bidSize: number } & {
  askPrice: number
  askSize: number
}

const toShown = ({ id, outcome, bidPrice, bidSize, askPrice, askSize }: Shown) => [
  id,
  outcome,
  bidPrice / 1e6,
  bidSize / 1e6,
  askPrice / 1e6,
  askSize / 1e6,
]

function conformBounds(use: Use): void {
  test(
    'default: from is inclusive and to exclusive, to the millisecond, at every row',
    use(async (history) => {
      await fill(history)
      for (const row of [0, 1, 99, 100, 101, 199, 200, 228, 229]) {
        const timestampMs = START_MS + row * 1000
        for (const order of orders) {
          const query = { order, limit: 1000 }
          const ids = (bounds: { fromMs?: number; toMs?: number }) =>
            idsOf(history, { ...query, ...bounds }).sort((a, b) => a - b)
          expect(ids({ fromMs: timestampMs })).toEqual(idsBetween(row + 1, ROWS))
          expect(ids({ fromMs: timestampMs + 1 })).toEqual(idsBetween(row + 2, ROWS))
          expect(ids({ toMs: timestampMs })).toEqual(idsBetween(1, row))
          expect(ids({ toMs: timestampMs + 1 })).toEqual(idsBetween(1, row + 1))
          expect(ids({ fromMs: timestampMs, toMs: timestampMs + 1 })).toEqual([row + 1])
          expect(ids({ fromMs: timestampMs, toMs: timestampMs })).toEqual([])
        }
      }
    }),
  )

  test(
    'behavior: adjacent windows tile',
    use(async (history) => {
      await fill(history)
      const windows = [0, 1, 50_500, 99_000, 100_000, 229_000, 1_000_000]
      const tiles = windows.slice(1).flatMap((to, at) =>
        idsOf(history, {
          order: 'asc',
          limit: 1000,
          fromMs: START_MS + (windows[at] ?? 0),
          toMs: START_MS + to,
        }),
      )
      expect(tiles).toEqual(idsBetween(1, ROWS))
    }),
  )
}

function conformLimits(use: Use): void {
  test(
    'behavior: hasMore is exact for every limit and order, with and without a filter',
    use(async (history) => {
      await fill(history)
      for (const outcome of [undefined, ...outcomes]) {
        const count = outcome === undefined ? ROWS : ROWS / 2
        for (const limit of [1, 2, 50, 99, 100, 101, 114, 115, 116, 200, 229, 230, 231, 1000]) {
          for (const order of orders) {
            const { hasMore, ...page } = pageOf(history, { outcome, order, limit })
            const seen = { outcome, limit, order, hasMore, count: page.count }
            expect(seen).toEqual({
              outcome,
              limit,
              order,
              hasMore: limit < count,
              count: Math.min(limit, count),
            })
          }
        }
      }
    }),
  )

  test(
    'behavior: hasMore is false when all that follows is of the other outcome, however much',
    use(async (history) => {
      const rows = someSnapshots(320, { outcome: 'down' })
      const only = aSnapshot({ timestampMs: START_MS + 150_500 })
      const assetId = aSnapshot({ outcome: 'down' }).assetId
      await appendAll(history, [...rows.map((row) => ({ ...row, assetId })), only])
      for (const order of orders) {
        const page = pageOf(history, { outcome: 'up', order, limit: 1 })
        expect([page.count, page.hasMore]).toEqual([1, false])
        expect(idsOf(history, { outcome: 'up', order, limit: 5 })).toEqual([321])
      }
    }),
  )
}

function conformAfter(use: Use): void {
  test(
    'behavior: continues strictly past a row, and past a place between rows or outside of all',
    use(async (history) => {
      await fill(history)
      const places: [number, number, number][] = [
        [START_MS - 1, 7, 0],
        [START_MS, 0, 0],
        [START_MS, 1, 1],
        [START_MS, 2, 1],
        [START_MS + 98_999, 1_000_000, 99],
        [START_MS + 99_000, 100, 100],
        [START_MS + 99_500, 3, 100],
        [START_MS + 199_000, 200, 200],
        [START_MS + 229_000, 230, 230],
        [START_MS + 999_000, 1, 230],
      ]
      for (const [timestampMs, id, before] of places) {
        const after = { timestampMs, id }
        const isOnRow = before > 0 && after.id === before && timestampMs % 1000 === 0
        const descending = idsBetween(1, isOnRow ? before - 1 : before).reverse()
        const ascending = idsOf(history, { order: 'asc', after, limit: 1000 })
        expect([after, ascending]).toEqual([after, idsBetween(before + 1, ROWS)])
        expect(idsOf(history, { order: 'desc', after, limit: 1000 })).toEqual(descending)
      }
    }),
  )

  test(
    'behavior: a walk by positions gives every row once, in pages of any size, in both orders',
    use(async (history) => {
      await fill(history)
      const { timestampMs } = aSnapshot()
      await appendAll(history, [aSnapshot({ timestampMs }, 5), aSnapshot({ timestampMs }, 6)])
      for (const outcome of [undefined, 'down'] as const) {
        for (const order of orders) {
          const whole = idsOf(history, { order, outcome, limit: 1000 })
          for (const limit of [1, 3, 99, 100, 101]) {
            const walked: number[] = []
            let page = pageOf(history, { order, outcome, limit })
            walked.push(...idsIn(page))
            while (page.hasMore) {
              page = pageOf(history, { order, outcome, limit, after: page.last })
              walked.push(...idsIn(page))
            }
            expect(walked).toEqual(whole)
          }
        }
      }
    }),
  )
}

const idsIn = (page: ReturnType<typeof pageOf>): number[] =>
  JSON.parse(Buffer.from(page.encode('identity', '[', ']')).toString()).map(
    ({ id }: { id: string }) => Number(id),
  )

function conformEmpty(use: Use): void {
  test(
    'behavior: an empty page is prefix and suffix alone, and has no last row',
    use(async (history) => {
      const { coin, timeframe, conditionId } = aSnapshot({ conditionId: conditionIdOf(2) })
      await history.putMarket({ coin, timeframe, conditionId, source: 'simulated' })
      await appendAll(history, [aSnapshot()])
      const outside = { fromMs: START_MS + 1, limit: 9 }
      for (const order of orders) {
        for (const query of [
          { conditionId, order, limit: 9 },
          { order, ...outside },
          { order, outcome: 'down', limit: 9 } as const,
        ]) {
          const page = pageOf(history, query)
          expect([page.count, page.last, page.hasMore]).toEqual([0, undefined, false])
          expect(Buffer.from(page.encode('identity', '{"a":[', ']}')).toString()).toBe('{"a":[]}')
          expect(gunzipSync(page.encode('gzip', '{"a":[', ']}')).toString()).toBe('{"a":[]}')
        }
      }
    }),
  )
}

function conformFreshness(use: Use): void {
  test(
    'behavior: a page asked for with a market read before a write holds what was written',
    use(async (history) => {
      await appendAll(history, someSnapshots(10))
      const market = getMarket(history)
      const query = { market, order: 'asc', limit: 1000 } as const
      expect(history.page(query).count).toBe(10)
      await appendAll(history, someSnapshots(20))
      const { count, hasMore } = history.page({ ...query, limit: 10 })
      expect({ count, hasMore }).toEqual({ count: 10, hasMore: true })
      expect(history.page(query).count).toBe(20)
    }),
  )

  test(
    'behavior: a page stays what it was when its rows change before it is encoded',
    use(async (history) => {
      const rows = someSnapshots(180)
      await appendAll(
        history,
        rows.filter((_, at) => at % 2 === 0),
      )
      const query = { order: 'asc', limit: 1000 } as const
      const expected = textOf(history, query)
      const page = pageOf(history, query)
      await appendAll(history, rows)
      await history.close(conditionIdOf(1))
      textOf(history, query)
      expect(Buffer.from(page.encode('identity', '[', ']')).toString() === expected).toBe(true)
      expect(gunzipSync(page.encode('gzip', '[', ']')).toString() === expected).toBe(true)
    }),
  )
}

function conformEncodings(use: Use): void {
  test(
    'default: both encodings give the same text, and calling again gives it again',
    use(async (history) => {
      const rows = simulatedSnapshots('encodings', 250)
      await appendAll(history, rows)
      const conditionId = rows[0]?.conditionId
      for (const order of orders) {
        for (const outcome of [undefined, ...outcomes]) {
          const page = pageOf(history, { conditionId, order, outcome, limit: 1000 })
          const text = Buffer.from(page.encode('identity', '{"data":[', ']}')).toString()
          for (let again = 0; again < 2; again++) {
            const zipped = page.encode('gzip', '{"data":[', ']}')
            expect(gunzipSync(zipped).toString() === text).toBe(true)
            expect(zipped.length).toBeLessThan(text.length / 4)
          }
          expect(JSON.parse(text).data.length).toBe(page.count)
        }
      }
    }),
  )
}
