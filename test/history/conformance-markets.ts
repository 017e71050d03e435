/** The conformance suite's part on markets: facts, lists, revisions, closing. */
import { describe, expect, test } from 'bun:test'

import {
  type Market,
  marketStatuses,
  outcomes,
  statusOf,
  type Timeframe,
} from '#src/domain/market.ts'
import type { MarketHistory, MarketQuery } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, getMarket, someSnapshots, START_MS } from './books.ts'
import { conformFacts, someFacts } from './conformance-facts.ts'
import type { Use } from './conformance.ts'
import { pageOf, textOf } from './pages.ts'

export function conformMarkets(use: Use): void {
  describe('putMarket', () => {
    conformPut(use)
  })
  conformFacts(use)
  describe('listMarkets', () => {
    conformList(use)
    conformFilters(use)
  })
  describe('revision', () => {
    conformRevisions(use)
  })
  describe('close', () => {
    conformClose(use)
  })
  describe('totals', () => {
    test(
      'default: counts markets and rows, not duplicates, and the bytes of the file',
      use(async (history) => {
        expect(history.totals()).toMatchObject({ markets: 0, snapshots: 0 })
        const { bytes } = history.totals()
        await appendAll(history, [...someSnapshots(1000), aSnapshot({}, 10_000)])
        await history.putMarket(someFacts(2))
        expect(history.totals()).toMatchObject({ markets: 2, snapshots: 1000 })
        expect(history.totals().bytes).toBeGreaterThan(bytes)
      }),
    )
  })
  describe('cursorKey', () => {
    test(
      'default: is 32 bytes that stay',
      use((history) => {
        expect(history.cursorKey.length).toBe(32)
        expect(history.cursorKey).toEqual(history.cursorKey)
      }),
    )
  })
}

function conformPut(use: Use): void {
  test(
    'default: creates a market without books',
    use(async (history) => {
      expect(history.findMarket(conditionIdOf(1))).toBeUndefined()
      await history.putMarket(someFacts(1, { slug: 'a' }))
      const market = getMarket(history)
      expect(market).toMatchObject({ ...someFacts(1), slug: 'a', isClosed: false, orderMs: 0 })
      expect(market.snapshotCounts).toEqual({ up: 0, down: 0 })
      expect(market.assetIds).toEqual({})
      expect([market.firstSnapshotMs, market.lastSnapshotMs]).toEqual([undefined, undefined])
    }),
  )

  test(
    'behavior: merges facts: what is told later is added, what is left out stays',
    use(async (history) => {
      const windows = { windowStartMs: START_MS, windowEndMs: START_MS + 300_000 }
      await history.putMarket(someFacts(1, { slug: 'a', question: 'Up?' }))
      await appendAll(history, [aSnapshot({ timestampMs: START_MS + 7 })])
      await history.putMarket(someFacts(1, windows))
      await history.putMarket(someFacts(1, { slug: undefined, winner: 'down' }))
      const facts = { slug: 'a', question: 'Up?', ...windows, winner: 'down' } as const
      expect(getMarket(history)).toMatchObject({ ...facts, orderMs: START_MS })
      expect(getMarket(history).snapshotCounts).toEqual({ up: 1, down: 0 })
    }),
  )

  test(
    'error: a contradiction of what cannot change changes nothing',
    use(async (history) => {
      const window = { windowStartMs: START_MS, windowEndMs: START_MS + 300_000 }
      await history.putMarket(someFacts(1, { slug: 'a', ...window }))
      const before = getMarket(history)
      for (const changes of [
        { coin: 'eth' },
        { timeframe: '1h' },
        { source: 'recorded' },
        { slug: 'b' },
        { windowStartMs: START_MS + 1 },
        { windowEndMs: START_MS + 300_001 },
      ] as const) {
        const put = () =>
          history.putMarket(someFacts(1, { slug: undefined, question: 'x', ...changes }))
        expect(put).toThrow(expect.objectContaining({ code: 'market_conflict' }))
      }
      expect(getMarket(history)).toEqual(before)
    }),
  )

  test(
    'behavior: books fill in assets, counts and times',
    use(async (history) => {
      const rows = someSnapshots(205)
      await appendAll(history, rows.slice(5))
      await appendAll(history, rows.slice(0, 5))
      expect(getMarket(history)).toMatchObject({
        assetIds: { up: rows[0]?.assetId, down: rows[1]?.assetId },
        snapshotCounts: { up: 103, down: 102 },
        firstSnapshotMs: START_MS,
        lastSnapshotMs: START_MS + 204_000,
        orderMs: START_MS,
      })
    }),
  )
}

