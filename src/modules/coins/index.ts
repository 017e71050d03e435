import { route } from '#src/http/route.ts'

import { CoinList } from './model.ts'
import type { CoinService } from './service.ts'

/** `GET /v1/coins`: what there is of each coin. */
export const coinRoutes = (service: CoinService) => [
  route({
    method: 'GET',
    path: '/v1/coins',
    access: 'open',
    tag: 'markets',
    operationId: 'listCoins',
    summary: 'The coins',
    description: 'What is recorded of each coin. Needs no key: everybody may see what there is.',
    ok: { description: 'The coins.', schema: CoinList },
    caching: 'digest',
    fails: ['damaged'],
    answer: () => ({ body: JSON.stringify(service.list()) }),
  }),
]
