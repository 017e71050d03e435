import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { coverageHeader, coverageTexts } from '#src/http/coverage-header.ts'
import {
  answerData,
  answerLargeData,
  dataHeaderTexts,
  notModified,
} from '#src/http/data-response.ts'
import {
  CoinPath,
  type FindMarket,
  MarketPath,
  readCoin,
  readMarket,
} from '#src/http/market-path.ts'
import { jsonContent, openApiParameters, problemResponses } from '#src/http/openapi-operation.ts'
import { parseQuery } from '#src/http/query.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'
import type { Work } from '#src/http/work.ts'

import { writeMarketCoverage } from './market-coverage.ts'
import {
  CoinCoverageList,
  CoinCoverageQuery,
  MarketCoverageBody,
  MarketCoverageQuery,
} from './model.ts'
import type { CoverageService } from './service.ts'

type Deps = { guard: AccessPlugin; service: CoverageService; findMarket: FindMarket; work: Work }

const marketDetail = {
  tags: ['markets'],
  operationId: 'getMarketCoverage',
  summary: 'What is recorded of a market',
  description:
    'Per outcome when it is recorded and when it is not, and why. A book is in force from its snapshot to the next; where the next one is more than `silenceMs` later, the time between, from the millisecond behind the snapshot, counts as a gap, because it is not known whether nothing happened or nothing was seen. Recordings often begin before the window: then so does the market.',
  parameters: [...openApiParameters(MarketPath, 'path'), ...openApiParameters(MarketCoverageQuery)],
  responses: {
    200: jsonContent('Its coverage.', MarketCoverageBody, { ...dataHeaderTexts, ...coverageTexts }),
    ...notModified(coverageTexts),
    ...problemResponses([
      ...accessCodes('markets'),
      'invalid_parameter',
      'invalid_request',
      'unknown_coin',
      'unknown_market',
      'internal',
    ]),
  },
}

const coinDetail = {
  tags: ['markets'],
  operationId: 'listCoverage',
  summary: 'What is recorded of a coin, by day',
  description:
    'One entry for each UTC day, also for one without any market. A market belongs to the day in which its window begins, and its coverage is that of its window. One whose window is not known belongs to the day of its first snapshot, where it counts as `window_unknown` and in no window. Days that are over are up to a minute old.',
  parameters: [...openApiParameters(CoinPath, 'path'), ...openApiParameters(CoinCoverageQuery)],
  responses: {
    200: jsonContent('Days.', CoinCoverageList, dataHeaderTexts),
    ...notModified(),
    ...problemResponses([
      ...accessCodes('markets'),
      'invalid_parameter',
      'invalid_request',
      'unknown_coin',
      'internal',
    ]),
  },
}

/** `GET /v1/{coin}/markets/{conditionId}/coverage` and `GET /v1/{coin}/coverage`: what is recorded, and what is missing. */
export const coverage = ({ guard, service, findMarket, work }: Deps) =>
  new Elysia({ name: 'coverage' })
    .use(guard)
    .get(
      '/v1/:coin/markets/:conditionId/coverage',
      synchronous(({ params, request }: Context) => {
        const market = readMarket(params, findMarket)
        const query = parseQuery(MarketCoverageQuery, searchOf(request.url))
        const question = service.questionOf(market, query)
        return answerData(request, {
          body: writeMarketCoverage(question),
          isClosed: market.isClosed,
          headers: coverageHeader(question),
        })
      }),
      // A copy: Elysia adds `security` to what it is given.
      { access: 'markets', detail: { ...marketDetail } },
    )
    .get(
      '/v1/:coin/coverage',
      ({ params, request }) => answerDays({ service, work, request }, params.coin),
      { access: 'markets', detail: { ...coinDetail } },
    )

type Context = { params: { coin: string; conditionId: string }; request: Request }

type DaysCall = { service: CoverageService; work: Work; request: Request }

async function answerDays({ service, work, request }: DaysCall, coin: string): Promise<Response> {
  const known = readCoin(coin)
  const query = parseQuery(CoinCoverageQuery, searchOf(request.url))
  const body = await work.run(request, service.listDays(known, query))
  return answerLargeData(request, { body, isClosed: false })
}
