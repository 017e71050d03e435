/** Products: a tier is a set of coins, a set of routes and a rate limit. */
import type { Millionths } from '#src/domain/decimal.ts'
import { type Coin, coins } from '#src/domain/market.ts'

/** The kinds of data that tiers list; each data route belongs to one. */
export const tierRoutes = ['markets', 'prices', 'snapshots', 'quotes'] as const
export type TierRoute = (typeof tierRoutes)[number]

/** The rights of a caller. A subscription that was bought holds a copy, which never changes. */
export type Terms = {
  /** Lower-case letters, digits, `-`; `pro` for the Pro tier. */
  tierId: string
  name: string
  /** The higher tier has the higher rank. */
  rank: number
  coins: readonly Coin[]
  routes: readonly TierRoute[]
  requestsPerMinute: number
}

/** An entry of the current catalogue. */
export type Tier = Terms & {
  /** Price of a period in millionths of a USDC; undefined if it is negotiated. */
  amountMillionths?: Millionths | undefined
  /** Length of a period; undefined if none is sold. */
  periodDays?: number | undefined
  /** Number of requests in a pack, which has no period. */
  requests?: number | undefined
  isForSale: boolean
  contact?: string | undefined
}

/** Copies the terms only: a catalogue entry has more members, but would pass the type check. */
export function termsOf(tier: Terms): Terms {
  const { tierId, name, rank, coins, routes, requestsPerMinute } = tier
  return { tierId, name, rank, coins, routes, requestsPerMinute }
}

/** Concurrent streams per account; derived from the rate limit, so that every tier has some. */
export function streamsMaxOf({ requestsPerMinute }: Pick<Terms, 'requestsPerMinute'>): number {
  if (requestsPerMinute >= 1000) return 16
  if (requestsPerMinute >= 300) return 4
  return requestsPerMinute >= 60 ? 2 : 1
}

/** The tier of every account without another; it must be in the catalogue. */
export const FREE_TIER_ID = 'free'

const forSale = { routes: tierRoutes, periodDays: 30, isForSale: true }

/** The catalogue of a new ledger, lowest tier first. */
export const defaultTiers: readonly Tier[] = [
  {
    tierId: FREE_TIER_ID,
    name: 'Free',
    rank: 1,
    coins: ['btc'],
    routes: ['markets', 'prices'],
    requestsPerMinute: 10,
    amountMillionths: 0,
    isForSale: false,
  },
  {
    ...forSale,
    tierId: 'starter',
    name: 'Starter',
    rank: 2,
    coins: ['btc', 'eth'],
    requestsPerMinute: 60,
    amountMillionths: 19_000_000,
  },
  {
    ...forSale,
    tierId: 'pro',
    name: 'Pro',
    rank: 3,
    coins,
    requestsPerMinute: 300,
    amountMillionths: 49_000_000,
  },
  {
    tierId: 'enterprise',
    name: 'Enterprise',
    rank: 4,
    coins,
    routes: tierRoutes,
    requestsPerMinute: 1000,
    isForSale: false,
    contact: 'Ask the operator of this server.',
  },
]

/** Prepaid requests without a key; a pack of one is a single request. */
export type Pack = Tier & { requests: number }

export const isPack = (tier: Tier): tier is Pack => tier.requests !== undefined

const pack = { coins, requestsPerMinute: 120, isForSale: true }

/** The packs that are sold without a key while the catalogue has none. */
export const defaultPacks: readonly Pack[] = [
  {
    ...pack,
    tierId: 'request-lists',
    name: 'A request of markets or prices',
    rank: 1001,
    routes: ['markets', 'prices'],
    requests: 1,
    amountMillionths: 1000,
  },
  {
    ...pack,
    tierId: 'request-quotes',
    name: 'A request of quotes',
    rank: 1002,
    routes: ['quotes'],
    requests: 1,
    amountMillionths: 2000,
  },
  {
    ...pack,
    tierId: 'request-snapshots',
    name: 'A request of order books',
    rank: 1003,
    routes: ['snapshots', 'prices'],
    requests: 1,
    amountMillionths: 5000,
  },
  {
    ...pack,
    tierId: 'pack-1000',
    name: '1,000 requests',
    rank: 1004,
    routes: tierRoutes,
    requests: 1000,
    amountMillionths: 1_000_000,
  },
  {
    ...pack,
    tierId: 'pack-20000',
    name: '20,000 requests',
    rank: 1005,
    routes: tierRoutes,
    requests: 20_000,
    amountMillionths: 10_000_000,
  },
]

export function packsOf(catalogue: { listPacks(): readonly Pack[] }): readonly Pack[] {
  const own = catalogue.listPacks()
  return own.length > 0 ? own : defaultPacks
}

/**
 * The other products for sale at the same price. A signed payment names an amount but no product: a
 * payment that its owner sent to the chain himself could be presented by anyone for another product
 * at that price. Single requests do not count, because such a payment cannot buy one.
 */
export function listRivals(product: Tier, all: readonly Tier[]): Tier[] {
  const isBoughtAhead = ({ isForSale, requests }: Tier) => isForSale && requests !== 1
  const { tierId, amountMillionths: price } = product
  if (!isBoughtAhead(product) || !price) return []
  return all.filter((other) => {
    return other.tierId !== tierId && isBoughtAhead(other) && other.amountMillionths === price
  })
}

/** Tiers, cheapest first, that include the given route, coin, or both. */
export const tiersWith = (
  tiers: readonly Tier[],
  { route, coin }: { route?: TierRoute | undefined; coin?: Coin | undefined },
): Tier[] =>
  tiers.filter(({ routes, coins }) => {
    return (!route || routes.includes(route)) && (!coin || coins.includes(coin))
  })
