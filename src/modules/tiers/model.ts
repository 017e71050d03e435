import { type Static, Type } from '@sinclair/typebox'

import { coins } from '#src/core/market.ts'
import { nullable, object, positive, text } from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'
import { tierRoutes } from '#src/selling/tier.ts'

export const TierBody = object('Tier', {
  id: text('Identifier of the tier.', 'pro'),
  tierId: text('The same, under the name by which a tier is bought.', 'pro'),
  name: text('Name of the tier for people.', 'Pro'),
  coins: Type.Array(literals(coins, {}), {
    description: 'Coins that the tier includes.',
    examples: [['btc', 'eth', 'sol', 'xrp']],
  }),
  routes: Type.Array(literals(tierRoutes, {}), {
    description: 'Kinds of data that the tier includes.',
    examples: [['markets', 'prices', 'snapshots', 'quotes']],
  }),
  requestsPerMinute: positive('Requests a minute for each API key.', 300),
  concurrentStreams: positive('Exports at a time for each account.', 4),
  priceUsdc: nullable(
    Type.String({ examples: ['49'] }),
    'Price of a period in USDC, as a decimal; null where it is agreed upon.',
  ),
  periodDays: nullable(
    Type.Integer({ minimum: 1, examples: [30] }),
    'Days that a payment buys; null where nothing is bought.',
  ),
  isForSale: Type.Boolean({ description: 'True if the tier can be bought here.' }),
  contact: nullable(
    Type.String({ examples: ['Ask the operator of this server.'] }),
    'Where to ask for a tier that is not for sale; else null.',
  ),
})
export type TierBody = Static<typeof TierBody>

export const TierList = Type.Array(TierBody, { description: 'The catalogue, lowest tier first.' })
