import { RESUME_HEADER } from '#src/http/data-response.ts'
import { route } from '#src/http/route.ts'
import { asTable } from '#src/http/table.ts'

import { SpotList, SpotQuery } from './schema.ts'
import type { SpotService } from './service.ts'

/** `GET /v1/{coin}/spot`: the price of the coin itself. */
export const spotRoutes = (service: SpotService) => [
  asTable(
    route({
      path: '/v1/:coin/spot',
      access: 'prices',
      operationId: 'listSpot',
      summary: 'Reference prices of a coin',
      description:
        "What markets are settled by, as feeds publish it: every price that was recorded, or bars. A server without a source of prices has none, and `reason` says so. Prices of different sources and averages are different series: `source` and `window` choose one. The settlement of 5m, 15m and 4h markets is by Chainlink's average of a minute, `window=60`.",
      query: SpotQuery,
      ok: {
        description: 'A page of prices.',
        schema: SpotList,
        headers: {
          [RESUME_HEADER]: 'The place after the last row, also when `nextCursor` is null.',
        },
      },
      caching: 'digest',
      answer: ({ coin, query }) => service.page(coin, query),
    }),
  ),
]
