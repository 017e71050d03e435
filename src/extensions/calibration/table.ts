/** Counts how often Up won, by the distance of the coin's price from the strike. */

import type { CalibrationMoment, CalibrationTable } from '#src/domain/calibration.ts'
import { hasWindow } from '#src/domain/coverage.ts'
import {
  type Coin,
  type Market,
  type Outcome,
  type Source,
  type Timeframe,
  timeframeMs,
  winnerOf,
} from '#src/domain/market.ts'
import { DAY_MS, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import { findSpot } from '#src/history/reads/spot-read.ts'

/** Only the newest windows count: the deviation of older markets differed. */
export const WINDOWS_MAX = 5_000
const AGE_MS_MAX = 365 * DAY_MS
const MARKETS_A_READ = 100
/** The remaining shares of the window at the counted moments. */
const PARTS_LEFT = [1, 0.9, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01]
/** An older price does not represent the moment. */
const SPOT_AGE_MS_MAX = 10_000
/** The largest distance, in standard deviations. */
const EDGE_MAX = 3
const EDGE_STEP = 0.25
export const edges: readonly number[] = Array.from(
  { length: (2 * EDGE_MAX) / EDGE_STEP + 1 },
  (_, index) => index * EDGE_STEP - EDGE_MAX,
)
const DIGITS = 6

type Reads = Pick<MarketHistory, 'listMarkets' | 'skipMarkets' | 'spot'>
type Question = { coin: Coin; timeframe: Timeframe; source: Source; nowMs: number }
/** A window at one moment. */
type Seen = { price: number; end: number; strike: number; winner: Outcome }

/** The table of a coin and length; undefined without a window. Yields where other work may run. */
export function* makeTable(
  history: Reads,
  { coin, timeframe, source, nowMs }: Question,
): Generator<undefined, CalibrationTable | undefined> {
  const offsets = PARTS_LEFT.map((part) => Math.round(part * timeframeMs[timeframe]))
  const seen = offsets.map((): Seen[] => [])
  let markets = 0
  let fromMs = Number.POSITIVE_INFINITY
  let toMs = Number.NEGATIVE_INFINITY
  const range = { fromMs: nowMs - AGE_MS_MAX, toMs: nowMs, limit: MARKETS_A_READ }
  for (const page of marketPages(history, { coin, timeframe, source, ...range })) {
    for (const market of page) {
      if (markets === WINDOWS_MAX) break
      const found = readWindow(history, market, offsets)
      if (found === undefined) continue
      for (const [index, each] of found.entries()) if (each) seen[index]?.push(each)
      markets++
      const { windowStartMs = nowMs } = market
      fromMs = Math.min(fromMs, windowStartMs)
      toMs = Math.max(toMs, windowStartMs)
      yield
    }
    if (markets === WINDOWS_MAX) break
    yield
  }
  if (markets === 0) return undefined
  return {
    symbol: coin,
    timeframe,
    source,
    madeAt: toIso(nowMs),
    from: toIso(fromMs),
    to: toIso(toMs),
    markets,
    edges: [...edges],
    moments: offsets.flatMap((beforeEndMs, index) => countMoment(beforeEndMs, seen[index]) ?? []),
  }
}

/** The state of a window at each moment; undefined if no moment can be counted. */
function readWindow(
  history: Reads,
  market: Market,
  offsets: readonly number[],
): (Seen | undefined)[] | undefined {
  const { coin, source, strike } = market
  const winner = winnerOf(market)
  if (!hasWindow(market) || strike === undefined || winner === undefined) return undefined
  const { windowEndMs } = market
  const priceAt = (atMs: number): number | undefined => {
    const tick = findSpot(history, { coin, source, atMs })
    const isFresh = tick !== undefined && atMs - tick.timestampMs <= SPOT_AGE_MS_MAX
    return isFresh ? Number(tick.price) : undefined
  }
  const end = priceAt(windowEndMs)
  if (end === undefined) return undefined
  const found = offsets.map((beforeEndMs): Seen | undefined => {
    const price = priceAt(windowEndMs - beforeEndMs)
    return price === undefined ? undefined : { price, end, strike: Number(strike), winner }
  })
  return found.some((each) => each !== undefined) ? found : undefined
}

/** Undefined if the price never moved: distances need a deviation. */
function countMoment(
  beforeEndMs: number,
  windows: readonly Seen[] = [],
): CalibrationMoment | undefined {
  const squares = windows.reduce((sum, { price, end }) => sum + Math.log(end / price) ** 2, 0)
  const deviation = Number(Math.sqrt(squares / windows.length).toPrecision(DIGITS))
  if (!(deviation > 0)) return undefined
  const moment = {
    beforeEndMs,
    deviation,
    windows: Array.from({ length: edges.length + 1 }, () => 0),
    ups: Array.from({ length: edges.length + 1 }, () => 0),
  }
  for (const { price, strike, winner } of windows) {
    const distance = Math.log(price / strike) / deviation
    const index = edges.findLastIndex((edge) => distance >= edge) + 1
    moment.windows[index] = (moment.windows[index] ?? 0) + 1
    if (winner === 'up') moment.ups[index] = (moment.ups[index] ?? 0) + 1
  }
  return moment
}