function conformList(use: Use): void {
  test(
    'default: lists one coin, by the window or else the first book, newest first, then by id downwards',
    use(async (history) => {
      for (const number of [1, 2, 3])
        await history.putMarket(someFacts(number, { windowStartMs: 5000 }))
      await history.putMarket(someFacts(4, { windowStartMs: 9000 }))
      await history.putMarket(someFacts(5, { coin: 'eth', windowStartMs: 7000 }))
      await history.putMarket(someFacts(6))
      await appendAll(history, [aSnapshot({ conditionId: conditionIdOf(7), timestampMs: 6000 })])
      expect(listed(history, 100)).toEqual([4, 7, 3, 2, 1, 6])
    }),
  )

  test(
    'behavior: pages of any size put together are the whole list',
    use(async (history) => {
      for (let number = 1; number <= 23; number++)
        await history.putMarket(someFacts(number, { windowStartMs: (number % 4) * 1000 }))
      const whole = listed(history, 100)
      expect(whole.length).toBe(23)
      for (const limit of [1, 2, 7, 22, 23, 24]) {
        const pages: number[] = []
        for (let after: After; ;) {
          const page = history.listMarkets({ coin: 'btc', limit, after })
          pages.push(...page.map(({ conditionId }) => Number(conditionId)))
          after = page.at(-1)
          if (page.length < limit) break
        }
        expect(pages).toEqual(whole)
      }
    }),
  )
}

/** Times of windows and of the clock are drawn from so few that they often meet. */
const MOMENTS = 6
const timeframes: readonly Timeframe[] = ['5m', '1h']

/** Forty markets of every kind, in the order in which they are listed. */
async function someMarkets(history: MarketHistory, random: Random): Promise<Market[]> {
  const maybe = (value: number): number | undefined => (random.integer(4) === 0 ? undefined : value)
  const numbers = Array.from({ length: 40 }, (_, at) => at + 1)
  for (const number of numbers) {
    const startMs = random.integer(MOMENTS)
    const window = {
      windowStartMs: maybe(startMs),
      windowEndMs: maybe(startMs + 1 + random.integer(2)),
    }
    const winner = random.pick([undefined, undefined, ...outcomes])
    const timeframe = random.pick(timeframes)
    await history.putMarket(someFacts(number, { ...window, winner, timeframe }))
    const conditionId = conditionIdOf(number)
    if (random.integer(3) === 0) await history.close(conditionId)
    const timestampMs = random.integer(MOMENTS)
    if (random.integer(3) === 0)
      await appendAll(history, [aSnapshot({ conditionId, timeframe, timestampMs })])
  }
  await history.putMarket(someFacts(99, { coin: 'eth' }))
  return numbers
    .map((number) => getMarket(history, conditionIdOf(number)))
    .sort((a, b) => b.orderMs - a.orderMs || (a.conditionId < b.conditionId ? 1 : -1))
}

function randomFilters(random: Random): MarketQuery {
  const maybe = <T>(value: T): T | undefined => (random.integer(2) === 0 ? undefined : value)
  return {
    coin: 'btc',
    limit: random.pick([1, 3, 40, 100]),
    order: random.pick([undefined, 'asc', 'desc']),
    timeframe: maybe(random.pick(timeframes)),
    status: maybe(random.pick(marketStatuses)),
    nowMs: random.integer(MOMENTS + 2),
    fromMs: maybe(random.integer(MOMENTS)),
    toMs: maybe(random.integer(MOMENTS)),
    winner: random.integer(4) === 0 ? random.pick(outcomes) : undefined,
  }
}

