import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import type { Sample } from '#src/http/rights.ts'

import { SampleBody } from './schema.ts'

export const sampleRoutes = (api: Api, sample: Sample) =>
  new Elysia({ name: 'sample' }).use(api).get('/v1/sample', () => describeSample(sample), {
    openTo: 'open',
    caching: 'no-cache',
    fails: ['damaged'],
    response: { 200: SampleBody },
    answers: { description: 'The sample.' },
    detail: {
      operationId: 'getSample',
      summary: 'List data that needs no key',
      description:
        'With `Authorization: Bearer sample` instead of a key, GET requests can read everything that the Free tier includes (also for coins with simulated markets only), one whole expired market, and all simulated markets. Each network address has its own rate limit. Other requests are a 401, as without a key.',
      tags: ['markets'],
    },
  })

export function describeSample({ market, sources, terms }: Sample): SampleBody {
  const { coins, routes, requestsPerMinute } = terms()
  const held = market()
  const shown = held && {
    symbol: held.coin,
    conditionId: held.conditionId,
    slug: held.slug ?? null,
  }
  return {
    coins: [...coins],
    routes: [...routes],
    requestsPerMinute,
    market: shown ?? null,
    sources: [...sources],
  }
}
