import { type Static, Type } from '@sinclair/typebox'

import { coins } from '#src/domain/market.ts'
import { tierRoutes } from '#src/domain/selling/tier.ts'
import { choice, nullable, object, positive, slugField, text } from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'

export const SampleBody = object('Sample', {
  coins: Type.Array(literals(coins, {}), { description: 'Coins whose routes below may be read.' }),
  routes: Type.Array(literals(tierRoutes, {}), { description: 'As tiers name them.' }),
  requestsPerMinute: positive('Requests a minute of one address.', 120),
  market: nullable(
    Type.Object({
      symbol: choice(coins, 'Its coin.'),
      conditionId: text('What names it in paths.'),
      slug: slugField,
    }),
    'A market that is over, of which every route may be read; null where there is none.',
  ),
})
export type SampleBody = Static<typeof SampleBody>