/** What a query must list, from the whole list and `statusOf`. */
function listPlainly(markets: readonly Market[], query: MarketQuery): string[] {
  const { fromMs = 0, toMs = Infinity, status, nowMs = 0 } = query
  const matching = markets.filter(
    (market) =>
      (query.timeframe ?? market.timeframe) === market.timeframe &&
      (status === undefined || statusOf(market, nowMs) === status) &&
      (query.winner === undefined || market.winner === query.winner) &&
      market.orderMs >= fromMs &&
      market.orderMs < toMs,
  )
  return (query.order === 'asc' ? matching.toReversed() : matching).map((each) => each.conditionId)
}

function conformFilters(use: Use): void {
  for (const seed of [1, 2, 3]) {
    test(
      `behavior: filters, bounds, order and pages together list what a plain filter does, seed ${seed}`,
      use(async (history) => {
        const random = createRandom(`filters-${seed}`)
        const markets = await someMarkets(history, random)
        const seen = new Set<string | undefined>()
        for (let probe = 0; probe < 150; probe++) {
          const query = randomFilters(random)
          const expected = listPlainly(markets, query)
          if (expected.length > 0) seen.add(query.status)
          expect({ query, listed: walkMarkets(history, query) }).toEqual({
            query,
            listed: expected,
          })
        }
        expect(seen).toEqual(new Set([undefined, ...marketStatuses]))
      }),
    )
  }

  test(
    'behavior: pages that look at few markets each list what a plain filter does',
    use(async (history) => {
      const random = createRandom('few')
      const markets = await someMarkets(history, random)
      for (let probe = 0; probe < 12; probe++) {
        const query = { ...randomFilters(random), limit: 40 }
        const listed = walkPages(history, query, random.pick([7, 20]))
        expect({ query, listed }).toEqual({ query, listed: listPlainly(markets, query) })
      }
    }),
  )

  test(
    'error: a status is asked for at a time, without which nothing is listed',
    use((history) => {
      const list = () => history.listMarkets({ coin: 'btc', limit: 1, status: 'open' })
      expect(list).toThrow('nowMs')
    }),
  )
}

function walkMarkets(history: MarketHistory, query: MarketQuery): string[] {
  const walked: string[] = []
  for (let after: After; ;) {
    const page = history.listMarkets({ ...query, after })
    walked.push(...page.map(({ conditionId }) => conditionId))
    after = page.at(-1)
    if (page.length < query.limit) return walked
  }
}

/** Each page but the last ends at the market that is looked at last. */
function walkPages(history: MarketHistory, query: MarketQuery, lookedAtMax: number): string[] {
  const isFiltered = (query.status ?? query.winner) !== undefined
  const lists: Pick<MarketHistory, 'listMarkets' | 'skipMarkets'> = {
    skipMarkets: history.skipMarkets,
    listMarkets(part) {
      const { after, upTo, order, coin, fromMs, toMs } = part
      const behind = { coin, order, after, fromMs, toMs, limit: 100 }
      const looked = history.listMarkets({ ...behind, upTo })
      if (isFiltered && upTo !== undefined) expect(looked.at(-1)).toMatchObject(upTo)
      return history.listMarkets(part)
    },
  }
  return [...marketPages(lists, query, lookedAtMax)].flat().map(({ conditionId }) => conditionId)
}

type After = { orderMs: number; conditionId: string } | undefined

const listed = (history: MarketHistory, limit: number): number[] =>
  history.listMarkets({ coin: 'btc', limit }).map(({ conditionId }) => Number(conditionId))

