/**
 * An open market that moves as time passes, for a server that has nothing else to show: books,
 * trades and prices of the coin, all marked as simulated.
 */
import {
  type Coin,
  finalPriceFacts,
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
} from './market.ts'
import { createModel, type Model } from './model.ts'
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
/** Standard deviation of what Bitcoin moves in five minutes, roughly. */
const VOLATILITY = 0.0008
/** Of all states. */
const TRADE_SHARE = 0.25
const TRADE_SHARES_MAX = 200
const MILLIONTHS_PER_SHARE = 1_000_000
/** Markets that are looked at for those that an earlier run left open. */
const LEFT_MAX = 20

type History = Pick<
  MarketHistory,
  | 'coinTotals'
  | 'findMarket'
  | 'listMarkets'
  | 'putMarket'
  | 'record'
  | 'putSpot'
  | 'spot'
  | 'close'
>
type Moving = {
  market: SimulatedMarket
  random: Random
  /** Known from the start of the window on. */
  strikeCents: number | undefined
  /** The second of its last price. */
  spotSecond: number
}

/** Whether the history has a market that was recorded. */
export const hasRecorded = (history: Pick<History, 'coinTotals'>, nowMs: number): boolean =>
  history.coinTotals(nowMs).some(({ source }) => source === 'recorded')

/** All is written up to now, or there is more to write, or it is over for good. */
type Moved = 'written' | 'behind' | 'over'

/**
 * Makes the market, and the next one when its window ends, until the history has a market that was
 * recorded. What happens in a window follows from its time, so a server that starts again goes on
 * where the one before it would be.
 */
export function createMovingMarket(history: History) {
  const model = createModel()
  const live = new Map<number, Moving>()
  const move = createMove(history, (windowStartMs) => live.get(windowStartMs))
  let isResumed = false

  function open(windowStartMs: number): void {
    if (live.has(windowStartMs)) return
    const moving = begin(windowStartMs, model)
    if (history.findMarket(moving.market.conditionId)?.isClosed) return
    history.putMarket(toFacts(moving.market))
    live.set(windowStartMs, moving)
  }

  /** An earlier run may have left markets. */
  function resume(nowMs: number): void {
    const query = { coin: COIN, timeframe: TIMEFRAME, nowMs, limit: LEFT_MAX }
    const left = (['upcoming', 'open', 'closed'] as const)
      .flatMap((status) => history.listMarkets({ ...query, status }))
      .filter(({ source, isClosed }) => source === 'simulated' && !isClosed)
    for (const { windowStartMs = 0, windowEndMs = nowMs, conditionId } of left) {
      if (begin(windowStartMs, model).market.conditionId === conditionId) open(windowStartMs)
      // Of a version that named it otherwise: nothing will go on with it.
      else if (!isSimulatedId(conditionId) && windowEndMs <= nowMs) history.close(conditionId)
    }
    isResumed = true
  }

  function stop(): Moved {
    for (const { market } of live.values()) history.close(market.conditionId)
    live.clear()
    return 'over'
  }

  function moveAll(nowMs: number): Moved {
    let all: Moved = 'written'
    for (const [windowStartMs, moving] of live) {
      const moved = move(moving, nowMs)
      if (moved === 'over') live.delete(windowStartMs)
      if (moved === 'behind') all = moved
    }
    return all
  }

  function tick(nowMs: number): Moved {
    if (!isResumed) resume(nowMs)
    if (hasRecorded(history, nowMs)) return stop()
    const startMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS
    open(startMs)
    if (nowMs >= startMs + WINDOW_MS - LEAD_MS) open(startMs + WINDOW_MS)
    return moveAll(nowMs)
  }

  return {
    /** To be called some times a second. What cannot be written is made again at the next call. */
    tick(nowMs: number): Moved {
      try {
        return tick(nowMs)
      } catch (error) {
        live.clear()
        isResumed = false
        throw error
      }
    },
  }
}

