/** The markets of a first start: the last windows of each coin, over and whole. */

import {
  type Coin,
  coins,
  coinTable,
  mainCoins,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

import type { Opening } from './coin-price.ts'
import { TAIL_MS_MAX } from './market.ts'
import { createModel } from './model.ts'
import { createTradedMarket, moveTradedMarket, toTradedFacts } from './traded-market.ts'

const SEED = 'sample'
const TIMEFRAME: Timeframe = '5m'
const WINDOW_MS = timeframeMs[TIMEFRAME]
/** Far below real rates: some 7,000 snapshots in all. Bitcoin is what a visitor without a key sees. */
const BITCOIN = { count: 3, statesPerSecond: 1.5 }
const MAIN = { count: 2, statesPerSecond: 0.35 }
const OTHERS = { count: 1, statesPerSecond: 0.2 }
/** States that are written at once. */
const STATES_MAX = 1_000

/**
 * Fills an empty history for a first start: the last few 5-minute windows of the main coins, and
 * the last one of each other coin.
 */
export function makeSample(
  history: MarketHistory,
  { print, clock }: { print: (line: string) => void; clock: Clock },
): void {
  const model = createModel()
  // The last window that nothing is recorded of any more.
  const endMs = Math.floor((clock() - TAIL_MS_MAX) / WINDOW_MS) * WINDOW_MS
  for (const [done, coin] of coins.entries()) {
    const { count, statesPerSecond } = termsOf(coin)
    const startMs = endMs - count * WINDOW_MS
    makeSampleWindows(history, { coin, count, startMs, statesPerSecond }, model)
    const quarters = Math.floor((4 * (done + 1)) / coins.length)
    if (quarters > Math.floor((4 * done) / coins.length))
      print(`Making a simulated sample: ${quarters * 25} %`)
  }
}

const termsOf = (coin: Coin): typeof BITCOIN => {
  if (coin === 'btc') return BITCOIN
  return mainCoins.includes(coin) ? MAIN : OTHERS
}

/**
 * Makes windows that follow each other: the final price of one is the strike of the next, and the
 * last price of the coin its first.
 */
export function makeSampleWindows(
  history: MarketHistory,
  {
    coin,
    count,
    startMs,
    statesPerSecond,
  }: { coin: Coin; count: number; startMs: number; statesPerSecond: number },
  model = createModel(),
): void {
  const { simulatedPrice } = coinTable[coin]
  let opening: Opening = { strike: simulatedPrice, price: simulatedPrice }
  for (let index = 0; index < count; index++) {
    const windowStartMs = startMs + index * WINDOW_MS
    const plan = { seed: SEED, coin, timeframe: TIMEFRAME, windowStartMs, statesPerSecond }
    const traded = createTradedMarket(plan, model)
    history.putMarket(toTradedFacts(traded))
    const progress = { untilMs: Infinity, statesMax: STATES_MAX, findOpening: () => opening }
    while (!moveTradedMarket(history, traded, progress));
    const { finalPrice, lastPrice } = traded.market.coinPrice ?? {}
    opening = { strike: finalPrice ?? opening.strike, price: lastPrice ?? opening.price }
  }
}
