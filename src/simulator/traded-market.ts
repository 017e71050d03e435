/**
 * A simulated market with all that a recorded one has: books without a gap, trades, prices of its
 * coin, a strike and a final price.
 */

import {
  type Coin,
  coinTable,
  finalPriceFacts,
  type MarketFacts,
  outcomes,
  strikeFacts,
  type Timeframe,
} from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import {
  advanceMarket,
  createMarket,
  type SimulatedMarket,
  toCoinPrice,
  toFinalCoinPrice,
} from './market.ts'
import type { Model } from './model.ts'
import { toFacts } from './simulator.ts'

const SPOT_MS = 1000
/** The share of states with a trade. */
const TRADE_SHARE = 0.25
const TRADE_SHARES_MAX = 200
const MILLIONTHS_PER_SHARE = 1_000_000

export type TradedMarket = {
  market: SimulatedMarket
  random: Random
  /** In the coin's smallest unit; known from the start of the window on. */
  strike: number | undefined
  /** The second of its last price. */
  spotSecond: number
}

type Plan = {
  seed: string
  coin: Coin
  timeframe: Timeframe
  windowStartMs: number
  statesPerSecond: number
}

/** What happens in it follows from its plan alone. */
export function createTradedMarket(plan: Plan, model: Model): TradedMarket {
  const market = createMarket(
    { ...plan, outcomes, maxSnapshots: Number.POSITIVE_INFINITY, isWhole: true },
    model,
  )
  const random = createRandom(`bookfeed/${plan.seed}/${market.conditionId}`)
  return { market, random, strike: undefined, spotSecond: 0 }
}

type Progress = {
  untilMs: number
  /** The most states that are written at once. */
  statesMax: number
  /** Undefined as long as the strike is unknown. */
  findStrike: (traded: TradedMarket) => number | undefined
}

/** Writes what happened in a market up to a moment. Returns whether it is over. */
export function moveTradedMarket(
  history: Pick<MarketHistory, 'putMarket' | 'record' | 'putSpot' | 'close'>,
  traded: TradedMarket,
  { untilMs, statesMax, findStrike }: Progress,
): boolean {
  const { market, random } = traded
  const { conditionId } = market
  const snapshots: Snapshot[] = []
  const trades: Trade[] = []
  const ticks: SpotTick[] = []
  let isOver = false
  for (let states = 0; states < statesMax && market.nextMs <= untilMs && !isOver; states++) {
    isOver = advanceMarket(market, snapshots) !== undefined
    if (isOpen(traded) && traded.strike === undefined) {
      traded.strike = findStrike(traded)
      if (traded.strike !== undefined) history.putMarket(toTradedFacts(traded))
    }
    ticks.push(...drawTick(traded))
    if (!isOver) trades.push(...drawTrade(snapshots.slice(-2), random))
  }
  if (snapshots.length > 0) {
    history.record({
      source: 'simulated',
      snapshots,
      trades: trades.map((trade) => ({ conditionId, trade })),
      gaps: [],
    })
  }
  if (ticks.length > 0) history.putSpot(ticks)
  if (isOver) {
    history.putMarket(toTradedFacts(traded))
    history.close(conditionId)
  }
  return isOver
}

/** What is known of it by now. */
export function toTradedFacts(traded: TradedMarket): MarketFacts {
  const { market, strike } = traded
  const { coin } = market.plan
  const { windowStartMs, windowEndMs } = market.price
  const origin = { windowStartMs, windowEndMs, source: 'simulated' } as const
  const final = finalPriceOf(traded)
  return {
    ...toFacts(market),
    ...strikeFacts(strike === undefined ? undefined : printPrice(coin, strike), origin),
    ...finalPriceFacts(final === undefined ? undefined : printPrice(coin, final), origin),
  }
}

/** In the coin's smallest unit; undefined while the market is not over. */
export function finalPriceOf({ market, strike }: TradedMarket): number | undefined {
  if (market.price.winner === undefined || strike === undefined) return undefined
  return toFinalCoinPrice(market, strike)
}

const isOpen = ({ market: { price } }: TradedMarket): boolean =>
  price.timestampMs >= price.windowStartMs && price.winner === undefined

/** The price of the coin, once a second. */
function drawTick(traded: TradedMarket): SpotTick[] {
  const { market, strike, spotSecond } = traded
  const { timestampMs } = market.price
  const second = Math.floor(timestampMs / SPOT_MS)
  if (strike === undefined || !isOpen(traded) || second === spotSecond) return []
  traded.spotSecond = second
  const { coin } = market.plan
  const price = printPrice(coin, toCoinPrice(market, strike))
  return [{ coin, source: 'simulated', windowSeconds: 0, timestampMs, price }]
}

/** Sometimes makes a trade at the best level of an outcome. */
export function drawTrade(state: readonly Snapshot[], random: Random): Trade[] {
  const isTrade = random.uniform() < TRADE_SHARE
  const { outcome, timestampMs, bids, asks } = random.pick(state)
  const side = random.pick(['buy', 'sell'] as const)
  const shares = 1 + random.integer(TRADE_SHARES_MAX)
  const price = (side === 'buy' ? asks : bids).prices[0]
  if (!isTrade || price === undefined) return []
  return [{ timestampMs, price, outcome, side, size: shares * MILLIONTHS_PER_SHARE }]
}

/** The first price of a coin, in its smallest unit. */
export const firstPriceOf = (coin: Coin): number => readPrice(coin, coinTable[coin].simulatedPrice)

/** A printed price in the coin's smallest unit. */
export const readPrice = (coin: Coin, digits: string): number =>
  Math.round(Number(digits) * 10 ** decimalsOf(coin))

export const printPrice = (coin: Coin, units: number): string => {
  const decimals = decimalsOf(coin)
  return (units / 10 ** decimals).toFixed(decimals)
}

const decimalsOf = (coin: Coin): number => coinTable[coin].simulatedPrice.split('.')[1]?.length ?? 0
