import { route } from '#src/http/route.ts'

import { FillBody, FillQuery } from './model.ts'
import { readOrder } from './order.ts'
import type { FillService } from './service.ts'

/** `GET /v1/{coin}/markets/{conditionId}/fill`: what an order would have filled. */
export const fillRoutes = (service: FillService) => [
  route({
    method: 'GET',
    path: '/v1/:coin/markets/:conditionId/fill',
    access: 'snapshots',
    tag: 'snapshots',
    operationId: 'getFill',
    summary: 'What an order would have filled at a moment',
    description:
      'Walks the ladder prevailing at `ts` (at or before, never after) with a market order, or one that is limited by `limitPrice`. Arithmetic is exact; an amount of money is rounded once, when it is printed. Nothing of the queue, of latency or of the order’s own effect on the market is modelled.',
    query: FillQuery,
    ok: { description: 'The fill.', schema: FillBody },
    isCovered: true,
    caching: 'digest',
    fails: ['no_snapshot', 'stale'],
    answer: ({ market, query }) => service.fill(market, query, readOrder(query)),
  }),
]
