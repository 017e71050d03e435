import { hasWindow } from '#src/domain/coverage.ts'
import { type MarketPosition, startOfMarkets } from '#src/domain/cursor.ts'
import {
  type Coin,
  type Market,
  type Source,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import { missingWindows } from '#src/domain/windows.ts'
import { type MarketLists, marketPages } from '#src/history/reads/market-pages.ts'
import type { Steps } from '#src/platform/scheduler.ts'

export type ClosedMarket = Market & { windowStartMs: number; windowEndMs: number }

export type Selection = {
  markets: ClosedMarket[]
  hasMore: boolean
  /** True when nothing but a backfill can add markets to the page or change them. */
  isFinal: boolean
  /** Starts of the known windows that were looked at, over or not, ascending. */
  startsMs: number[]
  /** Markets in the range of the page of which books are held and whose window is not known. */
  unknown: number
}

type MarketRange = {
  coin: Coin
  timeframe: Timeframe
  source?: Source | undefined
  fromMs: number | undefined
  toMs: number | undefined
  after: MarketPosition | undefined
  limit: number
}

const BLOCK = 50

/** Reads markets, windows ascending, until the page is full; those not over are passed over. */
export function* selectMarkets(
  history: MarketLists,
  { limit, ...range }: MarketRange,
  nowMs: number,
): Steps<Selection> {
  const isOver = (market: Market): market is ClosedMarket =>
    hasWindow(market) && market.windowEndMs <= nowMs
  const toMs = Math.min(range.toMs ?? nowMs, nowMs)
  const seen: Market[] = []
  let count = 0
  for (const listed of marketPages(history, { ...range, toMs, order: 'asc', limit: BLOCK })) {
    seen.push(...listed)
    count += listed.filter(isOver).length
    if (count > limit) break
    yield
  }
  const over = seen.filter(isOver)
  const markets = over.slice(0, limit)
  const last = markets.at(-1)
  const next = over[limit]
  const isEnded = next !== undefined || (range.toMs !== undefined && range.toMs <= nowMs)
  const isFinal = isEnded && upTo(seen, next).every((each) => isOver(each) && isLasting(each))
  const startsMs = seen.flatMap((market) => (hasWindow(market) ? market.windowStartMs : []))
  // What follows the last market is of the next page.
  const unknown = upTo(seen, next && last).filter(
    (market) => !hasWindow(market) && market.firstSnapshotMs !== undefined,
  ).length
  return { markets, hasMore: next !== undefined, isFinal, startsMs, unknown }
}

/** What precedes a market in a list; all where there is no such market. */
const upTo = (markets: readonly Market[], end: Market | undefined): readonly Market[] =>
  end === undefined ? markets : markets.slice(0, markets.indexOf(end))

const isLasting = ({ isClosed, winner }: Market): boolean => isClosed && winner !== undefined

/**
 * Counts windows of the page that are over and not held, from `from`, the cursor or the first
 * market to the last market, or `to` on the last page: the ranges of a walk's pages tile.
 */
export function countMissing(
  { markets, hasMore, startsMs }: Selection,
  range: MarketRange,
  nowMs: number,
): number {
  const { timeframe, after } = range
  const isBehind =
    after !== undefined && after.conditionId !== startOfMarkets({ order: 'asc' }).conditionId
  const heldMs = isBehind ? [after.orderMs, ...startsMs] : startsMs
  const fromMs = isBehind ? after.orderMs + 1 : (range.fromMs ?? markets[0]?.windowStartMs)
  const lastMs = markets.at(-1)?.windowStartMs
  const endMs = hasMore || range.toMs === undefined ? lastMs : range.toMs - 1
  if (fromMs === undefined || endMs === undefined) return 0
  // A window that is not over is in no panel.
  const toMs = Math.min(endMs, nowMs - timeframeMs[timeframe]) + 1
  const missing = missingWindows(heldMs, { timeframe, fromMs, toMs, nowMs })
  return missing.reduce((sum, { windows }) => sum + windows, 0)
}
