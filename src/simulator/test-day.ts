/**
 * The simulated hours that test keys read: all coins in windows of 5 minutes, 15 minutes and an
 * hour, with trades and prices of the coins, the same on every server. Books have only the best
 * levels, at equal intervals, so the hours are small and have no gap. `gap` and `stale` are the
 * same hours as seen by a recorder that stops in each window, for a while or until its end.
 */
import type { Gap } from '#src/domain/coverage.ts'
import {
  type Coin,
  coins,
  finalPriceFacts,
  mainCoins,
  outcomes,
  strikeFacts,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom } from '#src/platform/random.ts'
import type { MarketWindow } from '#src/venue/catalogue.ts'

import { firstPriceOf, printPrice } from './coin-price.ts'
import { advanceMarket, createMarket, toCoinPrice, toFinalCoinPrice } from './market.ts'
import { createModel, type Model } from './model.ts'
import { toFacts } from './simulator.ts'
import { drawTrade } from './traded-market.ts'

/** The first millisecond, UTC. */
export const TEST_DAY_MS = Date.UTC(2026, 3, 13)
/** A part of a day, which live streams replay over and over by the time of day. */
export const TEST_SPAN_MS = 2 * 3_600_000
const testTimeframes = ['5m', '15m', '1h'] as const satisfies readonly Timeframe[]
export const testStores = ['day', 'gap', 'stale'] as const
export type TestStore = (typeof testStores)[number]
export type TestHistories = Record<TestStore, MarketHistory>

/** The part of the hours to make: all of them, or less for tests. */
export type TestDayPart = {
  coins?: readonly Coin[]
  /** Starts of windows, in milliseconds after `TEST_DAY_MS`; the end is exclusive. */
  ranges?: readonly (readonly [fromMs: number, toMs: number])[]
}

/** States of an outcome in a window; fewer would leave gaps. */
const STATES = 60
const LEVELS = 10
/** The simulator's rate, which is sampled at each of these states. */
const STATES_PER_SECOND = 0.25
/** The part of a window in which nothing is recorded, as shares; the last state is at its end. */
const HOLES = { day: [2, 2], gap: [0.4, 0.6], stale: [0.2, 2] } as const
const TICK_STATES = 5
/** Coins that are not main ones have windows that start before this time of the day. */
const OTHERS_MS = timeframeMs['15m']
/** Fills empty histories, market after market; yields the share that is done. */
export async function* makeTestDay(
  histories: Partial<TestHistories>,
  { coins: some = coins, ranges = [[0, TEST_SPAN_MS]] }: TestDayPart = {},
): AsyncGenerator<number, void> {
  const price = new Map(some.map((coin) => [coin, firstPriceOf(coin)]))
  const model = createQuietModel()
  for (const window of listWindows(some, ranges)) {
    const { coin, timeframe, startMs } = window
    // Windows of 5 minutes are consecutive: each begins where the previous one ends.
    const strike = timeframe === '5m' ? price.get(coin) : undefined
    const made = makeMarket(window, strike, model)
    const final = strike === undefined ? undefined : toFinalCoinPrice(made.market, strike)
    if (final !== undefined) price.set(coin, final)
    for (const store of testStores) {
      const history = histories[store]
      if (history !== undefined) await put(history, made, store, strike, final)
    }
    yield (startMs - TEST_DAY_MS) / TEST_SPAN_MS
  }
}

/** Changes a fifth of the levels that change in real books, which takes a third of the time. */
function createQuietModel(): Model {
  const model = createModel()
  const changedLevels = model.changedLevels.map((count) => Math.max(1, Math.round(count / 5)))
  return { ...model, changedLevels }
}

/** Ordered by their start. */
function* listWindows(
  some: readonly Coin[],
  ranges: readonly (readonly [fromMs: number, toMs: number])[],
): Generator<Omit<MarketWindow, 'endMs'>, void> {
  for (let timeMs = 0; timeMs < TEST_SPAN_MS; timeMs += timeframeMs['5m']) {
    if (!ranges.some(([fromMs, toMs]) => timeMs >= fromMs && timeMs < toMs)) continue
    const startMs = TEST_DAY_MS + timeMs
    const due = testTimeframes.filter((timeframe) => startMs % timeframeMs[timeframe] === 0)
    for (const coin of some) {
      if (timeMs >= OTHERS_MS && !mainCoins.includes(coin)) continue
      for (const timeframe of due) yield { coin, timeframe, startMs }
    }
  }
}

