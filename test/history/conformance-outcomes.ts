/** The conformance suite's part on outcomes of windows, which come before or after their markets. */
import { describe, expect, test } from 'bun:test'

import type { MarketFacts } from '#src/domain/market.ts'
import type { WindowOutcome } from '#src/domain/window-outcome.ts'
import type { MarketHistory, PutOutcome } from '#src/history/history.ts'

import { aSnapshot, conditionIdOf, getMarket, START_MS } from './books.ts'
import type { Use } from './conformance.ts'

const WINDOW_MS = 300_000
const about = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
const startOf = (number: number): number => START_MS + number * WINDOW_MS

const anOutcome = (number: number, changes: Partial<WindowOutcome> = {}): WindowOutcome => ({
  ...about,
  windowStartMs: startOf(number),
  winner: 'up',
  strike: '2.5',
  finalPrice: '3',
  ...changes,
})

/** The market of a window, unless another id is given. */
const facts = (number: number, changes: Partial<MarketFacts> = {}): MarketFacts => ({
  ...about,
  conditionId: conditionIdOf(number),
  windowStartMs: startOf(number),
  windowEndMs: startOf(number) + WINDOW_MS,
  ...changes,
})

const told = (history: MarketHistory, number: number) => {
  const { winner, winnerSource, strike, strikeSource, finalPrice, finalPriceSource } = getMarket(
    history,
    conditionIdOf(number),
  )
  return [winner, winnerSource, strike, strikeSource, finalPrice, finalPriceSource]
}

const ALL = ['up', 'dataset', '2.5', 'dataset', '3', 'dataset']
const kept: PutOutcome = { isNew: true, isWaiting: true, isChanged: false, conflict: undefined }

function permutationsOf<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]]
  return all.flatMap((each, at) =>
    permutationsOf(all.toSpliced(at, 1)).map((rest) => [each, ...rest]),
  )
}

/** Runs steps in every order, each on a window of its own, and expects the same of all markets. */
async function expectInAnyOrder(
  history: MarketHistory,
  steps: readonly ((number: number) => unknown)[],
  expected: (string | undefined)[],
): Promise<void> {
  const orders = permutationsOf(steps)
  for (const [at, order] of orders.entries()) {
    for (const step of order) await step(at + 1)
    expect([at, ...told(history, at + 1)]).toEqual([at, ...expected])
  }
  expect([...history.verify()]).toEqual([])
}

export function conformOutcomes(use: Use): void {
  describe('putOutcomes', () => {
    conformWaiting(use)
    conformContradictions(use)
  })
}

