/**
 * The conformance suite's part on facts of markets: what is kept, who
 * outranks whom, what contradicts.
 */
import { describe, expect, test } from 'bun:test'

import type { MarketFacts, Result, WinnerSource } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'

import {
  appendAll,
  aSnapshot,
  assetIdOf,
  conditionIdOf,
  getMarket,
  someSnapshots,
  START_MS,
} from './books.ts'
import type { Use } from './conformance.ts'

export const someFacts = (number: number, changes: Partial<MarketFacts> = {}): MarketFacts => ({
  conditionId: conditionIdOf(number),
  coin: 'btc',
  timeframe: '5m',
  source: 'simulated',
  ...changes,
})

const assetsOf = (number: number) => ({
  up: assetIdOf(conditionIdOf(number), 'up'),
  down: assetIdOf(conditionIdOf(number), 'down'),
})

export function conformFacts(use: Use): void {
  describe('putMarket', () => {
    conformKept(use)
    conformPrices(use)
    conformWinners(use)
    conformSources(use)
    conformAssets(use)
  })
  describe('a market with a window', () => {
    conformLife(use)
  })
  describe('findMarketBySlug', () => {
    conformSlugs(use)
  })
  describe('findMarketByAsset', () => {
    conformAssetNames(use)
  })
}

function conformKept(use: Use): void {
  const facts = {
    tickSize: 1000,
    strike: '65012.340000000001',
    finalPrice: '0.10',
    settlementRule: 'twap60',
    feeSchedule: '{"rate":"0.07","exponent":"1","takerOnly":true,"rebateRate":"0.2"}',
    takerDelayMs: 250,
    orderAgeMs: 0,
    assetIds: assetsOf(1),
    winner: 'up',
    winnerSource: 'venue',
  } as const

  test(
    'default: keeps every fact exactly, reported at once or one after the other',
    use(async (history) => {
      await history.putMarket(someFacts(1, facts))
      expect(getMarket(history)).toMatchObject(facts)
      await history.putMarket(someFacts(2, { assetIds: { down: assetsOf(2).down } }))
      await history.putMarket(someFacts(2, { assetIds: { up: assetsOf(2).up } }))
      for (const [fact, value] of Object.entries(facts))
        if (fact !== 'assetIds')
          await history.putMarket(someFacts(2, { winner: 'up', [fact]: value }))
      const other = getMarket(history, conditionIdOf(2))
      expect(other).toMatchObject({ ...facts, assetIds: assetsOf(2) })
      await history.putMarket(someFacts(2, { tickSize: 10_000 }))
      expect(getMarket(history, conditionIdOf(2))).toMatchObject({
        tickSize: 10_000,
        strike: facts.strike,
      })
    }),
  )

  test(
    'behavior: what is known already leaves the revision, each new fact raises it',
    use(async (history) => {
      await history.putMarket(someFacts(1, { slug: 'a' }))
      for (const [fact, value] of Object.entries({ ...facts, windowEndMs: START_MS })) {
        if (fact === 'winnerSource') continue
        const put = () => history.putMarket(someFacts(1, { [fact]: value }))
        const { revision } = getMarket(history)
        await put()
        const after = getMarket(history)
        expect([fact, after.revision]).toEqual([fact, revision + 1])
        await put()
        await history.putMarket(someFacts(1))
        expect(getMarket(history)).toEqual(after)
      }
    }),
  )

  test(
    'behavior: facts leave what is held: counts, verified ones, spans and pauses',
    use(async (history) => {
      const rows = someSnapshots(130).map((row, at) => ({ ...row, isVerified: at % 5 === 0 }))
      await appendAll(history, rows)
      await appendAll(history, rows)
      const { revision, ...held } = getMarket(history)
      expect(held).toMatchObject({
        verifiedCounts: { up: 13, down: 13 },
        longestSilenceMs: { up: 2000, down: 2000 },
        spans: {
          up: { firstMs: START_MS, lastMs: START_MS + 128_000 },
          down: { firstMs: START_MS + 1000, lastMs: START_MS + 129_000 },
        },
      })
      await history.putMarket(someFacts(1, { tickSize: 1000 }))
      expect(getMarket(history)).toEqual({ ...held, tickSize: 1000, revision: revision + 1 })
    }),
  )
}

type Told = [Result, WinnerSource]