function conformRevisions(use: Use): void {
  const changes: [string, boolean, (history: MarketHistory) => unknown][] = [
    [
      'a new row',
      true,
      (history) => appendAll(history, [aSnapshot({ timestampMs: START_MS + 1e6 })]),
    ],
    [
      'a late row',
      true,
      (history) => appendAll(history, [aSnapshot({ timestampMs: START_MS - 1 })]),
    ],
    ['a duplicate row', false, (history) => appendAll(history, someSnapshots(1))],
    ['an empty batch', false, (history) => appendAll(history, [])],
    [
      'another market',
      false,
      (history) => appendAll(history, [aSnapshot({ conditionId: conditionIdOf(2) })]),
    ],
    [
      'a failed batch',
      false,
      (history) =>
        expect(
          appendAll(history, [
            aSnapshot({ timestampMs: START_MS - 1 }),
            aSnapshot({ coin: 'eth' }),
          ]),
        ).rejects.toThrow(),
    ],
    ['a new fact', true, (history) => history.putMarket(someFacts(1, { winner: 'up' }))],
    ['a known fact', false, (history) => history.putMarket(someFacts(1, { slug: 'known' }))],
    ['no fact', false, (history) => history.putMarket(someFacts(1))],
    ['closing', true, (history) => history.close(conditionIdOf(1))],
    ['reading', false, (history) => textOf(history, { order: 'desc', limit: 10 })],
  ]
  for (const [name, isChange, act] of changes) {
    test(
      `behavior: ${name} ${isChange ? 'raises' : 'leaves'} the revision`,
      use(async (history) => {
        await history.putMarket(someFacts(1, { slug: 'known' }))
        await appendAll(history, someSnapshots(130))
        const before = getMarket(history)
        await act(history)
        const after = getMarket(history)
        if (isChange) expect(after.revision).toBeGreaterThan(before.revision)
        else expect(after).toEqual(before)
      }),
    )
  }
}

function conformClose(use: Use): void {
  test(
    'default: makes a market final without changing what it reads as',
    use(async (history) => {
      await appendAll(history, someSnapshots(130))
      const query = { order: 'asc', limit: 1000 } as const
      const before = textOf(history, query)
      await history.close(conditionIdOf(1))
      expect(getMarket(history).isClosed).toBe(true)
      expect(textOf(history, query) === before).toBe(true)
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: may be repeated, and an unknown market is none',
    use(async (history) => {
      await appendAll(history, someSnapshots(3))
      await history.close(conditionIdOf(1))
      const before = getMarket(history)
      await history.close(conditionIdOf(1))
      await history.close(conditionIdOf(2))
      expect(getMarket(history)).toEqual(before)
      expect(history.findMarket(conditionIdOf(2))).toBeUndefined()
    }),
  )

  test(
    'behavior: closes a market without books, which then still takes some',
    use(async (history) => {
      await history.putMarket(someFacts(1))
      await history.close(conditionIdOf(1))
      expect(getMarket(history).isClosed).toBe(true)
      expect(await appendAll(history, someSnapshots(5))).toMatchObject({ accepted: 5 })
      expect(pageOf(history, { order: 'asc', limit: 10 }).count).toBe(5)
    }),
  )

  test(
    'behavior: a closed market takes rows at its end and before, and stays closed',
    use(async (history) => {
      const rows = someSnapshots(260)
      await appendAll(history, rows.slice(50, 130))
      await history.close(conditionIdOf(1))
      for (let at = 130; at < 260; at += 13) await appendAll(history, rows.slice(at, at + 13))
      await appendAll(history, rows.slice(0, 50))
      expect(getMarket(history)).toMatchObject({
        isClosed: true,
        snapshotCounts: { up: 130, down: 130 },
      })
      const times = JSON.parse(textOf(history, { order: 'asc', limit: 1000 })).map(
        ({ timestamp }: { timestamp: string }) => Date.parse(timestamp),
      )
      expect(times).toEqual(rows.map(({ timestampMs }) => timestampMs))
      expect([...history.verify()]).toEqual([])
    }),
  )
}
