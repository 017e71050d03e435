/** `bookfeed tiers set`: changes what is offered; what was bought keeps its own copy. */
import { formatMillionths, type Millionths } from '#src/core/decimal.ts'
import type { Coin } from '#src/core/market.ts'
import { FREE_TIER_ID, type Tier, type TierRoute } from '#src/selling/tier.ts'

import { type CliContext, usageError } from './context.ts'
import { byOperator } from './issue-key.ts'
import { openLedgerFile } from './open-data-folder.ts'
import { given, type OrNone } from './option-values.ts'

/** What was given on the command line; what is absent stays as it is. */
export type TierFlags = {
  name?: string
  coins?: Coin[]
  routes?: TierRoute[]
  requestsPerMinute?: number
  price?: OrNone<Millionths>
  periodDays?: OrNone<number>
  forSale?: true
  notForSale?: true
  contact?: OrNone<string>
  rank?: number
}

type Change = { before: Tier | undefined; after: Tier }

const ID_PATTERN = /^[a-z0-9][a-z0-9-]{0,31}$/

/** Changes or makes a tier, and prints each option that differs now. */
export function setTier(context: CliContext, tierId: string, flags: TierFlags): void {
  if (!ID_PATTERN.test(tierId)) {
    throw usageError('A tier id is 1 to 32 lower-case letters, digits and -, such as pro.')
  }
  if (Object.keys(flags).length === 0)
    throw usageError('Nothing to set: see the options in --help.')
  using ledger = openLedgerFile(context)
  const lines = ledger.atomically(() => {
    const change = plan(ledger.listTiers(), tierId, flags)
    const differences = compare(change)
    if (differences.length > 0) ledger.putTier(change.after, byOperator(context.clock()))
    return differences
  })
  for (const line of lines) context.print(`${tierId}: ${line}`)
  context.print(
    lines.length === 0
      ? `${tierId}: nothing changed`
      : 'Running servers see it within a second. Grants follow it; what was bought does not change.',
  )
}

function plan(tiers: readonly Tier[], tierId: string, flags: TierFlags): Change {
  const before = tiers.find((tier) => tier.tierId === tierId)
  const after = apply(before ?? draft(tiers, tierId, flags), flags)
  assertSound(after)
  const rival = tiers.find((tier) => tier.rank === after.rank && tier.tierId !== tierId)
  if (rival) throw usageError(`--rank ${after.rank} is that of ${rival.tierId}.`)
  const others = tiers.filter((tier) => tier.tierId !== tierId)
  const lowest = [...others, after].toSorted((a, b) => a.rank - b.rank)[0]
  if (lowest?.tierId !== FREE_TIER_ID) {
    throw usageError(`--rank: the ${FREE_TIER_ID} tier must stay the lowest.`)
  }
  return { before, after }
}

/** A new tier ranks above all others until --rank says otherwise, and is not for sale. */
function draft(tiers: readonly Tier[], tierId: string, flags: TierFlags): Tier {
  const { name, coins, routes, requestsPerMinute } = flags
  if (name === undefined || !coins || !routes || requestsPerMinute === undefined) {
    const known = tiers.map((tier) => tier.tierId).join(', ')
    throw usageError(
      `There is no tier ${tierId} (there are ${known}). To make it, give --name, --coins, --routes and --requests-per-minute.`,
    )
  }
  const rank = Math.max(0, ...tiers.map((tier) => tier.rank)) + 1
  return { tierId, name, rank, coins, routes, requestsPerMinute, isForSale: false }
}

function apply(before: Tier, flags: TierFlags): Tier {
  const { price, periodDays, forSale, notForSale, contact, ...plain } = flags
  return {
    ...before,
    ...plain,
    amountMillionths: given(price, before.amountMillionths),
    periodDays: given(periodDays, before.periodDays),
    isForSale: (forSale ?? before.isForSale) && !notForSale,
    contact: given(contact, before.contact),
  }
}

function assertSound({ tierId, isForSale, amountMillionths, periodDays }: Tier): void {
  if (!isForSale) return
  if (tierId === FREE_TIER_ID) throw usageError('--for-sale: the Free tier cannot be for sale.')
  if (!amountMillionths) throw usageError('A tier that is for sale needs a --price above 0.')
  if (periodDays === undefined) throw usageError('A tier that is for sale needs --period-days.')
}

/** A tier as texts by option; undefined for none. */
export const describeTier = (tier: Tier): Record<string, string | undefined> => ({
  name: tier.name,
  rank: String(tier.rank),
  coins: tier.coins.join(','),
  routes: tier.routes.join(','),
  'requests-per-minute': String(tier.requestsPerMinute),
  price: tier.amountMillionths === undefined ? undefined : formatMillionths(tier.amountMillionths),
  'period-days': tier.periodDays?.toString(),
  'for-sale': tier.isForSale ? 'yes' : 'no',
  contact: tier.contact,
})

function compare({ before, after }: Change): string[] {
  const old = before ? describeTier(before) : {}
  return Object.entries(describeTier(after)).flatMap(([option, text]) =>
    old[option] === text ? [] : [`${option} ${old[option] ?? 'none'} → ${text ?? 'none'}`],
  )
}
