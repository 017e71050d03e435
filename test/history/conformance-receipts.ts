/** The conformance suite's part on receipts of the transactions of trades. */
import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { conditionIdOf, getMarket, START_MS } from './books.ts'
import type { Use } from './conformance.ts'

const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`

/** Five trades; the second has no transaction, and the last is old. */
async function withTrades(history: MarketHistory): Promise<number[]> {
  const conditionId = conditionIdOf(1)
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
  })
  const trades = [0, 1, 2, 3, 4].map((number) => ({
    timestampMs: number === 4 ? START_MS - 1000 : START_MS + number,
    price: 500_000 + number,
    size: 1_000_000,
    transactionHash: number === 1 ? undefined : hashOf(number),
  }))
  await history.putTrades({ id: 'trades', conditionId, trades })
  const market = getMarket(history, conditionId)
  return trades.map(({ price }) => {
    const stored = history.trades({ market }).find((trade) => trade.price === price)
    if (stored === undefined) throw new Error('The trade is stored.')
    return stored.id
  })
}

export function conformReceipts(use: Use): void {
  describe('putReceipts', () => {
    const since = { afterId: 0, upToId: 1000, sinceMs: START_MS - 1 }

    test(
      'default: trades with a transaction are unchecked, until they have a receipt, which stays',
      use(async (history) => {
        const [first = 0, second = 0, third = 0, fourth = 0, old = 0] = await withTrades(history)
        const unchecked = (query = since) => history.uncheckedTrades(query).map(({ id }) => id)
        expect(history.nextCheckedId()).toBeUndefined()
        expect(history.uncheckedTrades(since)).toEqual([
          { id: first, timestampMs: START_MS, transactionHash: hashOf(0) },
          { id: third, timestampMs: START_MS + 2, transactionHash: hashOf(2) },
          { id: fourth, timestampMs: START_MS + 3, transactionHash: hashOf(3) },
        ])
        expect(unchecked({ ...since, sinceMs: 0 })).toContain(old)
        expect(unchecked({ ...since, afterId: first, upToId: third })).toEqual([third])
        const { revision } = getMarket(history, conditionIdOf(1))
        await history.putReceipts([{ tradeId: first, isSuccess: true }], second)
        await history.putReceipts([{ tradeId: third, isSuccess: false }], fourth)
        await history.putReceipts([{ tradeId: first, isSuccess: false }], fourth)
        const receipts = [first, second, third].map((id) => history.receiptOf(id))
        expect(receipts.map((receipt) => receipt?.isSuccess)).toEqual([true, undefined, false])
        expect(unchecked()).toEqual([fourth])
        expect(history.nextCheckedId()).toBe(fourth)
        expect(getMarket(history, conditionIdOf(1)).revision).toBe(revision)
        expect([...history.verify()]).toEqual([])
      }),
    )

    test(
      'behavior: a trade that is replaced by one with its transaction is not checked',
      use(async (history) => {
        const [, second = 0] = await withTrades(history)
        const named = { timestampMs: START_MS + 1, price: 500_001, size: 1_000_000 }
        await history.putTrades({
          id: 'named',
          conditionId: conditionIdOf(1),
          trades: [{ ...named, transactionHash: hashOf(9) }],
        })
        const found = history.uncheckedTrades(since)
        expect(found.map(({ transactionHash }) => transactionHash)).toContain(hashOf(9))
        expect(found.map(({ id }) => id)).not.toContain(second)
      }),
    )

    test(
      'behavior: a receipt goes with its trade, and none is stored of a deleted trade',
      use(async (history) => {
        const ids = await withTrades(history)
        const receipts = ids.map((tradeId) => ({ tradeId, isSuccess: true }))
        await history.putReceipts(receipts, 1)
        await history.close(conditionIdOf(1))
        while (await history.deleteOldest(START_MS + 1));
        expect(ids.map((id) => history.receiptOf(id))).toEqual(ids.map(() => undefined))
        await history.putReceipts(receipts, 1)
        expect(ids.map((id) => history.receiptOf(id))).toEqual(ids.map(() => undefined))
        expect([...history.verify()]).toEqual([])
      }),
    )
  })
}
