import { Elysia } from 'elysia'

import { exactMillionths, exactNumber } from '#src/domain/decimal.ts'
import { priceList, type SeriesFilters } from '#src/domain/lists.ts'
import {
  type Coin,
  type Market,
  type Outcome,
  outcomes,
  type Timeframe,
} from '#src/domain/market.ts'
import { formatMid } from '#src/domain/quote.ts'
import { stepMsOf } from '#src/domain/series.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory, RowQuery } from '#src/history/history.ts'
import { marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { describeSpot } from '#src/history/reads/spot-read.ts'
import { untilReady } from '#src/history/reads/until-ready.ts'
import type { Api } from '#src/http/api.ts'
import { createHistoryList, type HistoryListDeps, seriesPage } from '#src/http/history-list.ts'
import { tableQuery } from '#src/http/table.ts'

import { readPrices } from './over-time.ts'
import { NowList, NowQuery, PriceList, PriceQuery } from './schema.ts'

const BLOCK = 200

export const priceRoutes = (api: Api, deps: HistoryListDeps) => [
  currentRoute(api, deps),
  historyRoute(api, deps),
]

export const prices = createHistoryList({
  list: priceList,
  query: PriceQuery,
  toFilters: ({ interval }: PriceQuery, shared): SeriesFilters => ({ ...shared, interval }),
  async read(history, { market, range, filters }) {
    const request = { market, range, stepMs: stepMsOf(filters.interval) }
    return seriesPage(await untilReady(() => readPrices(history, request)))
  },
  readsGaps: ({ interval }) => interval !== undefined,
  table: PriceList,
})

const historyRoute = (api: Api, deps: HistoryListDeps) =>
  new Elysia({ name: 'prices' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/prices',
      ({ reply, request, market, query }) =>
        reply(request, prices.page(deps, { request, market, query })),
      {
        access: 'prices',
        market: true,
        query: tableQuery(PriceQuery),
        isCovered: true,
        caching: 'page',
        response: { 200: PriceList },
        answers: {
          description: 'A page of prices.',
          resume:
            'Cursor to resume from later, even if `nextCursor` is null: after the last state that was read, or before the first bar that may still change.',
        },
        detail: {
          operationId: 'listPrices',
          summary: 'List prices of a market',
          description:
            'Without `interval`: one row for each state in which the mid or the last trade changed, beginning with the first state of each outcome in the range. With `interval`: bars with open, high, low and close of the mid, over states that are both in the range and in the step; a step without a state has no bar. `from` and `to` need not be multiples of the interval: a bar at the edge uses the states inside the range only, and its `covered` is below 1. The last bars of an open market may still change: `X-Resume-Cursor` lies before them, so they are returned again.',
          tags: ['prices'],
        },
      },
    )

const currentRoute = (api: Api, deps: Pick<HistoryListDeps, 'history' | 'clock'>) =>
  new Elysia({ name: 'current-prices' })
    .use(api)
    .get(
      '/v1/:coin/prices',
      ({ reply, request, coin, query: { timeframe } }) =>
        reply(request, pricesNow(deps.history, { coin, timeframe, nowMs: deps.clock() })),
      {
        access: 'prices',
        coin: true,
        query: NowQuery,
        caching: 'digest',
        response: { 200: NowList },
        answers: { description: 'Open markets.' },
        detail: {
          operationId: 'listCurrentPrices',
          summary: 'Prices now',
          description:
            'All open markets of the coin, with the last state of both outcomes and the last trade. A market whose window has ended is left out; a market with an unknown window is listed until its history is closed. Send the `ETag` as `If-None-Match` to get a 304 until a state or trade is recorded, or a market opens or closes.',
          tags: ['prices'],
        },
      },
    )

async function pricesNow(
  history: MarketHistory,
  question: { coin: Coin; timeframe?: Timeframe | undefined; nowMs: number },
): Promise<{ body: string }> {
  const data: ReturnType<typeof toBody>[] = []
  const source = readSource(history, question.coin, undefined)
  const query = { ...question, source, status: 'open', limit: BLOCK } as const
  for (const page of marketPages(history, query)) {
    const lasts = page.flatMap((market) =>
      outcomes.map((outcome) => lastRange({ market, outcome, nowMs: question.nowMs })),
    )
    await history.ready(lasts.map((last) => ({ ...last, withTops: true })))
    for (const market of page) data.push(toBody(history, market, question.nowMs))
  }
  const spot = describeSpot(history, { coin: question.coin, atMs: question.nowMs })
  return { body: JSON.stringify({ data, nextCursor: null, spot }) }
}

function toBody(history: MarketHistory, market: Market, nowMs: number) {
  const { conditionId, timeframe, source, slug, windowStartMs, windowEndMs } = market
  const [trade] = history.trades({ market, last: 1 })
  return {
    conditionId,
    timeframe,
    source,
    slug: slug ?? null,
    windowStart: toIsoOrNull(windowStartMs),
    windowEnd: toIsoOrNull(windowEndMs),
    up: toPrice(history, { market, outcome: 'up', nowMs }),
    down: toPrice(history, { market, outcome: 'down', nowMs }),
    lastTrade: trade === undefined ? null : describeTrade(trade),
  }
}

const describeTrade = ({ price, outcome, timestampMs }: Trade) => ({
  price: exactMillionths(price),
  outcome: outcome ?? null,
  timestamp: toIso(timestampMs),
})

type Book = { market: Market; outcome: Outcome; nowMs: number }

const lastRange = ({ market, outcome, nowMs }: Book): RowQuery => ({
  market,
  outcome,
  toMs: nowMs + 1,
  order: 'desc',
  limit: 1,
})

function toPrice(history: MarketHistory, book: Book) {
  const [top] = history.tops(lastRange(book))
  if (top === undefined) return null
  const { bidPrice, bidSize, askPrice, askSize, timestampMs } = top
  const hasBid = bidSize > 0
  const hasAsk = askSize > 0
  return {
    bid: hasBid ? exactMillionths(bidPrice) : null,
    ask: hasAsk ? exactMillionths(askPrice) : null,
    mid: hasBid && hasAsk ? exactNumber(formatMid(bidPrice, askPrice)) : null,
    timestamp: toIso(timestampMs),
  }
}
