import { Elysia } from 'elysia'

import type { Coin, Market } from '#src/core/market.ts'
import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { bodyCodes, openApiBody, readBody } from '#src/http/body.ts'
import { coverageTexts } from '#src/http/coverage-header.ts'
import { answerData, answerUnkept, dataHeaderTexts, notModified } from '#src/http/data-response.ts'
import {
  CoinPath,
  type FindMarket,
  MarketPath,
  readCoin,
  readMarket,
} from '#src/http/market-path.ts'
import {
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'
import type { Work } from '#src/http/work.ts'

import { AsOfBody, AsOfQuery, BatchAnswer, BatchBody } from './model.ts'
import type { AsOfService } from './service.ts'

type Deps = { guard: AccessPlugin; service: AsOfService; findMarket: FindMarket; work: Work }

const detail = {
  tags: ['snapshots'],
  operationId: 'getSnapshotsAt',
  summary: 'The book in force at a moment',
  description:
    'The last snapshot of each outcome at or before `ts`, to the millisecond and never after it, with its age; in a gap or behind the close that is the last one before, and `X-Coverage` says so. An outcome that has none by then, or none that `maxAgeMs` allows, is left out; if that leaves nothing, 404 says why.',
  parameters: [...openApiParameters(MarketPath, 'path'), ...openApiParameters(AsOfQuery)],
  responses: {
    200: jsonContent('What was in force.', AsOfBody, { ...dataHeaderTexts, ...coverageTexts }),
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

const batchDetail = {
  tags: ['snapshots'],
  operationId: 'listSnapshotsAt',
  summary: 'Books in force at up to 500 moments',
  description:
    'Each entry is answered by itself, in the order of the request, as `GET …/snapshots/at` would: one that has no answer says why and fails no other. All together are one request of the allowance. A malformed entry is refused with its place, and nothing is answered.',
  parameters: openApiParameters(CoinPath, 'path'),
  requestBody: openApiBody(BatchBody),
  responses: {
    200: jsonContent('An answer for each entry.', BatchAnswer, {
      'Cache-Control': textHeader('`no-store`.'),
      Vary: textHeader('`Accept-Encoding`.'),
      'Content-Encoding': textHeader('`gzip` where `Accept-Encoding` has it; else absent.'),
      ...coverageTexts,
    }),
    ...problemResponses([...accessCodes('snapshots'), ...bodyCodes, 'unknown_coin', 'internal']),
  },
}

/**
 * `GET /v1/{coin}/markets/{conditionId}/snapshots/at` shows a moment of a market,
 * `POST /v1/{coin}/snapshots/at` many moments of many markets.
 */
export const asOf = ({ guard, service, findMarket, work }: Deps) =>
  new Elysia({ name: 'as-of' })
    .use(guard)
    // The details are copied because Elysia adds `security` to what it is given.
    .get(
      '/v1/:coin/markets/:conditionId/snapshots/at',
      synchronous(({ params, request }: Context) =>
        answer({ service, market: readMarket(params, findMarket), request }),
      ),
      { access: 'snapshots', detail: { ...detail } },
    )
    .post(
      '/v1/:coin/snapshots/at',
      ({ params, request }) => answerBatch({ service, work, request }, readCoin(params.coin)),
      // The body is read by `readBody`, which Elysia must leave something to read.
      { access: 'snapshots', parse: 'none', detail: { ...batchDetail } },
    )

type Context = { params: { coin: string; conditionId: string }; request: Request }
type Call = { service: AsOfService; market: Market; request: Request }

function answer({ service, market, request }: Call): Response {
  const query = parseQuery(AsOfQuery, searchOf(request.url))
  return answerData(request, { ...service.at(market, query), isClosed: market.isClosed })
}

type BatchCall = { service: AsOfService; work: Work; request: Request }

async function answerBatch({ service, work, request }: BatchCall, coin: Coin): Promise<Response> {
  parseQuery(NoQuery, searchOf(request.url))
  const body = await readBody(BatchBody, request)
  return answerUnkept(request, await work.run(request, service.batch(coin, body)))
}