/** Returns what writes some of what happened in a market up to a moment. */
function createMove(history: History, findLive: (windowStartMs: number) => Moving | undefined) {
  /** The final price of the window before; undefined as long as that is not known. */
  function strikeOf({ market }: Moving): number | undefined {
    const { windowStartMs } = market.price
    const beforeMs = windowStartMs - WINDOW_MS
    const live = findLive(beforeMs)
    const strike = history.findMarket(market.conditionId)?.strike
    if (strike === undefined && live !== undefined) return finalCentsOf(live)
    const { conditionId } = begin(beforeMs, market.model).market
    const known = strike ?? history.findMarket(conditionId)?.finalPrice
    const price = { coin: COIN, source: 'simulated', toMs: windowStartMs, order: 'desc' } as const
    const digits = known ?? history.spot({ ...price, limit: 1 })[0]?.price
    return digits === undefined ? FIRST_STRIKE_CENTS : Math.round(Number(digits) * CENTS)
  }

  function drawSpot(moving: Moving): SpotTick[] {
    const { price } = moving.market
    const { timestampMs, winner, windowStartMs } = price
    const second = Math.floor(timestampMs / SPOT_MS)
    if (timestampMs < windowStartMs || winner !== undefined) return []
    if (second === moving.spotSecond) return []
    if (moving.strikeCents === undefined) {
      moving.strikeCents = strikeOf(moving)
      if (moving.strikeCents === undefined) return []
      putFacts(moving)
    }
    const cents = centsOf(moving)
    moving.spotSecond = second
    const series = { coin: COIN, source: 'simulated', windowSeconds: 0 }
    return [{ ...series, timestampMs, price: toDigits(cents) }]
  }

  function putFacts(moving: Moving): void {
    const finalCents = finalCentsOf(moving)
    const strike = moving.strikeCents === undefined ? undefined : toDigits(moving.strikeCents)
    const finalPrice = finalCents === undefined ? undefined : toDigits(finalCents)
    const of = { ...moving.market.price, source: 'simulated' } as const
    history.putMarket({
      ...toFacts(moving.market),
      ...strikeFacts(strike, of),
      ...finalPriceFacts(finalPrice, of),
    })
  }

  return (moving: Moving, nowMs: number): Moved => {
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
    if (isOver) return 'over'
    return market.nextMs > nowMs ? 'written' : 'behind'
  }
}

function begin(windowStartMs: number, model: Model): Moving {
  const window = { coin: COIN, timeframe: TIMEFRAME, windowStartMs }
  const rate = { seed: SEED, statesPerSecond: STATES_PER_SECOND }
  const plan = { ...rate, ...window, outcomes: ['up', 'down'] as const }
  const market = createMarket({ ...plan, maxSnapshots: Number.POSITIVE_INFINITY }, model)
  const random = createRandom(`bookfeed/${SEED}/${market.conditionId}`)
  return { market, random, strikeCents: undefined, spotSecond: 0 }
}

const centsOf = ({ market, strikeCents = Number.NaN }: Moving): number =>
  strikeCents + Math.round(strikeCents * VOLATILITY * market.price.walk)

/** Up wins where it is at least the strike; a walk just below 0 is a cent below. */
function finalCentsOf(moving: Moving): number | undefined {
  const { strikeCents } = moving
  const { winner } = moving.market.price
  if (winner === undefined || strikeCents === undefined) return undefined
  return winner === 'up' ? centsOf(moving) : Math.min(centsOf(moving), strikeCents - 1)
}

const toDigits = (cents: number): string => (cents / CENTS).toFixed(2)

/** Somebody takes from the best level of an outcome, sometimes. */
export function drawTrade(state: readonly Snapshot[], random: Random): Trade[] {
  const isTrade = random.uniform() < TRADE_SHARE
  const { outcome, timestampMs, bids, asks } = random.pick(state)
  const side = random.pick(['buy', 'sell'] as const)
  const shares = 1 + random.integer(TRADE_SHARES_MAX)
  const price = (side === 'buy' ? asks : bids).prices[0]
  if (!isTrade || price === undefined) return []
  return [{ timestampMs, price, outcome, side, size: shares * MILLIONTHS_PER_SHARE }]
}
