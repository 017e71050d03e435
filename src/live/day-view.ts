/**
 * A recorded day as a live stream would have shown it at the time of a clock: of each market, only
 * the rows and facts that were recorded and known by then.
 */

import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import { type Market, statusOf } from '#src/domain/market.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { EventStream, MarketHistory, MarketQuery, RowQuery } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'

/** Rows become visible in steps of this length. */
const STEP_MS = 200
const BLOCK = 200
/** The longest window of such a day. */
const WINDOW_MS_MAX = 3_600_000

/** Supports reads only; `clock` must not run backwards. */
export function createDayView(history: MarketHistory, clock: Clock): MarketHistory {
  const nowMs = () => Math.floor(clock() / STEP_MS) * STEP_MS
  const upTo = <Query extends { toMs?: number | undefined }>(query: Query): Query => ({
    ...query,
    toMs: Math.min(query.toMs ?? Number.POSITIVE_INFINITY, nowMs() + 1),
  })
  const toView = (market: Market | undefined) => market && marketAt(market, nowMs())
  const gapsAt = createGapsAt(history, nowMs)
  return {
    ...history,
    findMarket: (conditionId) => toView(history.findMarket(conditionId)),
    findMarketBySlug: (slug) => toView(history.findMarketBySlug(slug)),
    findMarketByAsset: (assetId) => toView(history.findMarketByAsset(assetId)),
    listMarkets: (query) => listAt(history, query, nowMs()),
    gaps: gapsAt,
    ready: (ranges) => history.ready(Iterator.from(ranges).map(upTo)),
    page: (query) => history.page(upTo(query)),
    tops: (query) => history.tops(upTo(query)),
    changes: (query) => history.changes(upTo(query)),
    trades: (query) => history.trades(upTo(query)),
    spot: (query) => history.spot(upTo(query)),
    at: (query) => history.at({ ...query, timestampMs: Math.min(query.timestampMs, nowMs()) }),
    latest: (query) => history.at({ ...query, timestampMs: nowMs() }),
    lastPosition: (market) =>
      history.page(upTo<RowQuery>({ market, order: 'desc', limit: 1 })).last,
    events: () => cutEvents(history.events(), upTo),
  }
}

/** A market with only the facts that were known by then. */
function marketAt(market: Market, nowMs: number): Market {
  const { windowStartMs = 0, windowEndMs = Number.POSITIVE_INFINITY } = market
  const endMs = Math.max(windowEndMs, market.lastSnapshotMs ?? 0)
  const revision = market.revision + Math.max(0, Math.min(nowMs, endMs) - windowStartMs + DAY_MS)
  if (nowMs >= endMs) return { ...market, revision }
  const { winner: _, winnerSource, finalPrice, finalPriceSource, finalPriceMs, ...known } = market
  const { strike, strikeSource, strikeMs, ...rest } = known
  const seen = (span: { firstMs: number; lastMs: number } | undefined) =>
    span && span.firstMs <= nowMs ? { ...span, lastMs: Math.min(span.lastMs, nowMs) } : undefined
  const { up, down } = market.spans
  return {
    ...((strikeMs ?? windowStartMs) <= nowMs ? known : rest),
    revision,
    isClosed: false,
    spans: { up: seen(up), down: seen(down) },
    lastSnapshotMs: market.lastSnapshotMs && Math.min(market.lastSnapshotMs, nowMs),
  }
}

/** Filters by the status at that time, which differs from the stored one. */
function listAt(history: MarketHistory, query: MarketQuery, nowMs: number): Market[] {
  const { status, limit, ...asked } = query
  const openOnly = { fromMs: nowMs - WINDOW_MS_MAX, toMs: nowMs + 1 }
  const range = { ...asked, ...(status === 'open' ? openOnly : {}) }
  const found: Market[] = []
  for (const page of marketPages(history, { ...range, winner: undefined, limit: BLOCK })) {
    for (const market of page) {
      const seen = marketAt(market, nowMs)
      if (status !== undefined && statusOf(seen, nowMs) !== status) continue
      if (query.winner !== undefined && seen.winner !== query.winner) continue
      if (found.push(seen) === limit) return found
    }
  }
  return found
}

/** Returns the same list until it changes. A gap that has not ended has no end yet. */
function createGapsAt(history: MarketHistory, nowMs: Clock) {
  const lists = new Map<string, { key: string; gaps: readonly Gap[] }>()
  return (market: Market): readonly Gap[] => {
    const now = nowMs()
    const gaps = history
      .gaps(market)
      .filter(({ fromMs }) => fromMs <= now)
      .map((gap) => (gap.toMs > now ? { ...gap, toMs: ENDLESS_MS } : gap))
    const key = gaps.map(({ fromMs, toMs }) => `${fromMs} ${toMs}`).join()
    const known = lists.get(market.conditionId)
    if (known?.key === key) return known.gaps
    lists.set(market.conditionId, { key, gaps })
    return gaps
  }
}

const cutEvents = (
  stream: EventStream,
  upTo: <Query extends { toMs?: number | undefined }>(query: Query) => Query,
): EventStream => ({
  event: stream.event,
  rows: (query, before) => stream.rows(upTo(query), before),
  get step() {
    return stream.step
  },
  sum: stream.sum,
  fork: (sum) => cutEvents(stream.fork(sum), upTo),
  end: stream.end,
})
