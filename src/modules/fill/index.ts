import { Elysia } from 'elysia'

import type { Market } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { HistoryStore } from '#src/history/history.ts'
import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { coverageHeader, coverageTexts } from '#src/http/coverage-header.ts'
import { answerData, dataHeaderTexts, notModified } from '#src/http/data-response.ts'
import { type FindMarket, MarketPath, readMarket } from '#src/http/market-path.ts'
import { jsonContent, openApiParameters, problemResponses } from '#src/http/openapi-operation.ts'
import { parseQuery } from '#src/http/query.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'

import { FillBody, FillQuery } from './model.ts'
import type { FillService } from './service.ts'

type Deps = {
  guard: AccessPlugin
  service: FillService
  findMarket: FindMarket
  gapsOf: HistoryStore['gaps']
  clock: Clock
}

const detail = {
  tags: ['snapshots'],
  operationId: 'getFill',
  summary: 'What an order would have filled at a moment',
  description:
    'Walks the ladder in force at `ts` (at or before, never after) with a market order, or one that is limited by `limitPrice`. Arithmetic is exact; an amount of money is rounded once, when it is printed. Nothing of the queue, of latency or of the order’s own effect on the market is modelled.',
  parameters: [...openApiParameters(MarketPath, 'path'), ...openApiParameters(FillQuery)],
  responses: {
    200: jsonContent('The fill.', FillBody, { ...dataHeaderTexts, ...coverageTexts }),
    ...notModified(coverageTexts),
    ...problemResponses([
      ...accessCodes('snapshots'),
      'invalid_parameter',
      'invalid_request',
      'unknown_coin',
      'unknown_market',
      'no_snapshot',
      'stale',
      'internal',
    ]),
  },
}

/** `GET /v1/{coin}/markets/{conditionId}/fill`: what an order would have filled. */
export const fill = ({ guard, service, findMarket, gapsOf, clock }: Deps) => {
  function answer(market: Market, request: Request): Response {
    const query = parseQuery(FillQuery, searchOf(request.url))
    const { body, tsMs, outcome } = service.fill(market, query)
    const span = { fromMs: tsMs, toMs: tsMs + 1, nowMs: clock() }
    const headers = coverageHeader({ market, gaps: gapsOf(market), outcome, ...span })
    return answerData(request, { body, isClosed: market.isClosed, headers })
  }

  return new Elysia({ name: 'fill' }).use(guard).get(
    '/v1/:coin/markets/:conditionId/fill',
    synchronous(({ params, request }: Context) => answer(readMarket(params, findMarket), request)),
    // A copy: Elysia adds `security` to what it is given.
    { access: 'snapshots', detail: { ...detail } },
  )
}

type Context = { params: { coin: string; conditionId: string }; request: Request }
