/**
 * The prices of keyless products in the API document: `x-payment-info` of draft-payment-discovery,
 * which directories and agents read. A 402 is authoritative.
 */

import type { Billing } from '#src/billing/billing.ts'
import { toAtomic } from '#src/billing/offers.ts'
import { type Pack, type TierRoute, tierRoutes } from '#src/domain/selling/tier.ts'
import { isSoldSingly } from '#src/http/api.ts'
import type { Prices } from '#src/http/swagger.ts'

import { findCheapest } from './keyless.ts'

const isTierRoute = (access: string): access is TierRoute =>
  tierRoutes.some((route) => route === access)

/** Addresses with the product in the path, whose price is therefore not known in advance. */
const products: Record<string, string> = {
  '/v1/billing/packs/:id': 'GET /v1/billing/packs lists the prices.',
  '/v1/billing/buy/:id': 'GET /v1/billing/tiers lists the prices.',
}

export const createPrices =
  ({ billing, listPacks }: { billing: Billing; listPacks: () => readonly Pack[] }): Prices =>
  () => {
    const packs = listPacks()
    const tokens = billing
      .chains()
      .flatMap(({ chain, tokens: all }) =>
        all.flatMap(({ token }) => (token.method === 'eip3009' ? [{ chain, token }] : [])),
      )
    return (route) => {
      const { access, method, path } = route
      const description = products[path]
      if (description !== undefined)
        return { offers: [{ intent: 'charge', method: 'evm', amount: null, description }] }
      if (method !== 'GET' || !isTierRoute(access) || !isSoldSingly(route)) return undefined
      const pack = findCheapest(packs, { route: access })
      if (pack === undefined || tokens.length === 0) return undefined
      const offers = tokens.map(({ chain, token }) => ({
        intent: 'charge',
        method: 'evm',
        amount: String(toAtomic(pack.amountMillionths ?? 0, token)),
        currency: token.address,
        description: `${token.symbol} on ${chain.name}.`,
      }))
      return { offers }
    }
  }
