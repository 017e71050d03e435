/**
 * A live simulated market for a server that has no other data: books, trades and prices of the
 * coin, all marked as simulated.
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
/** Seeds of versions whose markets had gaps, or did not settle on an average. */
const FORMER_SEEDS = ['moving', 'moving-2']
/**
 * States per second of Bitcoin: enough to see movement; real markets have three times as many. The
 * other coins have fewer.
 */
const STATES_PER_SECOND = 4
const OTHERS_STATES_PER_SECOND = 0.75
/** States written per step: a few milliseconds. */
const STATES_MAX = 100
/** Maximum number of markets searched for ones that an earlier run left open. */
const LEFT_MAX = 20

/** True if the history has a recorded market. */
export const hasRecorded = (history: Pick<MarketHistory, 'coinTotals'>, nowMs: number): boolean =>
  history.coinTotals(nowMs).some(({ source }) => source === 'recorded')

/**
 * Simulates a market of a coin, and the next one when its window ends, until the history has a
 * recorded market: then the current markets are finished, and no new one begins. A window is
 * determined by its time, so a restarted server continues where the previous one would be.
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
  /** By the start of the window. */
  const live = new Map<number, TradedMarket>()
  let isResumed = false

  const begin = (windowStartMs: number, seed = SEED): TradedMarket =>
    createTradedMarket({ seed, coin, timeframe: TIMEFRAME, windowStartMs, statesPerSecond }, model)

  const idOf = (windowStartMs: number, seed: string): string =>
    begin(windowStartMs, seed).market.conditionId

  async function open(windowStartMs: number): Promise<void> {
    if (live.has(windowStartMs)) return
    const traded = begin(windowStartMs)
    if (history.findMarket(traded.market.conditionId)?.isClosed) return
    await history.putMarket(toTradedFacts(traded))
    live.set(windowStartMs, traded)
  }

  /** Reopens the markets that an earlier run left open. */
  async function resume(nowMs: number, isEnding: boolean): Promise<void> {
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
      if (idOf(windowStartMs, SEED) === conditionId) await open(windowStartMs)
      // A market of another version: nothing will continue it.
      else if (
        FORMER_SEEDS.some((seed) => idOf(windowStartMs, seed) === conditionId) ||
        (!isSimulatedId(conditionId) && windowEndMs <= nowMs)
      )
        await history.close(conditionId)
    }
    // A sample that is made while a window ends does not contain that window.
    const beforeMs = Math.floor(nowMs / WINDOW_MS - 1) * WINDOW_MS
    if (!isEnding && listWindow(beforeMs).length === 0) await open(beforeMs)
    isResumed = true
  }

  /** The final price of the previous window, and the coin's price at its end. */
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

  /** All simulated markets of a window, including those of the sample. */
  const listWindow = (windowStartMs: number): Market[] =>
    history.listMarkets({
      coin,
      timeframe: TIMEFRAME,
      source: 'simulated',
      fromMs: windowStartMs,
      toMs: windowStartMs + 1,
      limit: LEFT_MAX,
    })

  async function moveAll(nowMs: number): Promise<'written' | 'behind' | 'over'> {
    const isEnding = hasRecorded(history, nowMs)
    if (!isResumed) await resume(nowMs, isEnding)
    if (!isEnding) {
      const startMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS
      await open(startMs)
      if (nowMs >= startMs + WINDOW_MS - LEAD_MS) await open(startMs + WINDOW_MS)
    }
    const progress = { untilMs: nowMs, statesMax: STATES_MAX, findOpening }
    // An older window goes first, because the next one opens at its prices.
    for (const [windowStartMs, traded] of [...live].sort(([a], [b]) => a - b)) {
      if (await moveTradedMarket(history, traded, progress)) live.delete(windowStartMs)
      else if (traded.market.nextMs <= nowMs) return 'behind'
    }
    return isEnding && live.size === 0 ? 'over' : 'written'
  }

  return {
    /**
     * Called several times a second, but not before it has resolved. Returns whether everything up to now is written, more is to be
     * written, or the simulation is over. A state that cannot be written is made again by the next
     * call.
     */
    async tick(nowMs: number): Promise<'written' | 'behind' | 'over'> {
      try {
        return await moveAll(nowMs)
      } catch (error) {
        live.clear()
        isResumed = false
        throw error
      }
    },
  }
}
