/** The live catalogue as it is shown. */
import { formatMicros } from '#src/core/decimal.ts'
import { streamsMaxOf, type Tier } from '#src/selling/tier.ts'

import type { TierBody } from './model.ts'

/** Shows an entry of the catalogue; what is not there is null. */
export const toTierBody = (tier: Tier): TierBody => ({
  id: tier.tierId,
  tierId: tier.tierId,
  name: tier.name,
  coins: [...tier.coins],
  routes: [...tier.routes],
  requestsPerMinute: tier.requestsPerMinute,
  concurrentStreams: streamsMaxOf(tier),
  priceUsdc: tier.amountMicros === undefined ? null : formatMicros(tier.amountMicros),
  periodDays: tier.periodDays ?? null,
  isForSale: tier.isForSale,
  contact: tier.contact ?? null,
})
