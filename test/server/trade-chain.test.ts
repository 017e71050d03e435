/** Which trades are asked for and when, what is stored, and what is asked for again after a restart. */
import { describe, expect, test } from 'bun:test'

import type { ReceiptVote } from '#src/chain/receipt-vote.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createTradeCheck } from '#src/server/trade-chain.ts'

import { conditionIdOf, getMarket, START_MS } from '../history/books.ts'
import { onEachEngine } from '../support/engines/each.ts'
import { openHistoryIn } from '../support/stores.ts'

const DAY_MS = 86_400_000
const hashOf = (number: number): string => `0x${String(number).padStart(64, '0')}`

async function addTrades(history: MarketHistory, numbers: readonly number[], atMs = START_MS) {
  const conditionId = conditionIdOf(1)
  await history.putMarket({
    conditionId,
    coin: 'btc',
    timeframe: '5m',
    source: 'recorded',
    windowStartMs: START_MS,
    windowEndMs: START_MS + 300_000,
  })
  await history.putTrades({
    id: `trades ${numbers[0]}`,
    conditionId,
    trades: numbers.map((number) => ({
      timestampMs: atMs,
      price: 1 + number,
      size: 1_000_000,
      transactionHash: hashOf(number),
    })),
  })
}

/** A check whose nodes say what the test says, and its clock. */
function createCheck(history: MarketHistory, known: Record<string, boolean>, nowMs: number) {
  const time = { nowMs, restMs: 0 }
  const asked: string[][] = []
  const vote: ReceiptVote = {
    restMs: () => time.restMs,
    async ask(hashes) {
      asked.push([...hashes])
      return new Map(
        hashes.flatMap((hash) => (hash in known ? [[hash, known[hash] === true]] : [])),
      )
    },
  }
  const step = createTradeCheck(history, vote, () => time.nowMs)
  const run = async (steps: number) => {
    for (let at = 0; at < steps; at++) {
      await step()
      time.nowMs += 1000
    }
  }
  return { time, asked, step, run }
}

/** By the number of each trade, whether its transaction succeeded. */
const receiptsOf = (history: MarketHistory) =>
  Object.fromEntries(
    history
      .trades({ market: getMarket(history) })
      .map(({ id, price }) => [price - 1, history.receiptOf(id)?.isSuccess]),
  )

const numbersFrom = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first + at)

onEachEngine(({ placeOf }) => {
  const use = (name: string, body: (history: MarketHistory) => Promise<void>) => async () => {
    const history = await openHistoryIn(placeOf(name))
    try {
      await body(history)
      expect([...history.verify()]).toEqual([])
    } finally {
      history.dispose()
    }
  }

  describe('createTradeCheck', () => {
    test(
      'default: asks for twenty transactions five times a second, or for fewer once, stores what is decided, and notes how far',
      use('check', async (history) => {
        await addTrades(history, numbersFrom(0, 50))
        const known = Object.fromEntries(numbersFrom(0, 50).map((at) => [hashOf(at), at % 7 !== 3]))
        const { asked, step, run, time } = createCheck(history, known, START_MS + 60_000)
        expect(history.nextCheckedId()).toBeUndefined()
        await step()
        expect(await step()).toBe(200)
        expect(asked.map((each) => each.length)).toEqual([20])
        time.nowMs += 200
        await step()
        expect(asked.map((each) => each.length)).toEqual([20, 20])
        expect(await step()).toBe(1000)
        time.nowMs += 1000
        await run(3)
        expect(asked.map((each) => each.length)).toEqual([20, 20, 10])
        const expected = numbersFrom(0, 50).map((at) => [at, at % 7 !== 3])
        expect(receiptsOf(history)).toEqual(Object.fromEntries(expected))
        expect(history.nextCheckedId()).toBe(history.lastTradeId() + 1)
      }),
    )

    test(
      'behavior: without trades it notes that trades have a state from now on',
      use('none', async (history) => {
        const { step, asked } = createCheck(history, {}, START_MS)
        expect(await step()).toBe(5000)
        expect(history.nextCheckedId()).toBe(1)
        expect(asked).toEqual([])
      }),
    )

    test(
      'behavior: one without a receipt is asked for again, later each time, for a day, and after a restart',
      use('again', async (history) => {
        await addTrades(history, [1])
        const { time, asked, step } = createCheck(history, {}, START_MS + 29_999)
        const askedMs: number[] = []
        for (let minute = 0; minute < 24 * 60 + 5; minute++) {
          const { length } = asked
          await step()
          if (asked.length > length) askedMs.push(time.nowMs - START_MS)
          time.nowMs += 60_000
        }
        expect(askedMs[0]).toBeLessThan(120_000)
        const waits = askedMs.slice(1).map((at, index) => at - (askedMs[index] ?? 0))
        expect(waits).toEqual(waits.toSorted((a, b) => a - b))
        expect(waits.at(-1)).toBe(3_600_000)
        expect(askedMs.at(-1)).toBeLessThan(DAY_MS)
        expect(receiptsOf(history)).toEqual({ 1: undefined })

        const again = createCheck(history, { [hashOf(1)]: false }, START_MS + DAY_MS - 1)
        await again.step()
        expect(receiptsOf(history)).toEqual({ 1: false })
      }),
    )

    test(
      'behavior: those that come later are found, and those that are too old are not asked for',
      use('later', async (history) => {
        const { asked, run } = createCheck(history, { [hashOf(3)]: true }, START_MS + 60_000)
        await run(1)
        await addTrades(history, [2], START_MS - DAY_MS)
        await addTrades(history, [3])
        await run(6)
        expect(asked).toEqual([[hashOf(3)]])
        expect(receiptsOf(history)).toEqual({ 2: undefined, 3: true })
      }),
    )

    test(
      'error: while nodes rest none is asked, and what cannot be stored is asked for again',
      use('faults', async (history) => {
        await addTrades(history, [4])
        let isFull = false
        const failing: MarketHistory = {
          ...history,
          putReceipts: (...given) =>
            isFull ? Promise.reject(new Error('disk full')) : history.putReceipts(...given),
        }
        const { time, asked, step, run } = createCheck(
          failing,
          { [hashOf(4)]: true },
          START_MS + 60_000,
        )
        time.restMs = 7000
        expect(await step()).toBe(7000)
        expect(asked).toEqual([])
        time.restMs = 0
        isFull = true
        await expect(step()).rejects.toThrow('disk full')
        isFull = false
        time.nowMs += 1000
        await run(1)
        expect(asked).toEqual([[hashOf(4)], [hashOf(4)]])
        expect(receiptsOf(history)).toEqual({ 4: true })
      }),
    )
  })
})
