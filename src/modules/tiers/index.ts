import { route } from '#src/http/route.ts'
import type { Tier } from '#src/selling/tier.ts'

import { TierList } from './model.ts'
import { toTierBody } from './service.ts'

/** `GET /v1/billing/tiers` shows what there is to buy. */
export const tierRoutes = (listTiers: () => readonly Tier[]) => [
  route({
    method: 'GET',
    path: '/v1/billing/tiers',
    access: 'open',
    allowance: 'billing',
    tag: 'billing',
    operationId: 'listTiers',
    summary: 'The catalogue of tiers',
    description: 'The live catalogue. What was bought stays as it was when it was bought.',
    ok: { description: 'The catalogue.', schema: TierList },
    // The operator may change the catalogue at any time.
    caching: 'no-cache',
    answer: () => listTiers().map(toTierBody),
  }),
]
