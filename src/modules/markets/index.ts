import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
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

import { ListQuery, MarketBody, MarketList } from './model.ts'
import type { MarketService } from './service.ts'

type Deps = { guard: AccessPlugin; service: MarketService; findMarket: FindMarket; work: Work }

const resumeCursor = {
  'X-Resume-Cursor': textHeader(
    'The place behind the last market, also when `nextCursor` is null: with `order=asc` the markets to come follow on it. Absent with `slug`.',
  ),
}

const listDetail = {
  tags: ['markets'],
  operationId: 'listMarkets',
  summary: 'Markets of a coin',
  description:
    'Newest window first. A market whose window is unknown stands at its first snapshot, which `from` and `to` then mean. With `status`, a market that changes its own during a walk may be left out of it.',
  parameters: [...openApiParameters(CoinPath, 'path'), ...openApiParameters(ListQuery)],
  responses: {
    200: jsonContent('A page of markets.', MarketList, { ...dataHeaderTexts, ...resumeCursor }),
    ...notModified(resumeCursor),
    ...problemResponses([
      ...accessCodes('markets'),
      'invalid_parameter',
      'cursor_invalid',
      'cursor_mismatch',
      'invalid_request',
      'unknown_coin',
      'internal',
    ]),
  },
}

const marketDetail = {
  tags: ['markets'],
  operationId: 'getMarket',
  summary: 'One market',
  description:
    'What is known of a market, how much is held of it, and how complete that is. GET /v1/{coin}/markets?slug= finds one by the name that the venue gives it.',
  parameters: openApiParameters(MarketPath, 'path'),
  responses: {
    200: jsonContent('The market.', MarketBody, dataHeaderTexts),
    ...notModified(),
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

/** `GET /v1/{coin}/markets` lists markets, `GET /v1/{coin}/markets/{conditionId}` shows one. */
export const markets = ({ guard, service, findMarket, work }: Deps) =>
  new Elysia({ name: 'markets' })
    .use(guard)
    .get(
      '/v1/:coin/markets',
      ({ params, request }) => answerList({ service, work, request }, params.coin),
      // A copy: Elysia adds `security` to what it is given.
      { access: 'markets', detail: { ...listDetail } },
    )
    .get(
      '/v1/:coin/markets/:conditionId',
      synchronous(({ params, request }: Context) => {
        const market = readMarket(params, findMarket)
        parseQuery(NoQuery, searchOf(request.url))
        // What no clock and no recorder changes any more.
        return answerData(request, { body: service.text(market), isClosed: market.isClosed })
      }),
      { access: 'markets', detail: { ...marketDetail } },
    )

type Context = { params: { coin: string; conditionId: string }; request: Request }

type ListCall = { service: MarketService; work: Work; request: Request }

async function answerList({ service, work, request }: ListCall, coin: string): Promise<Response> {
  const known = readCoin(coin)
  const query = parseQuery(ListQuery, searchOf(request.url))
  const page = await work.run(request, service.list(known, query))
  const headers: Record<string, string> = {}
  if (page.resumeCursor !== undefined) headers['X-Resume-Cursor'] = page.resumeCursor
  return answerLargeData(request, { body: page.body, isClosed: false, headers })
}
