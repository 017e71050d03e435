import { Elysia } from 'elysia'

import type { CursorCodec } from '#src/core/cursor.ts'
import type { Clock } from '#src/core/time.ts'
import type { HistoryStore } from '#src/history/history.ts'
import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { answerLargeData, dataHeaderTexts, notModified } from '#src/http/data-response.ts'
import { CoinPath, readCoin, readMarket } from '#src/http/market-path.ts'
import { jsonContent, openApiParameters, problemResponses } from '#src/http/openapi-operation.ts'
import type { PageShelf } from '#src/http/page-shelf.ts'
import { parseQuery } from '#src/http/query.ts'
import { createSeries, seriesDetail } from '#src/http/series.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'
import type { Work } from '#src/http/work.ts'

import { NowList, NowQuery, PriceList, PriceQuery } from './model.ts'
import { pricesNow } from './now.ts'
import { createPrices } from './service.ts'

type Deps = {
  guard: AccessPlugin
  history: HistoryStore
  cursors: CursorCodec
  clock: Clock
  pages: PageShelf
  work: Work
}

const nowDetail = {
  tags: ['prices'],
  operationId: 'listCurrentPrices',
  summary: 'Prices now',
  description:
    'Every market of the coin that is open now, with the last state of both outcomes and the last trade. A market whose window is over is not there; a market whose window is unknown is, until its history is closed. Send the `ETag` as `If-None-Match`: as long as no state or trade has come and no market has opened or closed, the answer is a 304.',
  parameters: [...openApiParameters(CoinPath, 'path'), ...openApiParameters(NowQuery)],
  responses: {
    200: jsonContent('The open markets.', NowList, dataHeaderTexts),
    ...notModified(),
    ...problemResponses([
      ...accessCodes('prices'),
      'invalid_parameter',
      'invalid_request',
      'unknown_coin',
      'internal',
    ]),
  },
}

const detail = seriesDetail('prices', {
  operationId: 'listPrices',
  summary: 'Prices of a market over time',
  description:
    'Without `interval` a row wherever the mid or the last trade changed as of a state; the first state of each outcome in the range always is one. With `interval` bars: open, high, low and close of the mid, of the states that lie both in the range and in the step; a step without a state has no bar. `from` and `to` need not be multiples of the interval: a bar that they cut is made of the states inside, and `covered` is below 1. While a market is open its last bars may still grow: `X-Resume-Cursor` stands in front of them, and a follower is given them again.',
  parameters: PriceQuery,
  list: PriceList,
  page: 'A page of prices.',
  resume:
    'The place to go on from later, also when `nextCursor` is null: behind the last state looked at, or in front of the first bar that may still grow.',
})

type Context = { params: { coin: string; conditionId: string }; request: Request }

/** `GET /v1/{coin}/prices`: now; `GET /v1/{coin}/markets/{conditionId}/prices`: of a market over time. */
export function prices({ guard, ...deps }: Deps) {
  const { history, clock, work } = deps
  const { findMarket } = history
  const answer = createSeries({
    name: 'prices',
    parameters: PriceQuery,
    read: createPrices(history),
    ...deps,
  })
  return new Elysia({ name: 'prices' })
    .use(guard)
    .get(
      '/v1/:coin/prices',
      async ({ params, request }) => {
        const coin = readCoin(params.coin)
        const { timeframe } = parseQuery(NowQuery, searchOf(request.url))
        const steps = pricesNow(history, { coin, timeframe, nowMs: clock() })
        return answerLargeData(request, { body: await work.run(request, steps), isClosed: false })
      },
      { access: 'prices', detail: { ...nowDetail } },
    )
    .get(
      '/v1/:coin/markets/:conditionId/prices',
      synchronous(({ params, request }: Context) =>
        answer(readMarket(params, findMarket), request),
      ),
      // Copies: Elysia adds `security` to what it is given.
      { access: 'prices', detail: { ...detail } },
    )
}
