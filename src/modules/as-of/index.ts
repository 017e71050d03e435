import { readCut } from '#src/http/data-query.ts'
import { route } from '#src/http/route.ts'

import { AsOfBody, AsOfQuery, BatchAnswer, BatchBody } from './model.ts'
import type { AsOfService } from './service.ts'

/**
 * `GET /v1/{coin}/markets/{conditionId}/snapshots/at` shows a moment of a market,
 * `POST /v1/{coin}/snapshots/at` many moments of many markets.
 */
export const asOfRoutes = (service: AsOfService) => [
  route({
    method: 'GET',
    path: '/v1/:coin/markets/:conditionId/snapshots/at',
    access: 'snapshots',
    tag: 'snapshots',
    operationId: 'getSnapshotsAt',
    summary: 'The book as of a moment',
    description:
      'The last snapshot of each outcome at or before `ts`, to the millisecond and never after it, with its age; in a gap or after the expiry that is the last one before, and `X-Coverage` says so. An outcome that has none by then, or none that `maxAgeMs` allows, is left out; if that leaves nothing, 404 says why.',
    query: AsOfQuery,
    ok: { description: 'What prevailed.', schema: AsOfBody },
    isCovered: true,
    caching: 'digest',
    fails: ['no_snapshot', 'stale'],
    answer: ({ market, query }) => service.at(market, query, readCut(query)),
  }),
  route({
    method: 'POST',
    path: '/v1/:coin/snapshots/at',
    access: 'snapshots',
    tag: 'snapshots',
    operationId: 'listSnapshotsAt',
    summary: 'Books as of up to 500 moments',
    description:
      'Each entry is answered by itself, in the order of the request, as `GET …/snapshots/at` would: one that has no answer says why and fails no other. All together are one request of the allowance. A malformed entry is refused with its place, and nothing is answered.',
    body: BatchBody,
    ok: { description: 'An answer for each entry.', schema: BatchAnswer },
    isCovered: true,
    caching: 'unkept',
    answer: ({ coin, body }) => service.batch(coin, body, readCut(body)),
  }),
]
