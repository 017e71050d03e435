import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import { listLane, tableOf, tableQuery } from '#src/http/table.ts'
import type { Tasks } from '#src/http/tasks.ts'

import { SpotList, SpotQuery } from './schema.ts'
import { spotTask } from './service.ts'

/** `GET /v1/{coin}/spot`: prices of the coin itself. */
export const spotRoutes = (api: Api, tasks: Tasks) =>
  new Elysia({ name: 'spot' }).use(api).get(
    '/v1/:coin/spot',
    ({ reply, request, coin, query }) => {
      const table = tableOf(request, query)
      const lane = listLane(SpotQuery, query, table)
      return reply(request, tasks.data(request, spotTask, { coin, query, table }, lane))
    },
    {
      access: 'prices',
      coin: true,
      query: tableQuery(SpotQuery),
      caching: 'digest',
      response: { 200: SpotList },
      answers: {
        description: 'A page of prices.',
        resume: 'Cursor after the last row, even if `nextCursor` is null.',
      },
      detail: {
        operationId: 'listSpot',
        summary: 'List reference prices of a coin',
        description:
          "Prices that markets are settled by, as published by feeds: every recorded price, or bars. If the server has no source of prices, the list is empty and `reason` says so. Each source and averaging window is a separate series: select one with `source` and `window`. Markets of 5m, 15m and 4h settle on Chainlink's average of a minute, `window=60`.",
        tags: ['prices'],
      },
    },
  )
