import { Elysia } from 'elysia'

import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { jsonResponse } from '#src/http/json.ts'
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
import { searchOf } from '#src/http/url.ts'

import { ListQuery, MarketBody, MarketList } from './model.ts'
import type { MarketService } from './service.ts'

type Deps = { guard: AccessPlugin; service: MarketService; findMarket: FindMarket }

/** What is listed changes by the second, and with every snapshot. */
const noCache = { headers: { 'Cache-Control': 'private, no-cache' } }
const noCacheHeader = { 'Cache-Control': textHeader('`private, no-cache`.') }

/** `GET /v1/{coin}/markets` lists markets, `GET /v1/{coin}/markets/{conditionId}` shows one. */
export const markets = ({ guard, service, findMarket }: Deps) =>
  new Elysia({ name: 'markets' })
    .use(guard)
    .get(
      '/v1/:coin/markets',
      ({ params, request }) => {
        const coin = readCoin(params.coin)
        const query = parseQuery(ListQuery, searchOf(request.url))
        return jsonResponse(service.list({ coin, ...query }), noCache)
      },
      {
        access: 'markets',
        detail: {
          tags: ['markets'],
          operationId: 'listMarkets',
          summary: 'Markets of a coin',
          description:
            'Newest window first. A market whose window is unknown stands at its first snapshot.',
          parameters: [...openApiParameters(CoinPath, 'path'), ...openApiParameters(ListQuery)],
          responses: {
            200: jsonContent('A page of markets.', MarketList, noCacheHeader),
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
        },
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId',
      ({ params, request }) => {
        const market = readMarket(params, findMarket)
        parseQuery(NoQuery, searchOf(request.url))
        return jsonResponse(service.body(market), noCache)
      },
      {
        access: 'markets',
        detail: {
          tags: ['markets'],
          operationId: 'getMarket',
          summary: 'One market',
          description: 'What is known of a market and how much is held of it.',
          parameters: openApiParameters(MarketPath, 'path'),
          responses: {
            200: jsonContent('The market.', MarketBody, noCacheHeader),
            ...problemResponses([
              ...accessCodes('markets'),
              'invalid_parameter',
              'invalid_request',
              'unknown_coin',
              'unknown_market',
              'internal',
            ]),
          },
        },
      },
    )
