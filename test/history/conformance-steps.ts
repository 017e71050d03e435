/** The conformance suite's part on pages in steps: the last row of each outcome in each of them. */
import { describe, expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'

import type { Outcome } from '#src/domain/market.ts'
import type { Position, Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { appendAll, aSnapshot, conditionIdOf, someSnapshots, START_MS } from './books.ts'
import type { Use } from './conformance.ts'
import { HistoryModel, type ModelQuery } from './history-model.ts'
import { idsOf, pageOf, textOf } from './pages.ts'

const orders = ['asc', 'desc'] as const
const CONDITION_ID = conditionIdOf(1)
const ROWS = 430

/** A row of market 1 so many milliseconds after the start, which begins a step of any width. */
const rowAt = (afterMs: number, outcome: Outcome = 'up', size = afterMs + 1_000_000): Snapshot =>
  aSnapshot({ outcome, timestampMs: START_MS + afterMs }, size)

/** Appends rows to a market that is over: nothing of it can change a step but what is late. */
async function appendClosed(history: MarketHistory, rows: readonly Snapshot[]): Promise<void> {
  await appendAll(history, rows)
  await history.close(CONDITION_ID)
}

const fill = async (history: MarketHistory): Promise<HistoryModel> => {
  const model = new HistoryModel()
  const snapshots = someSnapshots(ROWS)
  await appendClosed(history, snapshots)
  model.append({ id: 'model', source: 'simulated', snapshots })
  model.close(CONDITION_ID)
  return model
}

const idsOfModel = (model: HistoryModel, query: ModelQuery): number[] =>
  model.page(CONDITION_ID, query).rows.map(({ id }) => id)

export function conformSteps(use: Use): void {
  describe('page in steps', () => {
    conformKept(use)
    conformOpen(use)
    conformRange(use)
    conformWalks(use)
    conformEdges(use)
  })
}

function conformKept(use: Use): void {
  test(
    'default: keeps the last row of a step, whose end is in it and whose start is not',
    use(async (history) => {
      await appendClosed(history, [
        rowAt(0),
        rowAt(1),
        rowAt(999),
        rowAt(1000),
        rowAt(1001),
        rowAt(1500, 'down'),
        rowAt(2000, 'down'),
        rowAt(2001, 'down'),
        rowAt(9000),
      ])
      const query = { stepMs: 1000, limit: 100 }
      expect(idsOf(history, { ...query, order: 'asc' })).toEqual([1, 4, 5, 7, 8, 9])
      expect(idsOf(history, { ...query, order: 'desc' })).toEqual([9, 8, 7, 5, 4, 1])
      expect(idsOf(history, { ...query, order: 'asc', outcome: 'down' })).toEqual([7, 8])
    }),
  )

  test(
    'behavior: of several rows of one moment the last accepted is kept',
    use(async (history) => {
      await appendClosed(history, [rowAt(5, 'up', 1), rowAt(5, 'down', 2), rowAt(5, 'up', 3)])
      for (const stepMs of [1, 5, 1000]) {
        expect(idsOf(history, { order: 'asc', stepMs, limit: 9 })).toEqual([2, 3])
        expect(idsOf(history, { order: 'desc', stepMs, limit: 9 })).toEqual([3, 2])
      }
    }),
  )

  test(
    'behavior: a step is one, however many chunks it spans and whichever hold rows of an outcome',
    use(async (history) => {
      const downs = Array.from({ length: 250 }, (_, at) => rowAt(1000 + at * 10, 'down'))
      const ups = Array.from({ length: 250 }, (_, at) => rowAt(4000 + at * 10))
      await appendClosed(history, [rowAt(500), ...downs, ...ups])
      for (const order of orders) {
        const query = { order, stepMs: 60_000, limit: 10 }
        expect(idsOf(history, query).sort((a, b) => a - b)).toEqual([251, 501])
        expect(idsOf(history, { ...query, outcome: 'down' })).toEqual([251])
        expect(pageOf(history, query).hasMore).toBe(false)
        const early = { ...query, toMs: START_MS + 1000 }
        expect(idsOf(history, early)).toEqual([1])
      }
    }),
  )

  test(
    'behavior: a late row takes the place of the one that its step kept',
    use(async (history) => {
      await appendClosed(history, [rowAt(100), rowAt(300), rowAt(1200)])
      const query = { order: 'asc', stepMs: 1000, limit: 9 } as const
      expect(idsOf(history, query)).toEqual([2, 3])
      await appendAll(history, [rowAt(700)])
      expect(idsOf(history, query)).toEqual([4, 3])
    }),
  )
}

/** Of an open market: a row that was once on a page is there for good, and each is there once. */
function conformOpen(use: Use): void {
  const query = { order: 'asc', stepMs: 1000, limit: 100 } as const

  test(
    'behavior: a step of an open market has no row before a later row of each outcome has come',
    use(async (history) => {
      await appendAll(history, [rowAt(0), rowAt(1, 'down'), rowAt(900), rowAt(1000, 'down')])
      for (const order of orders) expect(idsOf(history, { ...query, order })).toEqual([1])
      // Another row of the step's last millisecond may come.
      expect(idsOf(history, { ...query, outcome: 'down' })).toEqual([])
      await appendAll(history, [rowAt(1000, 'down', 7_000_000), rowAt(1001, 'down')])
      expect(idsOf(history, { ...query, outcome: 'down' })).toEqual([5])
      expect(idsOf(history, query)).toEqual([1])
      await appendAll(history, [rowAt(1001)])
      expect(idsOf(history, query)).toEqual([1, 3, 5])
      expect(idsOf(history, { ...query, order: 'desc', limit: 2 })).toEqual([5, 3])
      await history.close(CONDITION_ID)
      // The row of Down in the last millisecond moved behind that of Up.
      expect(idsOf(history, query)).toEqual([1, 3, 5, 7, 8])
    }),
  )

  test(
    'behavior: a range that ends before the last rows is whole, and one behind them is empty',
    use(async (history) => {
      await appendAll(history, [rowAt(100), rowAt(100, 'down'), rowAt(700), rowAt(800, 'down')])
      expect(idsOf(history, { ...query, toMs: START_MS + 700 })).toEqual([1, 2])
      expect(idsOf(history, { ...query, toMs: START_MS + 701 })).toEqual([])
      expect(idsOf(history, { ...query, toMs: START_MS + 701, outcome: 'down' })).toEqual([2])
      const ahead = pageOf(history, { ...query, fromMs: START_MS + 700 })
      expect([ahead.count, ahead.hasMore]).toEqual([0, false])
    }),
  )

  test(
    'behavior: of an outcome that fell silent a step is there once the market is behind it',
    use(async (history) => {
      const slow = { ...query, stepMs: 60_000 }
      await appendAll(history, [rowAt(10, 'down'), ...someSnapshots(1), rowAt(58_000)])
      expect(idsOf(history, { ...slow, outcome: 'down' })).toEqual([])
      await appendAll(history, [rowAt(60_001)])
      expect(idsOf(history, { ...slow, outcome: 'down' })).toEqual([1])
      expect(idsOf(history, slow)).toEqual([2, 1, 3])
    }),
  )

  for (const stepMs of [1000, 7000, 60_000]) {
    test(
      `behavior: a follower is given each row once, as it stays (${stepMs} ms)`,
      use(async (history) => {
        const rows = someSnapshots(200)
        const seen: number[] = []
        let after: Position | undefined
        function follow(limit: number): boolean {
          const page = pageOf(history, { ...query, stepMs, limit, after })
          for (const text of page.texts()) seen.push(JSON.parse(Buffer.from(text).toString()).id)
          after = page.last ?? after
          return page.hasMore
        }
        for (let at = 0; at < rows.length; at += 3) {
          await appendAll(history, rows.slice(at, at + 3))
          follow(1 + (at % 4))
        }
        await history.close(CONDITION_ID)
        while (follow(5));
        const whole = idsOf(history, { ...query, stepMs, limit: 1000 })
        expect(seen.map(Number)).toEqual(whole)
      }),
    )
  }
}

function conformRange(use: Use): void {
  test(
    'behavior: rows at or after `to` do not count, so the last state before it is always kept',
    use(async (history) => {
      const model = await fill(history)
      const bounds = [1, 500, 1000, 1001, 99_000, 99_001, 100_500, 200_000, 429_000, 429_001]
      for (const after of bounds) {
        for (const stepMs of [60_000, 3_600_000]) {
          for (const order of orders) {
            const query = { order, toMs: START_MS + after, stepMs, limit: 1000 }
            const last = idsOf(history, { ...query, order: 'desc', stepMs: undefined })
            const ids = idsOf(history, query)
            expect({ query, ids }).toEqual({ query, ids: idsOfModel(model, query) })
            for (const id of last.slice(0, 2)) expect(ids).toContain(id)
          }
        }
      }
    }),
  )

  test(
    'behavior: `from` cuts rows off and changes nothing behind it',
    use(async (history) => {
      await fill(history)
      const whole = idsOf(history, { order: 'asc', stepMs: 7000, limit: 1000 })
      for (const row of [0, 3, 99, 100, 301, 429]) {
        const fromMs = START_MS + row * 1000
        for (const order of orders) {
          const ids = idsOf(history, { order, fromMs, stepMs: 7000, limit: 1000 })
          expect(ids.sort((a, b) => a - b)).toEqual(whole.filter((id) => id > row))
        }
      }
    }),
  )
}

function conformWalks(use: Use): void {
  test(
    'behavior: a walk by positions gives what one page gives, in pages of any size',
    use(async (history) => {
      await fill(history)
      const kinds = [
        { stepMs: 1, limit: 150 },
        { stepMs: 3000, limit: 40 },
        { stepMs: 10_000, limit: 7 },
        { stepMs: 60_000, limit: 1 },
        { stepMs: 86_400_000, limit: 1 },
      ]
      for (const kind of kinds) {
        for (const outcome of [undefined, 'down'] as const) {
          for (const order of orders) {
            const query = { ...kind, order, outcome, toMs: START_MS + 425_500 }
            const ids = idsOf(history, { ...query, limit: 1000 })
            expect({ query, ids: walk(history, query) }).toEqual({ query, ids })
          }
        }
      }
    }),
  )

  test(
    'behavior: continues past a place between rows, at the edge of a step or outside of all',
    use(async (history) => {
      const model = await fill(history)
      for (const afterMs of [-1, 0, 1, 59_999, 60_000, 60_001, 99_500, 240_000, 429_000, 999_000]) {
        for (const id of [0, 1, 61, 100, 1_000_000]) {
          for (const order of orders) {
            const after = { timestampMs: START_MS + afterMs, id }
            const query = { order, after, stepMs: 60_000, limit: 1000 }
            const ids = idsOf(history, query)
            expect({ after, order, ids }).toEqual({ after, order, ids: idsOfModel(model, query) })
          }
        }
      }
    }),
  )
}

/** The ids of all pages of a query, one after the other. */
function walk(history: MarketHistory, query: ModelQuery): number[] {
  const ids: number[] = []
  let after: Position | undefined
  for (let hasMore = true; hasMore;) {
    const page = pageOf(history, { ...query, after })
    for (const text of page.texts()) ids.push(Number(JSON.parse(Buffer.from(text).toString()).id))
    expect(page.count).toBeLessThanOrEqual(query.limit)
    expect(page.last === undefined && page.hasMore).toBe(false)
    after = page.last ?? after
    hasMore = page.hasMore
  }
  return ids
}

function conformEdges(use: Use): void {
  test(
    'behavior: hasMore is exact for every limit',
    use(async (history) => {
      await fill(history)
      for (const order of orders) {
        for (const outcome of [undefined, 'down'] as const) {
          const query = { order, outcome, stepMs: 20_000 }
          const { count } = pageOf(history, { ...query, limit: 1000 })
          for (const limit of [1, 2, count - 1, count, count + 1]) {
            const page = pageOf(history, { ...query, limit })
            expect([limit, page.count, page.hasMore]).toEqual([
              limit,
              Math.min(limit, count),
              limit < count,
            ])
          }
        }
      }
    }),
  )

  test(
    'behavior: both encodings give the same text, between prefix and suffix, and nothing gives them alone',
    use(async (history) => {
      await fill(history)
      for (const order of orders) {
        for (const toMs of [undefined, START_MS]) {
          const query = { order, toMs, stepMs: 5000, limit: 60 }
          const expected = `{"data":${textOf(history, query)}}`
          const page = pageOf(history, query)
          for (let again = 0; again < 2; again++) {
            const zipped = page.encode('gzip', '{"data":[', ']}')
            expect(gunzipSync(zipped).toString() === expected).toBe(true)
          }
          expect(JSON.parse(expected).data.length).toBe(page.count)
          if (toMs !== undefined) expect(expected).toBe('{"data":[]}')
        }
      }
    }),
  )

  test(
    'behavior: a market without rows has none in any step',
    use(async (history) => {
      const { coin, timeframe, conditionId } = aSnapshot()
      await history.putMarket({ coin, timeframe, conditionId, source: 'simulated' })
      for (const order of orders) {
        const page = pageOf(history, { order, stepMs: 1000, limit: 1 })
        expect([page.count, page.last, page.hasMore]).toEqual([0, undefined, false])
      }
    }),
  )
}
