/** The conformance suite's part on deleting what is oldest. */
import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { aSnapshot, conditionIdOf, getMarket, START_MS } from './books.ts'
import type { Use } from './conformance.ts'

const HOUR_MS = 3_600_000
const startOf = (number: number): number => START_MS + number * HOUR_MS

/** A market an hour, from 1 on, each with states, a trade, a gap and a price of its coin. */
async function fill(history: MarketHistory, count: number, rows = 250): Promise<void> {
  for (let number = 1; number <= count; number++) {
    const conditionId = conditionIdOf(number)
    const windowStartMs = startOf(number)
    const about = { conditionId, coin: 'btc', timeframe: '5m' } as const
    const window = { windowStartMs, windowEndMs: windowStartMs + 300_000, slug: `slug-${number}` }
    await history.putMarket({ ...about, ...window, source: 'recorded' })
    await history.append({
      id: `batch-${number}`,
      source: 'recorded',
      snapshots: Array.from({ length: rows }, (_, row) =>
        aSnapshot({ conditionId, assetId: `${number}`, timestampMs: windowStartMs + row }),
      ),
    })
    const trade = { timestampMs: windowStartMs, price: 500_000 }
    await history.putTrades({ id: `trades-${number}`, conditionId, trades: [trade] })
    const span = { fromMs: windowStartMs + 1000, toMs: windowStartMs + 2000 }
    await history.putGaps(conditionId, [{ outcome: 'up', ...span, reason: 'recorder_down' }])
    const tick = { coin: 'btc', source: 'chainlink', windowSeconds: 0, price: '1' } as const
    await history.putSpot([{ ...tick, timestampMs: windowStartMs }])
    await history.close(conditionId)
  }
}

async function deleteAll(history: MarketHistory, beforeMs: number): Promise<number> {
  let steps = 0
  while (await history.deleteOldest(beforeMs)) steps++
  return steps
}

const heldOf = (history: MarketHistory): string[] =>
  history.listMarkets({ coin: 'btc', order: 'asc', limit: 100 }).map(({ slug }) => slug ?? '')
const spotOf = (history: MarketHistory) =>
  history.spot({ coin: 'btc', order: 'asc', limit: 100 }).map(({ timestampMs }) => timestampMs)

export function conformDelete(use: Use): void {
  describe('deleteOldest', () => {
    test(
      'default: deletes markets before a moment and prices, and what is left is sound',
      use(async (history) => {
        await fill(history, 5)
        expect(await history.deleteOldest(startOf(1))).toBe(false)
        const used = history.usedBytes()
        const due = [...history.listOldest(startOf(3) + 1)]
        expect(due.map(({ orderMs }) => orderMs)).toEqual([startOf(1), startOf(2), startOf(3)])
        for (const { snapshots, bytes } of due) {
          expect(snapshots).toBe(250)
          expect(bytes).toBeGreaterThan(100)
        }
        await deleteAll(history, startOf(3) + 1)
        expect([...history.listOldest(startOf(3) + 1)]).toEqual([])
        expect(heldOf(history)).toEqual(['slug-4', 'slug-5'])
        expect(spotOf(history)).toEqual([startOf(4), startOf(5)])
        expect(history.usedBytes()).toBeLessThan(used)
        expect([...history.verify()]).toEqual([])
        expect(history.coinTotals(0)).toEqual([
          expect.objectContaining({
            markets: 2,
            snapshots: 500,
            firstSnapshotMs: startOf(4),
            lastSnapshotMs: startOf(5) + 249,
          }),
        ])
      }),
    )

    test(
      'behavior: with its first step a market is unknown, by every name',
      use(async (history) => {
        await fill(history, 3)
        const market = getMarket(history)
        expect(history.tops({ market, order: 'asc', limit: 1 })).toHaveLength(1)
        while (heldOf(history).length === 3) await history.deleteOldest(startOf(2))
        expect(history.findMarket(market.conditionId)).toBeUndefined()
        expect(history.findMarketBySlug('slug-1')).toBeUndefined()
        expect(history.findMarketByAsset('1')).toBeUndefined()
        const unknown = expect.objectContaining({ code: 'unknown_market' })
        expect(() => history.tops({ market, order: 'asc', limit: 1 })).toThrow(unknown)
        expect(() => history.gaps(market)).toThrow(unknown)
        expect(() => history.trades({ market })).toThrow(unknown)
      }),
    )

    test(
      'behavior: is oldest first, in small steps, and a market may come again under its name',
      use(async (history) => {
        await fill(history, 4)
        const order: string[] = []
        while (await history.deleteOldest(startOf(4))) order.push(heldOf(history).join())
        expect([...new Set(order)]).toEqual(
          ['slug-1,slug-2,slug-3,slug-4', 'slug-2,slug-3,slug-4', 'slug-3,slug-4', 'slug-4'].filter(
            (held) => order.includes(held),
          ),
        )
        const conditionId = conditionIdOf(1)
        await history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' })
        const market = getMarket(history)
        expect(history.tops({ market, order: 'asc', limit: 10 })).toEqual([])
        expect(history.trades({ market })).toEqual([])
        expect([...history.verify()]).toEqual([])
      }),
    )
  })
}

export function conformDeleteWhich(use: Use): void {
  describe('deleteOldest, which', () => {
    test(
      'behavior: a market that has books and is not closed stays, and one that never had any goes',
      use(async (history) => {
        const windowStartMs = startOf(0)
        const window = { windowStartMs, windowEndMs: windowStartMs + 300_000 }
        for (const [number, slug] of ['open', 'bare'].entries())
          await history.putMarket({
            conditionId: conditionIdOf(10 + number),
            coin: 'btc',
            timeframe: '5m',
            ...window,
            slug,
            source: 'recorded',
          })
        const row = { conditionId: conditionIdOf(10), assetId: '10', timestampMs: windowStartMs }
        await history.append({ id: 'open', source: 'recorded', snapshots: [aSnapshot(row)] })
        await fill(history, 2, 10)
        await deleteAll(history, window.windowEndMs)
        expect(heldOf(history)).toContain('bare')
        await deleteAll(history, startOf(100))
        expect(heldOf(history)).toEqual(['open'])
        expect([...history.verify()]).toEqual([])
      }),
    )

    test(
      'behavior: the last market that was accepted goes too, and no id is given again',
      use(async (history) => {
        await fill(history, 2, 10)
        const idOf = (number: number) => history.findMarket(conditionIdOf(number))?.id ?? 0
        const before = idOf(2)
        await deleteAll(history, startOf(100))
        expect(heldOf(history)).toEqual([])
        const about = { coin: 'btc', timeframe: '5m', source: 'recorded' } as const
        await history.putMarket({ conditionId: conditionIdOf(3), ...about })
        expect(idOf(3)).toBeGreaterThan(before)
        await history.putMarket({ conditionId: conditionIdOf(3), ...about, slug: 'three' })
        expect([idOf(3), heldOf(history)]).toEqual([before + 1, ['three']])
        expect([...history.verify()]).toEqual([])
      }),
    )
  })
}
