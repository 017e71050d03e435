import { type Static, Type } from '@sinclair/typebox'

import { coins, sources } from '#src/domain/market.ts'
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
    'The market that shows most: over, recorded where a recorded one is mostly covered, else simulated. Every route of it may be read. Null where there is none.',
  ),
  sources: Type.Array(literals(sources, {}), {
    description:
      'Every route of markets with these sources may be read, of any coin, also while they are open. `simulated` markets are invented by the server.',
    examples: [['simulated']],
  }),
})
export type SampleBody = Static<typeof SampleBody>