function makeMarket(
  { coin, timeframe, startMs: windowStartMs }: Omit<MarketWindow, 'endMs'>,
  strike: number | undefined,
  model: Model,
) {
  const market = createMarket(
    {
      seed: 'test',
      coin,
      timeframe,
      windowStartMs,
      outcomes,
      statesPerSecond: STATES_PER_SECOND,
      maxSnapshots: Number.POSITIVE_INFINITY,
    },
    model,
  )
  const random = createRandom(`bookfeed/test/${market.conditionId}`)
  const stepMs = timeframeMs[timeframe] / STATES
  const snapshots: Snapshot[] = []
  const trades: Trade[] = []
  const ticks: SpotTick[] = []
  let last: Snapshot[] = []
  for (let state = 0; state <= STATES; state++) {
    const timestampMs = windowStartMs + state * stepMs
    while (market.nextMs <= timestampMs && market.nextMs < market.endMs) {
      last = []
      advanceMarket(market, last)
    }
    const states = last.map((each) => atMoment(each, timestampMs))
    snapshots.push(...states)
    if (state < STATES && states.length > 0) trades.push(...drawTrade(states, random))
    if (strike === undefined || state % TICK_STATES > 0 || state === STATES) continue
    const price = printPrice(coin, toCoinPrice(market, strike))
    ticks.push({ coin, source: 'simulated', windowSeconds: 0, timestampMs, price })
  }
  // The end of the market names the winner.
  while (advanceMarket(market, []) === undefined);
  return { market, snapshots, trades, ticks }
}

/** The state that prevails at a time, with its best levels only. */
const atMoment = ({ sourceHash: _, bids, asks, ...state }: Snapshot, timestampMs: number) => ({
  ...state,
  timestampMs,
  bids: best(bids),
  asks: best(asks),
})
const best = ({ prices, sizes }: Ladder): Ladder => ({
  prices: prices.slice(0, LEVELS),
  sizes: sizes.slice(0, LEVELS),
})

async function put(
  history: MarketHistory,
  { market, snapshots, trades, ticks }: ReturnType<typeof makeMarket>,
  store: TestStore,
  strike: number | undefined,
  final: number | undefined,
): Promise<void> {
  const { conditionId, plan } = market
  const { windowStartMs, windowEndMs } = market.price
  const [holeFromMs = windowEndMs, holeToMs = windowEndMs] = HOLES[store].map(
    (share) => windowStartMs + share * (windowEndMs - windowStartMs),
  )
  const isHeard = ({ timestampMs }: { timestampMs: number }) =>
    timestampMs < holeFromMs || timestampMs >= holeToMs
  const text = (units: number | undefined) => (units ? printPrice(plan.coin, units) : undefined)
  const of = { windowStartMs, windowEndMs, source: 'simulated' } as const
  await history.putMarket({
    ...toFacts(market),
    ...strikeFacts(text(strike), of),
    ...finalPriceFacts(text(final), of),
  })
  const heard = snapshots.filter(isHeard)
  await history.record({
    source: 'simulated',
    snapshots: heard,
    trades: trades.filter(isHeard).map((trade) => ({ conditionId, trade })),
    gaps: [],
  })
  // A recorder stores a gap from the last state before it to the next, or to the end.
  const gaps = outcomes.map((outcome): Gap => {
    const times = heard.flatMap((each) => (each.outcome === outcome ? each.timestampMs : []))
    const lastMs = times.findLast((timeMs) => timeMs < holeFromMs) ?? holeFromMs
    const toMs = times.find((timeMs) => timeMs >= holeToMs) ?? windowEndMs
    return { outcome, reason: 'recorder_down', fromMs: lastMs + 1, toMs }
  })
  if (store !== 'day') await history.putGaps(conditionId, gaps)
  if (ticks.length > 0) await history.putSpot(ticks.filter(isHeard))
  await history.close(conditionId)
}
