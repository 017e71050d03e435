/**
 * An open market that moves as time passes, for a server that has nothing else to show: books,
 * trades and prices of the coin, all marked as simulated.
 */

import {
  type Coin,
  finalPriceFacts,
  outcomes,
  strikeFacts,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import {
  advanceMarket,
  createMarket,
  isSimulatedId,
  LEAD_MS,
  type SimulatedMarket,
  toCoinPrice,
  toFinalCoinPrice,
} from './market.ts'
import { createModel } from './model.ts'
import { toFacts } from './simulator.ts'

const COIN: Coin = 'btc'
const TIMEFRAME: Timeframe = '5m'
const WINDOW_MS = timeframeMs[TIMEFRAME]
const SEED = 'moving'
/** Enough to see it move; real ones have three times as many. */
const STATES_PER_SECOND = 4
/** States that are written at once: some milliseconds. */
const STATES_MAX = 100
const SPOT_MS = 1000
const CENTS = 100
const FIRST_STRIKE_CENTS = 64_000 * CENTS
/** The share of states with a trade. */
const TRADE_SHARE = 0.25
const TRADE_SHARES_MAX = 200
const MILLIONTHS_PER_SHARE = 1_000_000
/** The most markets that are looked at for those that an earlier run left open. */
const LEFT_MAX = 20

type Moving = {
  market: SimulatedMarket
  random: Random
  /** Known from the start of the window on. */
  strikeCents: number | undefined
  /** The second of its last price. */
  spotSecond: number
}

/** Whether the history has a market that was recorded. */
export const hasRecorded = (history: Pick<MarketHistory, 'coinTotals'>, nowMs: number): boolean =>
  history.coinTotals(nowMs).some(({ source }) => source === 'recorded')

/**
 * Makes a market, and the next one when its window ends, until the history has a market that was
 * recorded. What happens in a window follows from its time, so a server that starts again continues
 * where the one before it would be.
 */
export function createMovingMarket(
  history: Pick<
    MarketHistory,
    | 'coinTotals'
    | 'findMarket'
    | 'listMarkets'
    | 'putMarket'
    | 'record'
    | 'putSpot'
    | 'spot'
    | 'close'
  >,
) {
  const model = createModel()
  /** By the start of its window. */
  const live = new Map<number, Moving>()
  let isResumed = false

  function begin(windowStartMs: number): Moving {
    const market = createMarket(
      {
        seed: SEED,
        coin: COIN,
        timeframe: TIMEFRAME,
        windowStartMs,
        statesPerSecond: STATES_PER_SECOND,
        outcomes,
        maxSnapshots: Number.POSITIVE_INFINITY,
      },
      model,
    )
    const random = createRandom(`bookfeed/${SEED}/${market.conditionId}`)
    return { market, random, strikeCents: undefined, spotSecond: 0 }
  }

  function open(windowStartMs: number): void {
    if (live.has(windowStartMs)) return
    const moving = begin(windowStartMs)
    if (history.findMarket(moving.market.conditionId)?.isClosed) return
    history.putMarket(toFacts(moving.market))
    live.set(windowStartMs, moving)
  }

  /** Opens markets again that an earlier run left. */
  function resume(nowMs: number): void {
    const query = { coin: COIN, timeframe: TIMEFRAME, nowMs, limit: LEFT_MAX }
    const left = (['upcoming', 'open', 'closed'] as const)
      .flatMap((status) => history.listMarkets({ ...query, status }))
      .filter(({ source, isClosed }) => source === 'simulated' && !isClosed)
    for (const { windowStartMs = 0, windowEndMs = nowMs, conditionId } of left) {
      if (begin(windowStartMs).market.conditionId === conditionId) open(windowStartMs)
      // A version with other names made it: nothing will continue it.
      else if (!isSimulatedId(conditionId) && windowEndMs <= nowMs) history.close(conditionId)
    }
    isResumed = true
  }

  /** The final price of the window before; undefined as long as that is unknown. */
  function findStrike({ market }: Moving): number | undefined {
    const { windowStartMs } = market.price
    const beforeMs = windowStartMs - WINDOW_MS
    const before = live.get(beforeMs)
    const strike = history.findMarket(market.conditionId)?.strike
    if (strike === undefined && before !== undefined) return toFinalCents(before)
    const { conditionId } = begin(beforeMs).market
    const known = strike ?? history.findMarket(conditionId)?.finalPrice
    const price = { coin: COIN, source: 'simulated', toMs: windowStartMs, order: 'desc' } as const
    const digits = known ?? history.spot({ ...price, limit: 1 })[0]?.price
    return digits === undefined ? FIRST_STRIKE_CENTS : Math.round(Number(digits) * CENTS)
  }

  function drawSpot(moving: Moving): SpotTick[] {
    const { timestampMs, winner, windowStartMs } = moving.market.price
    const second = Math.floor(timestampMs / SPOT_MS)
    if (timestampMs < windowStartMs || winner !== undefined) return []
    if (second === moving.spotSecond) return []
    if (moving.strikeCents === undefined) {
      moving.strikeCents = findStrike(moving)
      if (moving.strikeCents === undefined) return []
      putFacts(moving)
    }
    moving.spotSecond = second
    const price = toDigits(toCoinPrice(moving.market, moving.strikeCents))
    return [{ coin: COIN, source: 'simulated', windowSeconds: 0, timestampMs, price }]
  }

  function putFacts(moving: Moving): void {
    const finalCents = toFinalCents(moving)
    const strike = moving.strikeCents === undefined ? undefined : toDigits(moving.strikeCents)
    const finalPrice = finalCents === undefined ? undefined : toDigits(finalCents)
    const of = { ...moving.market.price, source: 'simulated' } as const
    history.putMarket({
      ...toFacts(moving.market),
      ...strikeFacts(strike, of),
      ...finalPriceFacts(finalPrice, of),
    })
  }

  /** Writes some of what happened in a market up to a moment. Returns whether it is over. */
  function move(moving: Moving, nowMs: number): boolean {
    const { market, random } = moving
    const { conditionId } = market
    const snapshots: Snapshot[] = []
    const trades: Trade[] = []
    const ticks: SpotTick[] = []
    let isOver = false
    for (let states = 0; states < STATES_MAX && market.nextMs <= nowMs && !isOver; states++) {
      isOver = advanceMarket(market, snapshots) !== undefined
      ticks.push(...drawSpot(moving))
      if (!isOver) trades.push(...drawTrade(snapshots.slice(-2), random))
    }
    history.record({
      source: 'simulated',
      snapshots,
      trades: trades.map((trade) => ({ conditionId, trade })),
      gaps: [],
    })
    if (ticks.length > 0) history.putSpot(ticks)
    if (isOver) {
      putFacts(moving)
      history.close(conditionId)
    }
    return isOver
  }

  function moveAll(nowMs: number): 'written' | 'behind' | 'over' {
    if (!isResumed) resume(nowMs)
    if (hasRecorded(history, nowMs)) {
      for (const { market } of live.values()) history.close(market.conditionId)
      live.clear()
      return 'over'
    }
    const startMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS
    open(startMs)
    if (nowMs >= startMs + WINDOW_MS - LEAD_MS) open(startMs + WINDOW_MS)
    let isBehind = false
    for (const [windowStartMs, moving] of live) {
      if (move(moving, nowMs)) live.delete(windowStartMs)
      else if (moving.market.nextMs <= nowMs) isBehind = true
    }
    return isBehind ? 'behind' : 'written'
  }

  return {
    /**
     * To be called some times a second. Returns whether everything up to now is written, or there
     * is more to write, or it is over for good. What cannot be written is made again at the next
     * call.
     */
    tick(nowMs: number): 'written' | 'behind' | 'over' {
      try {
        return moveAll(nowMs)
      } catch (error) {
        live.clear()
        isResumed = false
        throw error
      }
    },
  }
}

function toFinalCents({ market, strikeCents }: Moving): number | undefined {
  if (market.price.winner === undefined || strikeCents === undefined) return undefined
  return toFinalCoinPrice(market, strikeCents)
}

const toDigits = (cents: number): string => (cents / CENTS).toFixed(2)

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
