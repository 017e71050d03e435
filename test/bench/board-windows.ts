/** Forty open windows, eight coins of five lengths, with all that the board shows of them. */

import { coins, timeframeMs, timeframes } from '#src/domain/market.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom } from '#src/platform/random.ts'

import { conditionIdOf } from '../history/books.ts'

const TICK = 10_000
const LEVELS = 49
const FIRST_PRICES = [64_000, 3_100, 145, 5.2, 0.21, 890, 41.5, 520]
/** The largest move of a price in a second, as a share of it. */
const STEP_SHARE = 0.00004
/** States that are made of the past of a window. */
const PAST_STATES = 240
const TRADE_SHARE = 0.4

type OpenWindow = {
  conditionId: string
  coin: (typeof coins)[number]
  timeframe: (typeof timeframes)[number]
  strike: number
  startMs: number
}

/**
 * Makes the windows, as they are at a moment that is some minutes after the start of each, and
 * returns what writes the next second of all of them.
 */
export async function addOpenWindows(history: MarketHistory, nowMs: number) {
  const random = createRandom('board')
  const prices = new Map(coins.map((coin, index) => [coin, FIRST_PRICES[index] ?? 1]))
  const windows: OpenWindow[] = []

  const digits = (price: number): string => price.toFixed(price < 10 ? 6 : 2)

  for (const coin of coins) {
    const price = prices.get(coin) ?? 1
    for (const timeframe of timeframes) {
      const lengthMs = timeframeMs[timeframe]
      const startMs = nowMs - Math.floor(lengthMs * (0.3 + 0.4 * random.uniform()))
      const strike = price * (1 + (random.uniform() - 0.5) * 0.001)
      const conditionId = conditionIdOf(windows.length + 1)
      windows.push({ conditionId, coin, timeframe, strike, startMs })
      await history.putMarket({
        conditionId,
        coin,
        timeframe,
        source: 'simulated',
        windowStartMs: startMs,
        windowEndMs: startMs + lengthMs,
        strike: digits(strike),
        settlementRule:
          lengthMs === timeframeMs['1h'] || lengthMs === timeframeMs['1d'] ? 'spot' : 'twap60',
      })
    }
  }

  function bookOf(
    { conditionId, coin, timeframe, strike }: OpenWindow,
    timestampMs: number,
  ): Snapshot {
    const move = (prices.get(coin) ?? strike) / strike - 1
    const probability = 1 / (1 + Math.exp(-move * 4_000))
    const best = Math.min(95, Math.max(4, Math.round(probability * 100)))
    const sizes = () => Array.from({ length: LEVELS }, () => (1 + random.integer(900)) * 1_000_000)
    const bids = Array.from({ length: LEVELS }, (_, at) => (best - at) * TICK)
    const asks = Array.from({ length: LEVELS }, (_, at) => (best + 1 + at) * TICK)
    const some = (all: readonly number[]) => {
      const held = all.filter((price) => price > 0 && price < 1_000_000)
      return { prices: held, sizes: sizes().slice(0, held.length) }
    }
    return {
      coin,
      conditionId,
      timeframe,
      assetId: `1${conditionId.slice(-8)}`,
      outcome: 'up',
      timestampMs,
      bids: some(bids),
      asks: some(asks),
    }
  }

  /** The same orders in the book of the other outcome. */
  function mirrorOf({ bids, asks, ...book }: Snapshot): Snapshot {
    const mirror = ({ prices, sizes }: Ladder): Ladder => ({
      prices: prices.map((price) => 1_000_000 - price),
      sizes,
    })
    return {
      ...book,
      assetId: `2${book.assetId.slice(1)}`,
      outcome: 'down',
      bids: mirror(asks),
      asks: mirror(bids),
    }
  }

  async function putPrices(atMs: number): Promise<void> {
    await history.putSpot(
      coins.map((coin) => {
        const price = (prices.get(coin) ?? 1) * (1 + (random.uniform() - 0.5) * STEP_SHARE)
        prices.set(coin, price)
        return {
          coin,
          source: 'simulated',
          windowSeconds: 0,
          timestampMs: atMs,
          price: digits(price),
        }
      }),
    )
  }

  async function putBooks(some: readonly OpenWindow[], atMs: number): Promise<void> {
    const snapshots = some.map((window) => bookOf(window, atMs))
    await history.record({
      source: 'simulated',
      snapshots: snapshots.flatMap((book) => [book, mirrorOf(book)]),
      trades: snapshots
        .filter(() => random.uniform() < TRADE_SHARE)
        .map(({ conditionId, bids }) => ({
          conditionId,
          trade: {
            timestampMs: atMs,
            price: bids.prices[0] ?? TICK,
            outcome: 'up',
            side: 'sell',
            size: (1 + random.integer(200)) * 1_000_000,
          },
        })),
      gaps: [],
    })
  }

  /** Prices of the last minutes a second, those before a minute; books at equal distances. */
  async function makePast(): Promise<void> {
    const firstMs = Math.min(...windows.map(({ startMs }) => startMs))
    const moments = new Map<number, OpenWindow[]>()
    for (const window of windows) {
      const stepMs = Math.ceil((nowMs - window.startMs) / PAST_STATES / 1000) * 1000
      for (let atMs = window.startMs; atMs < nowMs; atMs += stepMs)
        moments.set(atMs, [...(moments.get(atMs) ?? []), window])
    }
    const spots = new Set<number>()
    for (let atMs = firstMs; atMs < nowMs; atMs += atMs < nowMs - 900_000 ? 60_000 : 1_000)
      spots.add(Math.floor(atMs))
    for (const atMs of [...new Set([...spots, ...moments.keys()])].sort((a, b) => a - b)) {
      if (spots.has(atMs)) await putPrices(atMs)
      const some = moments.get(atMs)
      if (some !== undefined) await putBooks(some, atMs)
    }
  }

  await makePast()
  return {
    windows: windows.length,
    /** Writes what happens at a moment: a price of each coin, a book of each window. */
    async advance(atMs: number): Promise<void> {
      await putPrices(atMs)
      await putBooks(windows, atMs)
    },
  }
}
