import { RESUME_HEADER } from '#src/http/data-response.ts'
import { route } from '#src/http/route.ts'

import { ListQuery, MarketBody, MarketList } from './model.ts'
import type { MarketService } from './service.ts'

/** `GET /v1/{coin}/markets` lists markets, `GET /v1/{coin}/markets/{conditionId}` shows one. */
export const marketRoutes = (service: MarketService) => [
  route({
    method: 'GET',
    path: '/v1/:coin/markets',
    access: 'markets',
    tag: 'markets',
    operationId: 'listMarkets',
    summary: 'Markets of a coin',
    description:
      'Newest window first. A market whose window is unknown is placed at its first snapshot, which `from` and `to` then mean. With `status`, a market that changes its own during a walk may be left out of it.',
    query: ListQuery,
    ok: {
      description: 'A page of markets.',
      schema: MarketList,
      headers: {
        [RESUME_HEADER]:
          'The place after the last market, also when `nextCursor` is null: with `order=asc` the markets to come follow on it. Absent with `slug`.',
      },
    },
    caching: 'digest',
    answer: ({ coin, query }) => service.list(coin, query),
  }),
  route({
    method: 'GET',
    path: '/v1/:coin/markets/:conditionId',
    access: 'markets',
    tag: 'markets',
    operationId: 'getMarket',
    summary: 'One market',
    description:
      'What is known of a market, how much is held of it, and how complete that is. GET /v1/{coin}/markets?slug= finds one by the name that the venue gives it.',
    ok: { description: 'The market.', schema: MarketBody },
    caching: 'digest',
    answer: ({ market }) => ({ body: service.text(market) }),
  }),
]
