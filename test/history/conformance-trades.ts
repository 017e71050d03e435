/** The conformance suite's part on trades. */
import { describe, expect, test } from 'bun:test'

import {
  compareTrades,
  readTradesAfter,
  readTradesBefore,
  type Trade,
  type TradeQuery,
} from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom } from '#src/platform/random.ts'

import {
  appendAll,
  conditionIdOf,
  getMarket,
  someSnapshots,
  START_MS,
  toldTrades,
} from './books.ts'
import type { Use } from './conformance.ts'

let batches = 0

const putAll = (history: MarketHistory, trades: readonly Trade[], number = 1) =>
  history.putTrades({ id: `trades-${++batches}`, conditionId: conditionIdOf(number), trades })

const tradesOf = (
  history: MarketHistory,
  query: Omit<TradeQuery, 'market'> = {},
  number = 1,
): Trade[] => toldTrades(history, { market: getMarket(history, conditionIdOf(number)), ...query })

const aTrade = (changes: Partial<Trade> = {}): Trade => ({
  timestampMs: START_MS,
  price: 530_000,
  outcome: 'up',
  size: 12_340_000,
  side: 'buy',
  ...changes,
})

/** A history with two markets. */
async function withMarkets(history: MarketHistory): Promise<void> {
  await appendAll(history, someSnapshots(3))
  const identity = { coin: 'btc', timeframe: '5m', source: 'simulated' } as const
  await history.putMarket({ conditionId: conditionIdOf(2), ...identity })
}

export function conformTrades(use: Use): void {
  describe('putTrades', () => {
    conformPut(use)
    conformTradeBatches(use)
    conformTransactions(use)
  })
  describe('trades', () => {
    conformList(use)
    conformPlaces(use)
  })
}

