/** What is sold: a tier is a set of coins, a set of routes and an allowance of requests. */
import type { Millionths } from '#src/domain/decimal.ts'
import { type Coin, coins } from '#src/domain/market.ts'

/** The kinds of data that tiers name; each data route belongs to one. */
export const tierRoutes = ['markets', 'prices', 'snapshots', 'quotes'] as const
export type TierRoute = (typeof tierRoutes)[number]

/** What a caller may do. A subscription that was bought holds a copy; it never changes. */
export type Terms = {
  /** Lower-case letters, digits, `-`; `pro` for the Pro tier. */
  tierId: string
  name: string
  /** The higher of two tiers has the higher rank. */
  rank: number
  coins: readonly Coin[]
  routes: readonly TierRoute[]
  requestsPerMinute: number
}

/** An entry of the live catalogue. */
export type Tier = Terms & {
  /** What a period costs, in millionths of a USDC; undefined where it is agreed upon. */
  amountMillionths?: Millionths | undefined
  /** Length of what is bought; undefined where nothing is. */
  periodDays?: number | undefined
  /** For a pack: how many requests are bought in place of a period. */
  requests?: number | undefined
  isForSale: boolean
  contact?: string | undefined
}

/** The terms alone: an entry of the catalogue, which has a price as well, would pass for them. */
export function termsOf(tier: Terms): Terms {
  const { tierId, name, rank, coins, routes, requestsPerMinute } = tier
  return { tierId, name, rank, coins, routes, requestsPerMinute }
}

/** Streams that an account may take at once; by its allowance, so that every tier has some. */
export function streamsMaxOf({ requestsPerMinute }: Pick<Terms, 'requestsPerMinute'>): number {
  if (requestsPerMinute >= 1000) return 16
  if (requestsPerMinute >= 300) return 4
  return requestsPerMinute >= 60 ? 2 : 1
}

/** The tier of every account without another: it must always be in the catalogue. */
export const FREE_TIER_ID = 'free'

const forSale = { routes: tierRoutes, periodDays: 30, isForSale: true }

/** The catalogue of a new ledger, lowest first. */
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

/** Requests that are bought ahead, without a key; a pack of one is a single request. */
export type Pack = Tier & { requests: number }

export const isPack = (tier: Tier): tier is Pack => tier.requests !== undefined

const pack = { coins, requestsPerMinute: 120, isForSale: true }

/** What is sold without a key while the catalogue has no packs of its own. */
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
 * The other products that are for sale at the price of one. A signed payment names an amount and no
 * product: one that its owner sent to the chain himself could be presented for another product of
 * that amount, by anyone. Single requests do not count, because such a payment buys none.
 */
export function listRivals(product: Tier, all: readonly Tier[]): Tier[] {
  const isBoughtAhead = ({ isForSale, requests }: Tier) => isForSale && requests !== 1
  const { tierId, amountMillionths: price } = product
  if (!isBoughtAhead(product) || !price) return []
  return all.filter((other) => {
    return other.tierId !== tierId && isBoughtAhead(other) && other.amountMillionths === price
  })
}

/** Tiers, cheapest first, that include a route and a coin, whichever is given. */
export const tiersWith = (
  tiers: readonly Tier[],
  { route, coin }: { route?: TierRoute | undefined; coin?: Coin | undefined },
): Tier[] =>
  tiers.filter(({ routes, coins }) => {
    return (!route || routes.includes(route)) && (!coin || coins.includes(coin))
  })
