import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import { createTable, tableQuery } from '#src/http/table.ts'

import { SpotList, SpotQuery } from './schema.ts'
import type { SpotService } from './service.ts'

/** `GET /v1/{coin}/spot`: the price of the coin itself. */
const asTable = createTable(SpotList)

export const spotRoutes = (api: Api, service: SpotService) =>
  new Elysia({ name: 'spot' })
    .use(api)
    .get(
      '/v1/:coin/spot',
      ({ reply, request, coin, query }) =>
        reply.data(request, asTable({ request, query }, service.page(coin, query))),
      {
        access: 'prices',
        coin: true,
        query: tableQuery(SpotQuery),
        isTable: true,
        caching: 'digest',
        response: { 200: SpotList },
        answers: {
          description: 'A page of prices.',
          resume: 'The place after the last row, also when `nextCursor` is null.',
        },
        detail: {
          operationId: 'listSpot',
          summary: 'Reference prices of a coin',
          description:
            "What markets are settled by, as feeds publish it: every price that was recorded, or bars. A server without a source of prices has none, and `reason` says so. Prices of different sources and averages are different series: `source` and `window` choose one. The settlement of 5m, 15m and 4h markets is by Chainlink's average of a minute, `window=60`.",
          tags: ['prices'],
        },
      },
    )
