import { coverageText } from '#src/core/coverage.ts'
import { route } from '#src/http/route.ts'

import { writeMarketCoverage } from './market-coverage.ts'
import {
  CoinCoverageList,
  CoinCoverageQuery,
  MarketCoverageBody,
  MarketCoverageQuery,
} from './model.ts'
import type { CoverageService } from './service.ts'

/**
 * `GET /v1/{coin}/markets/{conditionId}/coverage` and `GET /v1/{coin}/coverage`: what is
 * recorded, and what is missing.
 */
export const coverageRoutes = (service: CoverageService) => [
  route({
    method: 'GET',
    path: '/v1/:coin/markets/:conditionId/coverage',
    access: 'markets',
    tag: 'markets',
    operationId: 'getMarketCoverage',
    summary: 'What is recorded of a market',
    description:
      'Per outcome when it is recorded and when it is not, and why. A book prevails from its snapshot to the next; where the next one is more than `silenceMs` later, the time between, from the millisecond after the snapshot, counts as a gap, because it is not known whether nothing happened or nothing was seen. Recordings often begin before the window: then so does the market.',
    query: MarketCoverageQuery,
    ok: { description: 'Its coverage.', schema: MarketCoverageBody },
    isCovered: true,
    caching: 'digest',
    answer({ market, query }) {
      const question = service.questionOf(market, query)
      return { body: writeMarketCoverage(question), coverage: coverageText(question) }
    },
  }),
  route({
    method: 'GET',
    path: '/v1/:coin/coverage',
    access: 'markets',
    tag: 'markets',
    operationId: 'listCoverage',
    summary: 'What is recorded of a coin, by day',
    description:
      'One entry for each UTC day, also for one without any market. A market belongs to the day in which its window begins, and its coverage is that of its window. One whose window is not known belongs to the day of its first snapshot, where it counts as `window_unknown` and in no window. Days that are over are up to a minute old.',
    query: CoinCoverageQuery,
    ok: { description: 'Days.', schema: CoinCoverageList },
    caching: 'digest',
    answer: ({ coin, query }) => service.listDays(coin, query),
  }),
]