/** What is told first, what second, and what is kept, or that the second is refused. */
const successions: [Told, Told, Told | 'conflict'][] = [
  [['up', 'simulated'], ['down', 'simulated'], 'conflict'],
  [
    ['up', 'simulated'],
    ['down', 'dataset'],
    ['down', 'dataset'],
  ],
  [
    ['up', 'simulated'],
    ['down', 'venue'],
    ['down', 'venue'],
  ],
  [['up', 'dataset'], ['down', 'simulated'], 'conflict'],
  [['up', 'dataset'], ['down', 'dataset'], 'conflict'],
  [
    ['up', 'dataset'],
    ['down', 'venue'],
    ['down', 'venue'],
  ],
  [['up', 'venue'], ['down', 'simulated'], 'conflict'],
  [['up', 'venue'], ['down', 'dataset'], 'conflict'],
  [['up', 'venue'], ['down', 'venue'], 'conflict'],
  // The venue may show half each before it shows who won, and never after it.
  [
    ['void', 'venue'],
    ['down', 'venue'],
    ['down', 'venue'],
  ],
  [['up', 'venue'], ['void', 'venue'], 'conflict'],
  [['void', 'venue'], ['up', 'dataset'], 'conflict'],
  [
    ['up', 'dataset'],
    ['void', 'venue'],
    ['void', 'venue'],
  ],
  [
    ['up', 'dataset'],
    ['up', 'dataset'],
    ['up', 'dataset'],
  ],
  [
    ['up', 'dataset'],
    ['up', 'venue'],
    ['up', 'venue'],
  ],
  [
    ['up', 'venue'],
    ['up', 'dataset'],
    ['up', 'venue'],
  ],
]

function conformPrices(use: Use): void {
  const catalogue = { strike: '2', strikeSource: 'catalogue', strikeMs: START_MS } as const
  const chain = { strike: '3', strikeSource: 'chain', strikeMs: START_MS } as const

  test(
    'behavior: a price has its source and time, and another of the same rank or a higher one replaces all three',
    use(async (history) => {
      await history.putMarket(
        someFacts(1, { ...chain, finalPrice: '5', finalPriceSource: 'dataset' }),
      )
      expect(getMarket(history)).toMatchObject({ ...chain, finalPriceSource: 'dataset' })
      await history.putMarket(someFacts(1, catalogue))
      expect(getMarket(history)).toMatchObject({ ...catalogue, finalPrice: '5' })
    }),
  )

  test(
    'behavior: a source of a lower rank, or none, replaces no price of another',
    use(async (history) => {
      await history.putMarket(someFacts(1, catalogue))
      await history.putMarket(someFacts(1, chain))
      await history.putMarket(someFacts(1, { strike: '4' }))
      expect(getMarket(history)).toMatchObject(catalogue)
    }),
  )
}

function conformWinners(use: Use): void {
  for (const [first, second, kept] of successions) {
    const title = `${first.join(' by ')}, then ${second.join(' by ')}`
    const put = (history: MarketHistory, [winner, winnerSource]: Told, slug?: string) =>
      history.putMarket(someFacts(1, { winner, winnerSource, slug }))
    if (kept === 'conflict') {
      test(
        `error: ${title}: refused, and changes nothing`,
        use(async (history) => {
          await put(history, first)
          const before = getMarket(history)
          await expect(put(history, second, 'told')).rejects.toThrow(
            expect.objectContaining({
              code: 'market_conflict',
              message: `Market ${conditionIdOf(1)} is known to be won by ${first[0]} (${first[1]}), not ${second[0]} (${second[1]}).`,
            }),
          )
          expect(getMarket(history)).toEqual(before)
        }),
      )
    } else {
      test(
        `behavior: ${title}: ${kept.join(' by ')}`,
        use(async (history) => {
          await put(history, first)
          await put(history, second, 'told')
          const { winner, winnerSource, slug } = getMarket(history)
          expect([winner, winnerSource, slug]).toEqual([...kept, 'told'])
        }),
      )
    }
  }
}

