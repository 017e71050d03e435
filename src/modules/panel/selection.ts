/** Which markets a page of a panel has. */
import type { MarketPlace } from '#src/core/market-cursor.ts'
import type { Coin, Market, Timeframe } from '#src/core/market.ts'
import type { HistoryStore } from '#src/store/history.ts'

/** A market whose window is known and over. */
export type ClosedMarket = Market & { windowStartMs: number; windowEndMs: number }

export type Selection = {
  markets: ClosedMarket[]
  hasMore: boolean
  /** True when nothing but a backfill can add markets to the page or change them. */
  isFinal: boolean
}

export type MarketRange = {
  coin: Coin
  timeframe: Timeframe
  fromMs: number | undefined
  toMs: number | undefined
  after: MarketPlace | undefined
  limit: number
}

/** Reads markets, windows ascending, until the page is full; those that are not over are passed over. */
export function selectMarkets(
  history: Pick<HistoryStore, 'listMarkets'>,
  { limit, ...range }: MarketRange,
  nowMs: number,
): Selection {
  const toMs = Math.min(range.toMs ?? nowMs, nowMs)
  const markets: ClosedMarket[] = []
  const isBounded = range.toMs !== undefined && range.toMs <= nowMs
  let isComplete = true
  let { after } = range
  let isMore = true
  while (isMore) {
    // One more than asked tells whether a next page exists.
    const listed = history.listMarkets({ ...range, toMs, after, order: 'asc', limit: limit + 1 })
    for (const market of listed) {
      if (isOver(market, nowMs)) {
        if (markets.length === limit) {
          return { markets, hasMore: true, isFinal: isComplete && areFinal(markets) }
        }
        markets.push(market)
      } else isComplete = false
    }
    isMore = listed.length > limit
    after = listed.at(-1)
  }
  return { markets, hasMore: false, isFinal: isBounded && isComplete && areFinal(markets) }
}

const areFinal = (markets: readonly Market[]): boolean =>
  markets.every(({ isClosed, winner }) => isClosed && winner !== undefined)

const isOver = (market: Market, nowMs: number): market is ClosedMarket =>
  market.windowStartMs !== undefined &&
  market.windowEndMs !== undefined &&
  market.windowEndMs <= nowMs
