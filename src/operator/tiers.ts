/** The tiers on sale and their prices; purchases keep their own copy of the terms. */
import { formatMillionths } from '#src/domain/decimal.ts'
import { coins } from '#src/domain/market.ts'
import {
  defaultPacks,
  FREE_TIER_ID,
  isPack,
  listRivals,
  packsOf,
  type Tier,
  tierRoutes,
} from '#src/domain/selling/tier.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import {
  given,
  integerIn,
  listOf,
  orNone,
  readAs,
  readPrice,
  readText,
  wrongValue,
} from './values.ts'

const REQUESTS_MAX = 1_000_000_000
const PERIOD_DAYS_MAX = 3650
const RANK_MAX = 1_000_000
const ID_PATTERN = /^[a-z0-9][a-z0-9-]{0,31}$/

/** The parser of each value of a tier. */
export const tierReaders = {
  name: readText,
  coins: listOf(coins),
  routes: listOf(tierRoutes),
  requestsPerMinute: integerIn(1, REQUESTS_MAX),
  price: orNone(readPrice),
  periodDays: orNone(integerIn(1, PERIOD_DAYS_MAX)),
  requests: orNone(integerIn(1, REQUESTS_MAX)),
  contact: orNone(readText),
  rank: integerIn(1, RANK_MAX),
}
type Readers = typeof tierReaders

/** Changed values; absent ones stay unchanged. */
export type TierChange = { [K in keyof Readers]?: ReturnType<Readers[K]> } & {
  isForSale?: boolean | undefined
}

/** Parses a change. Throws a `wrong_value` or `wrong_state` fault that names the value. */
export function readTierChange(
  texts: { [K in keyof Readers]?: string } & { forSale?: 'yes' | 'no' },
): TierChange {
  const { forSale, ...rest } = texts
  const values = Object.entries(rest).map(([name, text]) => {
    const read: (text: string) => unknown = tierReaders[name as keyof Readers]
    return [name, readAs(name, read, text)]
  })
  // Every value was parsed by the reader of its name.
  return {
    ...(Object.fromEntries(values) as TierChange),
    ...(forSale === undefined ? {} : { isForSale: forSale === 'yes' }),
  }
}

type Catalogue = Pick<Ledger, 'listTiers' | 'listPacks'>

/** Previews a change without writing it. Throws a `wrong_value` or `wrong_state` fault. */
export function planTier(ledger: Catalogue, tierId: string, change: TierChange) {
  if (!ID_PATTERN.test(tierId)) {
    const form = 'A tier id is 1 to 32 lower-case letters, digits and -, such as pro.'
    throw wrongValue('id', form)
  }
  const packs = packsOf(ledger)
  const ofTiers = ledger.listTiers()
  const isIn = (some: readonly Tier[]) => some.some((tier) => tier.tierId === tierId)
  const isOfPack = isIn(packs) || (change.requests !== undefined && !isIn(ofTiers))
  const tiers = isOfPack ? packs : ofTiers
  const before = tiers.find((tier) => tier.tierId === tierId)
  const after = apply(before ?? draft(tiers, tierId, change), change)
  assertSound(after)
  assertRank(after, [...ofTiers, ...packs])
  assertPrice(after, { before, all: [...ofTiers, ...packs] })
  return { before, after, differences: compare(before, after) }
}

/** Creates or changes a tier in one transaction; unchanged tiers are not written. */
export const changeTier = (
  ledger: Pick<Ledger, 'atomically'>,
  { tierId, change, nowMs }: { tierId: string; change: TierChange; nowMs: number },
) =>
  ledger.atomically((transaction) => {
    const plan = planTier(transaction, tierId, change)
    if (plan.differences.length === 0) return plan
    const by = byOperator(nowMs)
    // Otherwise the first pack with terms of its own would be the only one.
    const isFirst = isPack(plan.after) && transaction.listPacks().length === 0
    for (const pack of isFirst ? defaultPacks : []) transaction.putTier(pack, by)
    transaction.putTier(plan.after, by)
    return plan
  })

