/**
 * A simulated market with everything that a recorded one has: books without a gap, trades, prices
 * of its coin, a strike and a final price.
 */

import {
  type Coin,
  finalPriceFacts,
  type MarketFacts,
  outcomes,
  strikeFacts,
  type Timeframe,
} from '#src/domain/market.ts'
import { averageSeconds } from '#src/domain/settlement.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { type CoinPrice, createCoinPrice, type Opening } from './coin-price.ts'
import { advanceMarket, createMarket, type SimulatedMarket } from './market.ts'
import type { Model } from './model.ts'
import { toFacts } from './simulator.ts'

/** The share of states with a trade. */
const TRADE_SHARE = 0.25
const TRADE_SHARES_MAX = 200
const MILLIONTHS_PER_SHARE = 1_000_000

export type TradedMarket = { market: SimulatedMarket; random: Random }

type Plan = {
  seed: string
  coin: Coin
  timeframe: Timeframe
  windowStartMs: number
  statesPerSecond: number
}

/** A market is determined by its plan, and in its window by its opening prices. */
export function createTradedMarket(plan: Plan, model: Model): TradedMarket {
  const market = createMarket(
    { ...plan, outcomes, maxSnapshots: Number.POSITIVE_INFINITY, isWhole: true },
    model,
  )
  return { market, random: createRandom(nameOf(market)) }
}

const nameOf = ({ plan, conditionId }: SimulatedMarket): string =>
  `bookfeed/${plan.seed}/${conditionId}`

/** The rule by which the venue settles its markets of this length at this time. */
const settlementRuleOf = ({ plan, price }: SimulatedMarket) =>
  homeVenue.settlementRuleOf({ timeframe: plan.timeframe, endMs: price.windowEndMs })

type Progress = {
  untilMs: number
  /** Maximum number of states written per step. */
  statesMax: number
  /** Called once, when the window opens. */
  findOpening: (traded: TradedMarket) => Opening
}

/** Writes the events of a market up to a time. Returns true if the market is over. */
export async function moveTradedMarket(
  history: Pick<MarketHistory, 'putMarket' | 'record' | 'putSpot' | 'close'>,
  traded: TradedMarket,
  { untilMs, statesMax, findOpening }: Progress,
): Promise<boolean> {
  const { market, random } = traded
  const { conditionId } = market
  const snapshots: Snapshot[] = []
  const trades: Trade[] = []
  const ticks: SpotTick[] = []
  let opened: MarketFacts | undefined
  /** Advances the coin's price, which also moves between states. */
  const movePrice = (timestampMs: number): void => {
    if (timestampMs < market.price.windowStartMs) return
    if (market.coinPrice === undefined) {
      market.coinPrice = openPrice(market, findOpening(traded))
      opened = toTradedFacts(traded)
    }
    ticks.push(...market.coinPrice.advance(timestampMs))
  }
  let isOver = false
  for (let states = 0; states < statesMax && market.nextMs <= untilMs && !isOver; states++) {
    movePrice(market.nextMs)
    isOver = advanceMarket(market, snapshots) !== undefined
    if (!isOver) trades.push(...drawTrade(snapshots.slice(-2), random))
  }
  if (market.nextMs > untilMs) movePrice(untilMs)
  if (opened !== undefined) await history.putMarket(opened)
  if (snapshots.length > 0) {
    await history.record({
      source: 'simulated',
      snapshots,
      trades: trades.map((trade) => ({ conditionId, trade })),
      gaps: [],
    })
  }
  if (ticks.length > 0) await history.putSpot(ticks)
  if (isOver) {
    await history.putMarket(toTradedFacts(traded))
    await history.close(conditionId)
  }
  return isOver
}

function openPrice(market: SimulatedMarket, opening: Opening): CoinPrice {
  const { windowStartMs, windowEndMs } = market.price
  const rule = settlementRuleOf(market)
  return createCoinPrice({
    ...opening,
    coin: market.plan.coin,
    random: createRandom(`${nameOf(market)}/price`),
    windowStartMs,
    windowEndMs,
    averageMs: ((rule && averageSeconds[rule]) ?? 0) * 1000,
  })
}

/** The current facts of the market. */
export function toTradedFacts({ market }: TradedMarket): MarketFacts {
  const { windowStartMs, windowEndMs, winner } = market.price
  const origin = { windowStartMs, windowEndMs, source: 'simulated' } as const
  const { strike, finalPrice } = market.coinPrice ?? {}
  return {
    ...toFacts(market),
    settlementRule: settlementRuleOf(market),
    ...strikeFacts(strike, origin),
    // Published together with the winner.
    ...finalPriceFacts(winner && finalPrice, origin),
  }
}

/** Makes a trade at the best level of an outcome, with a certain chance. */
export function drawTrade(state: readonly Snapshot[], random: Random): Trade[] {
  const isTrade = random.uniform() < TRADE_SHARE
  const { outcome, timestampMs, bids, asks } = random.pick(state)
  const side = random.pick(['buy', 'sell'] as const)
  const shares = 1 + random.integer(TRADE_SHARES_MAX)
  const price = (side === 'buy' ? asks : bids).prices[0]
  if (!isTrade || price === undefined) return []
  return [{ timestampMs, price, outcome, side, size: shares * MILLIONTHS_PER_SHARE }]
}
