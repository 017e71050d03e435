import { formatMillionths } from '#src/core/decimal.ts'
import { route } from '#src/http/route.ts'
import { streamsMaxOf, type Tier } from '#src/selling/tier.ts'

import { type TierBody, TierList } from './model.ts'

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

const toTierBody = (tier: Tier): TierBody => ({
  id: tier.tierId,
  tierId: tier.tierId,
  name: tier.name,
  coins: [...tier.coins],
  routes: [...tier.routes],
  requestsPerMinute: tier.requestsPerMinute,
  concurrentStreams: streamsMaxOf(tier),
  priceUsdc: tier.amountMillionths === undefined ? null : formatMillionths(tier.amountMillionths),
  periodDays: tier.periodDays ?? null,
  isForSale: tier.isForSale,
  contact: tier.contact ?? null,
})
