/** Which markets a page of a panel has. */
import { hasWindow } from '#src/core/coverage.ts'
import { type MarketPlace, startOfMarkets } from '#src/core/cursor.ts'
import { type Coin, type Market, type Timeframe, timeframeMs } from '#src/core/market.ts'
import { missingWindows } from '#src/core/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import type { Steps } from '#src/lib/scheduler.ts'

/** A market whose window is known and over. */
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

export type MarketRange = {
  coin: Coin
  timeframe: Timeframe
  fromMs: number | undefined
  toMs: number | undefined
  after: MarketPlace | undefined
  limit: number
}

/** Markets that are read in one step. */
const BLOCK = 50

/**
 * Reads markets, windows ascending, until the page is full; those
 * that are not over are passed over.
 */
export function* selectMarkets(
  history: Pick<MarketHistory, 'listMarkets'>,
  { limit, ...range }: MarketRange,
  nowMs: number,
): Steps<Selection> {
  const toMs = Math.min(range.toMs ?? nowMs, nowMs)
  const markets: ClosedMarket[] = []
  const startsMs: number[] = []
  const isBounded = range.toMs !== undefined && range.toMs <= nowMs
  const skipped: Market[] = []
  let skippedBefore = 0
  const query = { ...range, toMs, order: 'asc', limit: BLOCK } as const
  for (const listed of marketPages(history, query)) {
    startsMs.push(...listed.flatMap(startOf))
    for (const market of listed) {
      if (isOver(market, nowMs)) {
        if (markets.length === limit) {
          const isFinal = skipped.length === 0 && areFinal(markets)
          // What follows the last market is of the next page.
          const unknown = countUnknown(skipped.slice(0, skippedBefore))
          return { markets, hasMore: true, isFinal, startsMs, unknown }
        }
        markets.push(market)
        skippedBefore = skipped.length
      } else skipped.push(market)
    }
    yield
  }
  const isFinal = isBounded && skipped.length === 0 && areFinal(markets)
  return { markets, hasMore: false, isFinal, startsMs, unknown: countUnknown(skipped) }
}

/**
 * Counts the windows in the range of a page that are over and that it has no market of. The range
 * begins at `from`, after the cursor or with the first market; it ends with the last market, but on
 * the last page at `to` if there is one. So the ranges of the pages of a walk tile.
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

const countUnknown = (markets: readonly Market[]): number =>
  markets.filter((market) => !hasWindow(market) && market.firstSnapshotMs !== undefined).length

const areFinal = (markets: readonly Market[]): boolean =>
  markets.every(({ isClosed, winner }) => isClosed && winner !== undefined)

const startOf = (market: Market): number[] => (hasWindow(market) ? [market.windowStartMs] : [])

const isOver = (market: Market, nowMs: number): market is ClosedMarket =>
  hasWindow(market) && market.windowEndMs <= nowMs
