/**
 * An open market that moves as time passes, for a server that has nothing else to show: books,
 * trades and prices of the coin, all marked as simulated.
 */

import {
  type Coin,
  coinTable,
  type Market,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'

import type { Opening } from './coin-price.ts'
import { isSimulatedId, LEAD_MS } from './market.ts'
import { createModel } from './model.ts'
import {
  createTradedMarket,
  moveTradedMarket,
  toTradedFacts,
  type TradedMarket,
} from './traded-market.ts'

const TIMEFRAME: Timeframe = '5m'
const WINDOW_MS = timeframeMs[TIMEFRAME]
const SEED = 'moving-3'
/** Of versions whose markets had gaps, or settled on no average. */
const FORMER_SEEDS = ['moving', 'moving-2']
/** Enough to see it move; real ones have three times as many. That of a coin beside Bitcoin. */
const STATES_PER_SECOND = 4
const OTHERS_STATES_PER_SECOND = 0.75
/** States that are written at once: some milliseconds. */
const STATES_MAX = 100
/** The most markets that are looked at for those that an earlier run left open. */
const LEFT_MAX = 20

/** Whether the history has a market that was recorded. */
export const hasRecorded = (history: Pick<MarketHistory, 'coinTotals'>, nowMs: number): boolean =>
  history.coinTotals(nowMs).some(({ source }) => source === 'recorded')

/**
 * Makes a market of a coin, and the next one when its window ends, until the history has a market
 * that was recorded: then the markets that were begun are finished, and no other begins. What happens
 * in a window follows from its time, so a server that starts again continues where the one before it
 * would be.
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
  coin: Coin = 'btc',
  model = createModel(),
) {
  const statesPerSecond = coin === 'btc' ? STATES_PER_SECOND : OTHERS_STATES_PER_SECOND
  /** By the start of its window. */
  const live = new Map<number, TradedMarket>()
  let isResumed = false

  const begin = (windowStartMs: number, seed = SEED): TradedMarket =>
    createTradedMarket({ seed, coin, timeframe: TIMEFRAME, windowStartMs, statesPerSecond }, model)

  const idOf = (windowStartMs: number, seed: string): string =>
    begin(windowStartMs, seed).market.conditionId

  function open(windowStartMs: number): void {
    if (live.has(windowStartMs)) return
    const traded = begin(windowStartMs)
    if (history.findMarket(traded.market.conditionId)?.isClosed) return
    history.putMarket(toTradedFacts(traded))
    live.set(windowStartMs, traded)
  }

  /** Opens markets again that an earlier run left. */
  function resume(nowMs: number, isEnding: boolean): void {
    const query = {
      coin,
      timeframe: TIMEFRAME,
      source: 'simulated',
      nowMs,
      limit: LEFT_MAX,
    } as const
    const left = (['upcoming', 'open', 'closed'] as const)
      .flatMap((status) => history.listMarkets({ ...query, status }))
      .filter(({ isClosed }) => !isClosed)
    for (const { windowStartMs = 0, windowEndMs = nowMs, conditionId } of left) {
      if (idOf(windowStartMs, SEED) === conditionId) open(windowStartMs)
      // Another version made it: nothing will continue it.
      else if (
        FORMER_SEEDS.some((seed) => idOf(windowStartMs, seed) === conditionId) ||
        (!isSimulatedId(conditionId) && windowEndMs <= nowMs)
      )
        history.close(conditionId)
    }
    // A sample that is made while a window ends does not have it.
    const beforeMs = Math.floor(nowMs / WINDOW_MS - 1) * WINDOW_MS
    if (!isEnding && listWindow(beforeMs).length === 0) open(beforeMs)
    isResumed = true
  }

  /** The final price of the window before, and the price of the coin at its end. */
  function findOpening({ market }: TradedMarket): Opening {
    const { windowStartMs } = market.price
    const beforeMs = windowStartMs - WINDOW_MS
    const known =
      history.findMarket(market.conditionId)?.strike ??
      live.get(beforeMs)?.market.coinPrice?.finalPrice ??
      listWindow(beforeMs).find(({ finalPrice }) => finalPrice !== undefined)?.finalPrice
    const query = { coin, source: 'simulated', toMs: windowStartMs + 1, order: 'desc' } as const
    const [tick] = history.spot({ ...query, limit: 1 })
    const price = tick?.price ?? known ?? coinTable[coin].simulatedPrice
    return { strike: known ?? price, price }
  }

  /** All simulated markets of a window, also those of the sample. */
  const listWindow = (windowStartMs: number): Market[] =>
    history.listMarkets({
      coin,
      timeframe: TIMEFRAME,
      source: 'simulated',
      fromMs: windowStartMs,
      toMs: windowStartMs + 1,
      limit: LEFT_MAX,
    })

  function moveAll(nowMs: number): 'written' | 'behind' | 'over' {
    const isEnding = hasRecorded(history, nowMs)
    if (!isResumed) resume(nowMs, isEnding)
    if (!isEnding) {
      const startMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS
      open(startMs)
      if (nowMs >= startMs + WINDOW_MS - LEAD_MS) open(startMs + WINDOW_MS)
    }
    const progress = { untilMs: nowMs, statesMax: STATES_MAX, findOpening }
    // A window that is behind goes before the next one, which opens at its prices.
    for (const [windowStartMs, traded] of [...live].sort(([a], [b]) => a - b)) {
      if (moveTradedMarket(history, traded, progress)) live.delete(windowStartMs)
      else if (traded.market.nextMs <= nowMs) return 'behind'
    }
    return isEnding && live.size === 0 ? 'over' : 'written'
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
