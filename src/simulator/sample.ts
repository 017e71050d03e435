/** The markets of a first start: the last windows of each coin, complete and settled. */

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
/** Far below real rates: some 7,000 snapshots in all. Visitors without a key see Bitcoin. */
const BITCOIN = { count: 3, statesPerSecond: 1.5 }
const MAIN = { count: 2, statesPerSecond: 0.35 }
const OTHERS = { count: 1, statesPerSecond: 0.2 }
/** States written per step. */
const STATES_MAX = 1_000

/**
 * Fills an empty history at the first start: the last few 5-minute windows of the main coins, and
 * the last one of each other coin.
 */
export async function makeSample(
  history: MarketHistory,
  { print, clock }: { print: (line: string) => void; clock: Clock },
): Promise<void> {
  const model = createModel()
  // The last window whose recording would be over by now.
  const endMs = Math.floor((clock() - TAIL_MS_MAX) / WINDOW_MS) * WINDOW_MS
  for (const [done, coin] of coins.entries()) {
    const { count, statesPerSecond } = termsOf(coin)
    const startMs = endMs - count * WINDOW_MS
    await makeSampleWindows(history, { coin, count, startMs, statesPerSecond }, model)
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
 * Makes consecutive windows: the final price of one is the strike of the next, and the coin's last
 * price its first.
 */
export async function makeSampleWindows(
  history: MarketHistory,
  {
    coin,
    count,
    startMs,
    statesPerSecond,
  }: { coin: Coin; count: number; startMs: number; statesPerSecond: number },
  model = createModel(),
): Promise<void> {
  const { simulatedPrice } = coinTable[coin]
  let opening: Opening = { strike: simulatedPrice, price: simulatedPrice }
  for (let index = 0; index < count; index++) {
    const windowStartMs = startMs + index * WINDOW_MS
    const plan = { seed: SEED, coin, timeframe: TIMEFRAME, windowStartMs, statesPerSecond }
    const traded = createTradedMarket(plan, model)
    await history.putMarket(toTradedFacts(traded))
    const progress = { untilMs: Infinity, statesMax: STATES_MAX, findOpening: () => opening }
    while (!(await moveTradedMarket(history, traded, progress)));
    const { finalPrice, lastPrice } = traded.market.coinPrice ?? {}
    opening = { strike: finalPrice ?? opening.strike, price: lastPrice ?? opening.price }
  }
}
