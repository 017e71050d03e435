import type { Sample } from '#src/http/gate.ts'
import { route } from '#src/http/route.ts'

import { SampleBody } from './schema.ts'

export const sampleRoutes = (sample: Sample) => [
  route({
    path: '/v1/sample',
    access: 'open',
    tag: 'markets',
    operationId: 'getSample',
    summary: 'What may be read without a key',
    description:
      'With `Authorization: Bearer sample` in place of a key, GET answers what the Free tier includes, and everything of one market that is over. Each address has a window of its own. Anything else is 401, as without a key.',
    ok: { description: 'The sample.', schema: SampleBody },
    caching: 'no-cache',
    fails: ['damaged'],
    answer: () => describeSample(sample),
  }),
]

export function describeSample({ market, terms }: Sample): SampleBody {
  const { coins, routes, requestsPerMinute } = terms()
  const held = market()
  const shown = held && {
    symbol: held.coin,
    conditionId: held.conditionId,
    slug: held.slug ?? null,
  }
  return { coins: [...coins], routes: [...routes], requestsPerMinute, market: shown ?? null }
}