function conformWaiting(use: Use): void {
  test(
    'default: adds to a market that is known, and says what became of each row',
    use(async (history) => {
      await history.putMarket(facts(1))
      const { revision } = getMarket(history)
      const results = await history.putOutcomes([anOutcome(1), anOutcome(2), anOutcome(1)])
      expect(results).toEqual([
        { ...kept, isWaiting: false, isChanged: true },
        kept,
        { ...kept, isNew: false, isWaiting: false },
      ])
      expect(told(history, 1)).toEqual(ALL)
      const market = getMarket(history)
      expect(market).toMatchObject({ strikeMs: startOf(1), finalPriceMs: startOf(2) })
      expect(market.revision).toBe(revision + 1)
      expect(await history.putOutcomes([anOutcome(2)])).toEqual([{ ...kept, isNew: false }])
      expect(history.revisions.list(0, 10)).toMatchObject([{ why: 'fact_changed' }])
    }),
  )

  test(
    'behavior: what waits is added with the window of a market, at once, to each market of it',
    use(async (history) => {
      await history.putOutcomes([1, 2, 3].map((number) => anOutcome(number)))
      await history.putMarket(facts(1))
      await history.putMarket(facts(1, { conditionId: conditionIdOf(101), slug: 'second' }))
      const snapshots = [aSnapshot({ conditionId: conditionIdOf(2), timestampMs: startOf(2) })]
      await history.append({ id: 'two', source: 'recorded', snapshots })
      expect(told(history, 2)).toEqual(Array(6).fill(undefined))
      await history.putMarket(facts(2))
      for (const number of [1, 101, 2]) expect(told(history, number)).toEqual(ALL)
      await history.putMarket(facts(3, { source: 'simulated' }))
      await history.putMarket(facts(3, { conditionId: conditionIdOf(103), timeframe: '15m' }))
      await history.putMarket(facts(3, { conditionId: conditionIdOf(203), coin: 'eth' }))
      for (const number of [3, 103, 203])
        expect(told(history, number)).toEqual(Array(6).fill(undefined))
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: goes with the markets of its time',
    use(async (history) => {
      await history.putOutcomes([1, 2, 3].map((number) => anOutcome(number)))
      while (await history.deleteOldest(startOf(3)));
      for (const number of [1, 2, 3]) await history.putMarket(facts(number))
      expect([1, 2, 3].map((number) => told(history, number)[0])).toEqual([
        undefined,
        undefined,
        'up',
      ])
      expect([...history.verify()]).toEqual([])
    }),
  )
}

function conformContradictions(use: Use): void {
  const put = (history: MarketHistory, changes: Partial<WindowOutcome>) => (number: number) =>
    history.putOutcomes([anOutcome(number, changes)])

  test(
    'behavior: of rows that contradict each other the same counts in any order',
    use(async (history) => {
      const steps = [
        put(history, { strike: undefined }),
        put(history, { strike: '2.50', finalPrice: '30' }),
        put(history, { winner: 'down', strike: '1' }),
        (number: number) => history.putMarket(facts(number)),
      ]
      await expectInAnyOrder(history, steps, ['up', 'dataset', '2.50', 'dataset', '3', 'dataset'])
    }),
  )

  test(
    'behavior: the venue decides in any order, and only rows that agree with it count',
    use(async (history) => {
      const steps = [
        put(history, {}),
        put(history, { winner: 'down', strike: '1', finalPrice: undefined }),
        (number: number) => history.putMarket(facts(number)),
        (number: number) =>
          history.putMarket(facts(number, { winner: 'down', winnerSource: 'venue' })),
      ]
      await expectInAnyOrder(history, steps, [
        'down',
        'venue',
        '1',
        'dataset',
        undefined,
        undefined,
      ])
    }),
  )

  test(
    'behavior: what a market is known by otherwise counts in any order',
    use(async (history) => {
      const source = 'dataset'
      const finalPrice = { finalPrice: '9', finalPriceSource: 'chain' } as const
      const steps = [
        put(history, {}),
        (number: number) => history.putMarket(facts(number, { winner: 'down', ...finalPrice })),
        (number: number) =>
          history.putMarket(facts(number, { strike: '8', strikeSource: source, tickSize: 1000 })),
      ]
      await expectInAnyOrder(history, steps, ['down', source, '8', source, '9', 'chain'])
      const agreeing = permutationsOf([
        put(history, {}),
        (number: number) => history.putMarket(facts(number, finalPrice)),
      ])
      for (const [at, order] of agreeing.entries()) {
        for (const step of order) await step(100 + at)
        expect(told(history, 100 + at)).toEqual(ALL)
      }
    }),
  )

  test(
    'behavior: a contradiction is named, once for each pair of rows',
    use(async (history) => {
      const texts = async (rows: WindowOutcome[]) =>
        (await history.putOutcomes(rows)).map(({ conflict }) => conflict)
      const name = `The 5m window of btc from ${new Date(startOf(1)).toISOString()}`
      const known = 'is known to be won by up (dataset), not down (dataset).'
      const replaced = 'was known to be won by down (dataset), which up replaces: '
      expect(await texts([anOutcome(1), anOutcome(1, { winner: 'down' })])).toEqual([
        undefined,
        `${name} ${known}`,
      ])
      expect(await texts([anOutcome(1)])).toEqual([undefined])
      await history.putMarket(facts(2))
      const both = await texts([anOutcome(2, { winner: 'down' }), anOutcome(2)])
      expect(both).toEqual([
        undefined,
        expect.stringContaining(`Market ${conditionIdOf(2)} ${replaced}`),
      ])
      const again = await texts([anOutcome(2, { winner: 'down' }), anOutcome(2)])
      expect(again).toEqual([`Market ${conditionIdOf(2)} ${known}`, undefined])
    }),
  )
}