function conformSources(use: Use): void {
  test(
    'behavior: a winner without a source is its simulator’s or its data set’s',
    use(async (history) => {
      await history.putMarket(someFacts(1, { winner: 'up' }))
      await history.putMarket(someFacts(2, { winner: 'down', source: 'recorded' }))
      expect(getMarket(history).winnerSource).toBe('simulated')
      expect(getMarket(history, conditionIdOf(2)).winnerSource).toBe('dataset')
    }),
  )

  test(
    'behavior: a source without a winner is nothing',
    use(async (history) => {
      await history.putMarket(someFacts(1))
      const before = getMarket(history)
      await history.putMarket(someFacts(1, { winnerSource: 'venue' }))
      expect(getMarket(history)).toEqual(before)
      expect(before.winnerSource).toBeUndefined()
    }),
  )
}

function conformAssets(use: Use): void {
  const conflict = expect.objectContaining({ code: 'market_conflict' })

  test(
    'error: assets that contradict those known, those of books, or each other change nothing',
    use(async (history) => {
      const { up, down } = assetsOf(1)
      await history.putMarket(someFacts(1, { assetIds: { up } }))
      await appendAll(history, someSnapshots(2))
      const before = getMarket(history)
      for (const assetIds of [
        { up: '1' },
        { down: '1' },
        { up: down, down: up },
        { down: up },
        { up, down: '1' },
      ]) {
        const put = () => history.putMarket(someFacts(1, { assetIds, slug: 'x' }))
        expect(put).toThrow(conflict)
      }
      const put = () => history.putMarket(someFacts(2, { assetIds: { up: '7', down: '7' } }))
      expect(put).toThrow(conflict)
      expect(getMarket(history)).toEqual(before)
      expect(history.findMarket(conditionIdOf(2))).toBeUndefined()
    }),
  )

  test(
    'error: books of another asset than the one that was put are refused',
    use(async (history) => {
      await history.putMarket(someFacts(1, { assetIds: { up: '7' } }))
      await expect(appendAll(history, [aSnapshot()])).rejects.toThrow(conflict)
      await appendAll(history, [aSnapshot({ assetId: '7' })])
      expect(getMarket(history).assetIds).toEqual({ up: '7' })
    }),
  )
}

function conformSlugs(use: Use): void {
  test(
    'default: finds the market of a name, of several the one listed first',
    use(async (history) => {
      expect(history.findMarketBySlug('a')).toBeUndefined()
      for (const number of [1, 3, 2]) {
        const windowStartMs = number === 1 ? 9 : 5
        await history.putMarket(someFacts(number, { slug: 'a', source: 'recorded', windowStartMs }))
      }
      await history.putMarket(someFacts(4, { slug: 'A', coin: 'eth', source: 'recorded' }))
      expect(history.findMarketBySlug('a')).toEqual(getMarket(history))
      expect(history.findMarketBySlug('A')?.coin).toBe('eth')
      expect(history.findMarketBySlug("' OR 1")).toBeUndefined()
    }),
  )

  test(
    'behavior: no name of the venue finds a simulated market, whose names begin with sim-',
    use(async (history) => {
      // As versions before 0.5.0 named simulated markets.
      await history.putMarket(someFacts(1, { slug: 'b', windowStartMs: 9 }))
      expect(history.findMarketBySlug('b')).toBeUndefined()
      expect(history.findMarketBySlug('sim-b')).toEqual(getMarket(history))
      await history.putMarket(someFacts(2, { slug: 'b', source: 'recorded', windowStartMs: 5 }))
      expect(history.findMarketBySlug('b')?.source).toBe('recorded')
      await history.putMarket(someFacts(3, { slug: 'sim-c' }))
      expect(history.findMarketBySlug('sim-c')?.slug).toBe('sim-c')
      expect(history.findMarketBySlug('c')).toBeUndefined()
    }),
  )

  test(
    'behavior: which kinds are held of a coin, and lists of one kind alone',
    use(async (history) => {
      const list = (source?: 'recorded' | 'simulated') =>
        history
          .listMarkets({ coin: 'btc', limit: 9, source })
          .map((market) => `${market.source} ${market.windowStartMs}`)
      expect(history.sourcesOf('btc')).toEqual([])
      await history.putMarket(someFacts(1, { windowStartMs: 9 }))
      expect(history.sourcesOf('btc')).toEqual(['simulated'])
      expect(list('recorded')).toEqual([])
      await history.putMarket(someFacts(2, { source: 'recorded', windowStartMs: 5 }))
      expect(history.sourcesOf('btc')).toEqual(['recorded', 'simulated'])
      expect(history.sourcesOf('eth')).toEqual([])
      expect(list('recorded')).toEqual(['recorded 5'])
      expect(list('simulated')).toEqual(['simulated 9'])
      expect(list()).toEqual(['simulated 9', 'recorded 5'])
    }),
  )
}

