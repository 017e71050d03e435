import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import type { Sample } from '#src/http/gate.ts'

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
      summary: 'What may be read without a key',
      description:
        'With `Authorization: Bearer sample` in place of a key, GET answers what the Free tier includes (also of coins of which only simulated markets are held), everything of one market that is over, and everything of simulated markets. Each address has a window of its own. Anything else is 401, as without a key.',
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