/** A new tier ranks above all others until a rank is given, and is not for sale. */
function draft(tiers: readonly Tier[], tierId: string, change: TierChange): Tier {
  const { name, coins: some, routes, requestsPerMinute } = change
  if (name === undefined || !some || !routes || requestsPerMinute === undefined) {
    const known = tiers.map((tier) => tier.tierId).join(', ')
    throw wrongValue(
      'id',
      `There is no tier ${tierId} (there are ${known}). To make it, give its name, coins, routes and requests per minute.`,
    )
  }
  const rank = Math.max(0, ...tiers.map((tier) => tier.rank)) + 1
  return { tierId, name, rank, coins: some, routes, requestsPerMinute, isForSale: false }
}

function apply(before: Tier, change: TierChange) {
  const { price, periodDays, requests, contact, isForSale, ...plain } = change
  return {
    ...before,
    ...plain,
    amountMillionths: given(price, before.amountMillionths),
    periodDays: given(periodDays, before.periodDays),
    requests: given(requests, before.requests),
    isForSale: isForSale ?? before.isForSale,
    contact: given(contact, before.contact),
  } satisfies Tier
}

function assertSound({ tierId, isForSale, amountMillionths, periodDays, requests }: Tier): void {
  if (requests !== undefined && periodDays !== undefined) {
    throw wrongValue('requests', 'A tier sells a period or a number of requests, not both.')
  }
  if (!isForSale) return
  if (tierId === FREE_TIER_ID) throw wrongValue('forSale', 'The Free tier cannot be for sale.')
  if (!amountMillionths) throw wrongValue('price', 'A tier that is for sale needs a price above 0.')
  if (periodDays === undefined && requests === undefined) {
    throw wrongValue(
      'periodDays',
      'A tier that is for sale needs a period in days, and a pack requests.',
    )
  }
}

/**
 * Refuses an equal price. Equal prices from before are reported by doctor and do not block other
 * changes.
 */
function assertPrice(
  after: Tier,
  { before, all }: { before: Tier | undefined; all: readonly Tier[] },
): void {
  const [rival] = listRivals(after, all)
  if (rival === undefined) return
  if (before !== undefined && listRivals(before, all).includes(rival)) return
  throw wrongValue(
    'price',
    `${rival.tierId} is for sale at the same price. A payment without a key names only its amount, so one that its owner has sent to the chain could be presented for the other product. Choose another price for one of them, or stop selling ${rival.tierId} first.`,
  )
}

function assertRank(tier: Tier, tiers: readonly Tier[]): void {
  const others = tiers.filter(({ tierId }) => tierId !== tier.tierId)
  const rival = others.find(({ rank }) => rank === tier.rank)
  if (rival) {
    throw wrongValue('rank', `The rank ${tier.rank} is that of ${rival.tierId}.`)
  }
  const [lowest] = [...others, tier].toSorted((a, b) => a.rank - b.rank)
  if (lowest?.tierId === FREE_TIER_ID) return
  throw wrongValue('rank', `The ${FREE_TIER_ID} tier must keep the lowest rank.`)
}

/** The tier as in the HTTP catalogue, with its rank. */
export const toTierJson = ({ tierId, amountMillionths: price, ...tier }: Tier) => ({
  id: tierId,
  name: tier.name,
  rank: tier.rank,
  coins: tier.coins,
  routes: tier.routes,
  requestsPerMinute: tier.requestsPerMinute,
  priceUsdc: price === undefined ? null : formatMillionths(price),
  periodDays: tier.periodDays ?? null,
  ...(tier.requests === undefined ? {} : { requests: tier.requests }),
  isForSale: tier.isForSale,
  contact: tier.contact ?? null,
})

export const describeTier = (tier: Tier): Record<string, string | undefined> => ({
  name: tier.name,
  rank: String(tier.rank),
  coins: tier.coins.join(','),
  routes: tier.routes.join(','),
  'requests-per-minute': String(tier.requestsPerMinute),
  price: tier.amountMillionths === undefined ? undefined : formatMillionths(tier.amountMillionths),
  'period-days': tier.periodDays?.toString(),
  requests: tier.requests?.toString(),
  'for-sale': tier.isForSale ? 'yes' : 'no',
  contact: tier.contact,
})

function compare(before: Tier | undefined, after: Tier): string[] {
  const old = before ? describeTier(before) : {}
  return Object.entries(describeTier(after)).flatMap(([option, text]) =>
    old[option] === text ? [] : [`${option} ${old[option] ?? 'none'} → ${text ?? 'none'}`],
  )
}