function conformAssetNames(use: Use): void {
  test(
    'default: finds the market of either asset, of facts or of snapshots',
    use(async (history) => {
      expect(history.findMarketByAsset('7')).toBeUndefined()
      await history.putMarket(someFacts(2, { assetIds: { up: '70', down: '71' } }))
      await appendAll(history, [aSnapshot({ assetId: '7' })])
      expect(history.findMarketByAsset('7')).toEqual(getMarket(history))
      expect(history.findMarketByAsset('70')?.conditionId).toBe(conditionIdOf(2))
      expect(history.findMarketByAsset('71')?.conditionId).toBe(conditionIdOf(2))
      expect(history.findMarketByAsset('')).toBeUndefined()
      expect(history.findMarketByAsset("' OR 1")).toBeUndefined()
    }),
  )

  test(
    'behavior: of several markets of an asset, finds the one listed first',
    use(async (history) => {
      for (const [number, windowStartMs] of [
        [1, 9],
        [2, 5],
      ] as const)
        await history.putMarket(someFacts(number, { windowStartMs, assetIds: { up: '7' } }))
      expect(history.findMarketByAsset('7')).toEqual(getMarket(history))
    }),
  )
}

const DAY_MS = 86_400_000
const END_MS = START_MS + 300_000

/** Facts that tell of the window, and when it is with what only one end tells. */
const windows: [string, Partial<MarketFacts>][] = [
  ['both ends', { windowStartMs: START_MS, windowEndMs: END_MS }],
  ['its start', { windowStartMs: START_MS }],
  ['its end', { windowEndMs: END_MS }],
]
const firstMs = START_MS - 2 * DAY_MS
const lastMs = END_MS + 2 * DAY_MS

function conformLife(use: Use): void {
  const conflict = expect.objectContaining({ code: 'market_conflict' })
  const tradesAt = (timestampMs: number) => ({
    id: `trade-${timestampMs}`,
    conditionId: conditionIdOf(1),
    trades: [{ timestampMs, price: 500_000 }],
  })

  for (const [name, window] of windows) {
    test(
      `default: takes books and trades up to two days from it, and nothing of a batch with others: ${name}`,
      use(async (history) => {
        await history.putMarket(someFacts(1, window))
        for (const timestampMs of [firstMs, lastMs]) {
          await appendAll(history, [aSnapshot({ timestampMs })])
          await history.putTrades(tradesAt(timestampMs))
        }
        const before = getMarket(history)
        for (const timestampMs of [firstMs - 1, lastMs + 1, 0]) {
          const rows = [aSnapshot(), aSnapshot({ timestampMs })]
          await expect(appendAll(history, rows)).rejects.toThrow(conflict)
          await expect(history.putTrades(tradesAt(timestampMs))).rejects.toThrow(conflict)
        }
        expect(getMarket(history)).toEqual(before)
      }),
    )

    test(
      `error: is refused when what is held is further from it: ${name}`,
      use(async (history) => {
        for (const timestampMs of [firstMs, lastMs]) {
          await appendAll(history, [aSnapshot({ timestampMs })])
          await history.putTrades(tradesAt(timestampMs))
        }
        const before = getMarket(history)
        for (const shiftMs of [-1, 1]) {
          const shifted = Object.fromEntries(
            Object.entries(window).map(([fact, timeMs]) => [fact, Number(timeMs) + shiftMs]),
          )
          await expect(history.putMarket(someFacts(1, shifted))).rejects.toThrow(conflict)
        }
        expect(getMarket(history)).toEqual(before)
        await history.putMarket(someFacts(1, window))
        expect(getMarket(history)).toMatchObject(window)
      }),
    )
  }

  test(
    'error: is refused when a trade that is held is further from it',
    use(async (history) => {
      await history.putMarket(someFacts(1))
      await history.putTrades(tradesAt(lastMs + 1))
      const put = () => history.putMarket(someFacts(1, { windowEndMs: END_MS }))
      expect(put).toThrow(conflict)
      expect(getMarket(history).windowEndMs).toBeUndefined()
    }),
  )
}
