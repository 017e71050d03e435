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
import type { Api } from '#src/http/api.ts'
import { createHistoryList, type HistoryListDeps, seriesPage } from '#src/http/history-list.ts'
import { createTable, tableQuery } from '#src/http/table.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { readPrices } from './over-time.ts'
import { NowList, NowQuery, PriceList, PriceQuery } from './schema.ts'

const BLOCK = 200

export const priceRoutes = (api: Api, deps: HistoryListDeps) => [
  currentRoute(api, deps),
  historyRoute(api, deps),
]

const asTable = createTable(PriceList)

function historyRoute(api: Api, deps: HistoryListDeps) {
  const prices = createHistoryList(
    {
      list: priceList,
      toFilters: ({ interval }: PriceQuery, shared): SeriesFilters => ({ ...shared, interval }),
      *read({ market, range, filters }) {
        const stepMs = stepMsOf(filters.interval)
        return seriesPage(yield* readPrices(deps.history, { market, range, stepMs }))
      },
      readsGaps: ({ interval }) => interval !== undefined,
    },
    deps,
  )
  return new Elysia({ name: 'prices' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/prices',
      ({ reply, request, market, query }) =>
        reply.page(request, asTable({ request, query }, prices.page({ request, market, query }))),
      {
        access: 'prices',
        market: true,
        query: tableQuery(PriceQuery),
        isTable: true,
        isCovered: true,
        caching: 'page',
        response: { 200: PriceList },
        answers: {
          description: 'A page of prices.',
          resume:
            'The place to resume from later, also when `nextCursor` is null: after the last state looked at, or before the first bar that may still grow.',
        },
        detail: {
          operationId: 'listPrices',
          summary: 'Prices of a market over time',
          description:
            'Without `interval` one row for each state at which the mid or the last trade changed; the first state of each outcome in the range is always there. With `interval` bars: open, high, low and close of the mid over the states that lie both in the range and in the step; a step without a state has no bar. `from` and `to` need not be multiples of the interval: a bar that they cut is made of the states inside the range, and its `covered` is below 1. While a market is open its last bars may still grow: `X-Resume-Cursor` lies before them, so they are returned again.',
          tags: ['prices'],
        },
      },
    )
}

const currentRoute = (api: Api, deps: Pick<HistoryListDeps, 'history' | 'served'>) =>
  new Elysia({ name: 'current-prices' })
    .use(api)
    .get(
      '/v1/:coin/prices',
      ({ reply, request, coin, query: { timeframe } }) =>
        reply.data(
          request,
          pricesNow(deps.history, { coin, timeframe, nowMs: deps.served().nowMs }),
        ),
      {
        access: 'prices',
        coin: true,
        query: NowQuery,
        caching: 'digest',
        response: { 200: NowList },
        answers: { description: 'The open markets.' },
        detail: {
          operationId: 'listCurrentPrices',
          summary: 'Prices now',
          description:
            'Every market of the coin that is open now, with the last state of both outcomes and the last trade. A market whose window is over is not there; a market whose window is unknown is, until its history is closed. Send the `ETag` as `If-None-Match`: as long as no state or trade has come and no market has opened or closed, the answer is a 304.',
          tags: ['prices'],
        },
      },
    )

function* pricesNow(
  history: MarketHistory,
  question: { coin: Coin; timeframe?: Timeframe | undefined; nowMs: number },
): Steps<{ body: string }> {
  const data: ReturnType<typeof toBody>[] = []
  const source = readSource(history, question.coin, undefined)
  const query = { ...question, source, status: 'open', limit: BLOCK } as const
  for (const page of marketPages(history, query)) {
    const lasts = page.flatMap((market) =>
      outcomes.map((outcome) => lastRange({ market, outcome, nowMs: question.nowMs })),
    )
    yield history.ready(lasts.map((last) => ({ ...last, withTops: true })))
    for (const market of page) {
      data.push(toBody(history, market, question.nowMs))
      yield
    }
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
