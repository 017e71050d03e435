import { hasWindow, type WindowedMarket } from '#src/domain/coverage.ts'
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

export type Selection = {
  markets: WindowedMarket[]
  hasMore: boolean
  /** True if only a backfill can add markets to the page or change them. */
  isFinal: boolean
  /** Starts of the known windows in the range, expired or not, ascending. */
  startsMs: number[]
  /** Markets in the range of the page that have snapshots but no known window. */
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

/** Selects expired markets by start of window until the page is full. */
export function selectMarkets(
  history: MarketLists,
  { limit, ...range }: MarketRange,
  nowMs: number,
): Selection {
  const isOver = (market: Market): market is WindowedMarket =>
    hasWindow(market) && market.windowEndMs <= nowMs
  const toMs = Math.min(range.toMs ?? nowMs, nowMs)
  const seen: Market[] = []
  let count = 0
  for (const listed of marketPages(history, { ...range, toMs, order: 'asc', limit: BLOCK })) {
    seen.push(...listed)
    count += listed.filter(isOver).length
    if (count > limit) break
  }
  const over = seen.filter(isOver)
  const markets = over.slice(0, limit)
  const last = markets.at(-1)
  const next = over[limit]
  const isEnded = next !== undefined || (range.toMs !== undefined && range.toMs <= nowMs)
  const isFinal = isEnded && upTo(seen, next).every((each) => isOver(each) && isLasting(each))
  const startsMs = seen.flatMap((market) => (hasWindow(market) ? market.windowStartMs : []))
  // Markets after the last one belong to the next page.
  const unknown = upTo(seen, next && last).filter(
    (market) => !hasWindow(market) && market.firstSnapshotMs !== undefined,
  ).length
  return { markets, hasMore: next !== undefined, isFinal, startsMs, unknown }
}

/** Markets of a list up to `end`; all if `end` is not in the list. */
const upTo = (markets: readonly Market[], end: Market | undefined): readonly Market[] =>
  end === undefined ? markets : markets.slice(0, markets.indexOf(end))

const isLasting = ({ isClosed, winner }: Market): boolean => isClosed && winner !== undefined

/**
 * Counts expired windows of the page that are not recorded: from `from`, the cursor or the first
 * market to the last market, or to `to` on the last page. The ranges of consecutive pages meet
 * without overlap.
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
  // A window that has not expired is not in the panel.
  const toMs = Math.min(endMs, nowMs - timeframeMs[timeframe]) + 1
  const missing = missingWindows(heldMs, { timeframe, fromMs, toMs, nowMs })
  return missing.reduce((sum, { windows }) => sum + windows, 0)
}