function conformPut(use: Use): void {
  test(
    'default: keeps what a source tells of a trade, and nothing that it does not',
    use(async (history) => {
      await withMarkets(history)
      const told: Trade[] = [
        aTrade(),
        { timestampMs: START_MS + 1, price: 0 },
        aTrade({ timestampMs: START_MS + 2, outcome: 'down', side: 'sell', price: 1_000_000 }),
        { timestampMs: START_MS + 3, price: 1, outcome: 'down' },
        { timestampMs: START_MS + 4, price: 999_999, size: 2 ** 53 - 1 },
        { timestampMs: START_MS + 5, price: 10_000, side: 'sell' },
      ]
      const counts = { accepted: 6, duplicates: 0 }
      expect(await putAll(history, told)).toEqual({ kind: 'appended', ...counts })
      expect(tradesOf(history)).toEqual(told)
      expect(tradesOf(history, {}, 2)).toEqual([])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: equal ones vanish and are counted, held or in one batch; any difference keeps a trade',
    use(async (history) => {
      await withMarkets(history)
      const others = [
        aTrade({ timestampMs: START_MS + 1 }),
        aTrade({ price: 540_000 }),
        aTrade({ outcome: 'down' }),
        aTrade({ outcome: undefined }),
        aTrade({ size: 1 }),
        aTrade({ size: undefined }),
        aTrade({ side: 'sell' }),
        aTrade({ side: undefined }),
        { timestampMs: START_MS, price: 530_000 },
      ]
      const counts = { accepted: 1, duplicates: 1 }
      expect(await putAll(history, [aTrade(), aTrade()])).toEqual({ kind: 'appended', ...counts })
      for (const other of others)
        expect(await putAll(history, [aTrade(), other, other])).toMatchObject({
          accepted: 1,
          duplicates: 2,
        })
      expect(await putAll(history, [aTrade()], 2)).toMatchObject({ accepted: 1 })
      expect(tradesOf(history)).toHaveLength(10)
    }),
  )

  test(
    'behavior: a new trade raises the revision of its market alone; a known one, or none, leaves it',
    use(async (history) => {
      await withMarkets(history)
      const revisions = () =>
        [1, 2].map((number) => getMarket(history, conditionIdOf(number)).revision)
      const [one = 0, two = 0] = revisions()
      await putAll(history, [aTrade()])
      expect(revisions()).toEqual([one + 1, two])
      await putAll(history, [aTrade()])
      await putAll(history, [])
      expect(revisions()).toEqual([one + 1, two])
      await appendAll(history, someSnapshots(250))
      expect(getMarket(history).snapshotCounts).toEqual({ up: 125, down: 125 })
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'error: trades of an unknown market are refused, and their batch is not applied',
    use((history) => {
      const put = () => history.putTrades({ id: 'x', conditionId: conditionIdOf(9), trades: [] })
      expect(put).toThrow(expect.objectContaining({ code: 'unknown_market' }))
      expect(history.findBatch('x')).toBeUndefined()
    }),
  )
}

function conformTradeBatches(use: Use): void {
  test(
    'behavior: a batch id that was applied changes nothing, whatever it now brings',
    use(async (history) => {
      await withMarkets(history)
      const conditionId = conditionIdOf(1)
      await history.putTrades({ id: 'once', conditionId, trades: [aTrade(), aTrade()] })
      const before = getMarket(history)
      const trades = [aTrade({ price: 1 })]
      for (const market of [conditionId, conditionIdOf(2), conditionIdOf(9)]) {
        const counts = { accepted: 1, duplicates: 1 }
        expect(await history.putTrades({ id: 'once', conditionId: market, trades })).toEqual({
          kind: 'already_applied',
          ...counts,
        })
      }
      expect(history.findBatch('once')).toEqual({ accepted: 1, duplicates: 1 })
      expect(tradesOf(history)).toEqual([aTrade()])
      expect(getMarket(history)).toEqual(before)
    }),
  )
}

function conformList(use: Use): void {
  test(
    'default: ascends by time, and within a millisecond by content, whatever order they came in',
    use(async (history) => {
      await withMarkets(history)
      const random = createRandom('trades')
      const model: Trade[] = []
      for (let batch = 0; batch < 12; batch++) {
        const trades = Array.from({ length: 20 }, (_, at) =>
          aTrade({
            timestampMs: START_MS + random.integer(40),
            outcome: random.pick(['up', 'down', undefined]),
            size: batch * 100 + at + 1,
          }),
        )
        await putAll(history, trades)
        model.push(...trades)
      }
      model.sort(compareTrades)
      expect(tradesOf(history)).toEqual(model)
      for (let probe = 0; probe < 60; probe++) {
        const fromMs = bound(random.integer(50))
        const toMs = bound(random.integer(50))
        const last = [undefined, 0, 1, 5, 240, 1000][probe % 6]
        const outcome = random.pick([undefined, 'up', 'down'] as const)
        const within = model.filter(
          ({ timestampMs: ms, outcome: own }) =>
            ms >= (fromMs ?? 0) && ms < (toMs ?? Infinity) && own === (outcome ?? own),
        )
        const expected = last === undefined ? within : within.slice(within.length - last)
        const query = { fromMs, toMs, last, outcome }
        expect({ query, trades: tradesOf(history, query) }).toEqual({
          query,
          trades: last !== undefined && last > within.length ? within : expected,
        })
      }
    }),
  )
}

const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`

function conformTransactions(use: Use): void {
  test(
    'behavior: trades that differ in their transaction alone are several; one without it is one of them',
    use(async (history) => {
      await withMarkets(history)
      const named = [1, 2].map((number) => aTrade({ transactionHash: hashOf(number) }))
      const orders = [
        [aTrade(), named[0], named[1]],
        [named[1], aTrade(), named[0], aTrade()],
        [named[0], named[1], aTrade(), named[0]],
      ]
      for (const [index, order] of orders.entries()) {
        const timestampMs = START_MS + index
        for (const each of order) if (each) await putAll(history, [{ ...each, timestampMs }])
        expect(tradesOf(history, { fromMs: timestampMs })).toEqual(
          named.map((each) => ({ ...each, timestampMs })),
        )
      }
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: any order, split and repetition gives the same trades, and one that was known then stays known',
    use(async (history) => {
      await withMarkets(history)
      const random = createRandom('transactions')
      const all = Array.from({ length: 60 }, () =>
        aTrade({
          timestampMs: START_MS + random.integer(4),
          price: 500_000 + random.integer(2),
          transactionHash: random.pick([undefined, hashOf(1), hashOf(2)]),
        }),
      )
      const shuffled = (): Trade[] =>
        [...all, ...all]
          .map((trade) => ({ trade, at: random.integer(1_000_000) }))
          .sort((a, b) => a.at - b.at)
          .map(({ trade }) => trade)
      const of = await Array.fromAsync([1, 2], async (number) => {
        for (const each of Array.from(chunked(shuffled(), 7))) await putAll(history, each, number)
        return tradesOf(history, {}, number)
      })
      expect(of[1]).toEqual(of[0] ?? [])
      const market = getMarket(history, conditionIdOf(1))
      const ids = history.trades({ market }).map(({ id }) => id)
      const firstId = Math.min(...ids)
      for (let belowId = firstId; belowId <= Math.max(...ids) + 1; belowId += 3) {
        const known = history.trades({ market, belowId })
        expect(known.every(({ id }) => id < belowId)).toBe(true)
        expect(known).toEqual(known.toSorted(compareTrades))
      }
      expect(history.trades({ market, belowId: firstId + 1 })).toHaveLength(1)
    }),
  )

  test(
    'behavior: those after an id are new, and not one that is held with its transaction now',
    use(async (history) => {
      await withMarkets(history)
      const market = getMarket(history, conditionIdOf(1))
      expect(history.lastTradeId()).toBe(0)
      const known = aTrade({ transactionHash: undefined })
      await putAll(history, [known])
      const seen = history.lastTradeId()
      const newer = [0, 1].map((price) => aTrade({ price: 1 + price, timestampMs: START_MS }))
      await putAll(history, [...newer, { ...known, transactionHash: hashOf(1) }])
      const after = (aboveId: number) => history.trades({ market, aboveId })
      expect(after(seen)).toMatchObject(newer)
      expect(after(history.lastTradeId())).toEqual([])
      expect(history.trades({ market })).toHaveLength(3)
    }),
  )
}

function conformPlaces(use: Use): void {
  test(
    'behavior: who goes on from a place gets every trade once, also those of its millisecond that come later',
    use(async (history) => {
      await withMarkets(history)
      const random = createRandom('places')
      for (let round = 0; round < 12; round++) {
        const timestampMs = START_MS + 10 * round
        const trades = Array.from({ length: 9 }, (_, at) =>
          aTrade({
            timestampMs: timestampMs + Math.floor(at / 6),
            price: 1 + random.integer(900_000),
            size: at + 1,
          }),
        )
        const market = getMarket(history, conditionIdOf(1))
        let after = { timestampMs, id: 0 }
        const seen: Trade[] = []
        const read = (limit: number): number => {
          const page = readTradesAfter(history.trades, { market, after, first: limit + 1 })
          for (const { trade, at } of page.slice(0, limit)) {
            seen.push(trade)
            after = at
          }
          return page.length
        }
        // Only the last millisecond of what was read may grow.
        const first = trades.slice(0, 6)
        const last = trades.slice(6)
        for (const each of chunked(first, 2)) {
          await putAll(history, each)
          for (let reads = random.integer(3); reads > 0; reads--) read(1 + random.integer(2))
        }
        while (read(2) > 2);
        await putAll(history, last)
        while (read(2) > 0);
        expect(seen.toSorted(compareTrades)).toMatchObject(trades.toSorted(compareTrades))
        const down = [{ timestampMs: timestampMs + 10, id: 0 }]
        const back: Trade[] = []
        for (let place = down.pop(); place !== undefined;) {
          const [next] = readTradesBefore(history.trades, {
            market,
            after: place,
            fromMs: timestampMs,
          })
          if (next) back.push(next.trade)
          place = next?.at
        }
        expect(back.toReversed()).toMatchObject(trades.toSorted(compareTrades))
      }
    }),
  )
}

function* chunked<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size)
}

/** One in five is no bound. */
const bound = (draw: number): number | undefined => (draw >= 40 ? undefined : START_MS + draw)
