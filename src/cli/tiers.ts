/** `bookfeed tiers`: what is offered, and for how much; what was bought keeps its own copy. */
import { Command, Option } from 'commander'

import { formatMillionths, type Millionths } from '#src/core/decimal.ts'
import { coins } from '#src/core/market.ts'
import { FREE_TIER_ID, type Tier, tierRoutes } from '#src/selling/tier.ts'

import {
  given,
  integerIn,
  listOf,
  type OrNone,
  orNone,
  parsePrice,
  parseText,
  printTable,
  renderJson,
} from './command-line.ts'
import { byOperator, type CliContext, usageError } from './context.ts'
import { openExistingLedger, openLedgerFile } from './open-data-folder.ts'

const REQUESTS_MAX = 1_000_000_000
const PERIOD_DAYS_MAX = 3650
const RANK_MAX = 1_000_000
const ID_PATTERN = /^[a-z0-9][a-z0-9-]{0,31}$/

const setHelp = `
Only what is given changes. An unknown id makes a new tier, which needs --name, --coins, --routes and
--requests-per-minute. Running servers see a change within a second. A subscription that was bought
keeps what it was bought with; a grant of the operator's follows the catalogue.

Examples:
  bookfeed tiers set pro --price 59
  bookfeed tiers set enterprise --requests-per-minute 5000 --contact sales@example.com
  bookfeed tiers set team --name Team --coins all --routes all --requests-per-minute 600 \\
    --price 99 --period-days 30 --for-sale`

type TierFlags = Partial<Pick<Tier, 'name' | 'coins' | 'routes' | 'requestsPerMinute' | 'rank'>> & {
  price?: OrNone<Millionths>
  periodDays?: OrNone<number>
  forSale?: true
  notForSale?: true
  contact?: OrNone<string>
}

export function tiersCommand(context: CliContext): Command {
  const tiers = new Command('tiers').description('show and change what is offered')
  tiers
    .command('list')
    .description('list the tiers, lowest first')
    .option('--json', 'print a JSON array')
    .action((flags: { json?: true }) => listTiers(context, flags))
  tiers
    .command('set')
    .description('change a tier, or make one')
    .argument('<id>', 'id of the tier, such as pro')
    .option('--name <text>', 'what people call it', parseText)
    .option('--coins <list>', `of ${coins.join(', ')}; or all`, listOf(coins))
    .option('--routes <list>', `of ${tierRoutes.join(', ')}; or all`, listOf(tierRoutes))
    .option('--requests-per-minute <n>', 'allowance of each key', integerIn(1, REQUESTS_MAX))
    .option('--price <usdc>', 'for a period, at most six decimals; or none', orNone(parsePrice))
    .option(
      '--period-days <n>',
      'length of what is bought; or none',
      orNone(integerIn(1, PERIOD_DAYS_MAX)),
    )
    .option('--for-sale', 'let it be bought; needs a price and a period')
    .addOption(new Option('--not-for-sale', 'let it not be bought').conflicts('forSale'))
    .option('--contact <text>', 'where to ask for it; or none', orNone(parseText))
    .option('--rank <n>', 'place among the tiers, the highest last', integerIn(1, RANK_MAX))
    .addHelpText('after', setHelp)
    .action((id: string, flags: TierFlags) => setTier(context, id, flags))
  return tiers
}

function listTiers(context: CliContext, { json }: { json?: true }): void {
  using ledger = openExistingLedger(context)
  const tiers = ledger.listTiers()
  const rows = tiers.map((tier) => [tier.tierId, ...Object.values(describeTier(tier))])
  const header = ['id', ...Object.keys(tiers[0] ? describeTier(tiers[0]) : {})]
  if (json) context.print(renderJson(tiers.map(toJson)))
  else printTable(context, header, rows)
}

/** As the catalogue over HTTP has it, and the rank. */
const toJson = ({ tierId, amountMillionths: price, ...tier }: Tier) => ({
  id: tierId,
  name: tier.name,
  rank: tier.rank,
  coins: tier.coins,
  routes: tier.routes,
  requestsPerMinute: tier.requestsPerMinute,
  priceUsdc: price === undefined ? null : formatMillionths(price),
  periodDays: tier.periodDays ?? null,
  isForSale: tier.isForSale,
  contact: tier.contact ?? null,
})

function setTier(context: CliContext, tierId: string, flags: TierFlags): void {
  if (!ID_PATTERN.test(tierId)) {
    throw usageError('A tier id is 1 to 32 lower-case letters, digits and -, such as pro.')
  }
  if (Object.keys(flags).length === 0)
    throw usageError('Nothing to set: see the options in --help.')
  using ledger = openLedgerFile(context)
  const lines = ledger.atomically(() => {
    const tiers = ledger.listTiers()
    const before = tiers.find((tier) => tier.tierId === tierId)
    const after = apply(before ?? draft(tiers, tierId, flags), flags)
    assertSound(after)
    assertRank(after, tiers)
    const differences = compare(before, after)
    if (differences.length > 0) ledger.putTier(after, byOperator(context.clock()))
    return differences
  })
  for (const line of lines) context.print(`${tierId}: ${line}`)
  context.print(
    lines.length === 0
      ? `${tierId}: nothing changed`
      : 'Running servers see it within a second. Grants follow it; what was bought does not change.',
  )
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

function assertRank(tier: Tier, tiers: readonly Tier[]): void {
  const others = tiers.filter(({ tierId }) => tierId !== tier.tierId)
  const rival = others.find(({ rank }) => rank === tier.rank)
  if (rival) throw usageError(`--rank ${tier.rank} is that of ${rival.tierId}.`)
  const [lowest] = [...others, tier].toSorted((a, b) => a.rank - b.rank)
  if (lowest?.tierId === FREE_TIER_ID) return
  throw usageError(`--rank: the ${FREE_TIER_ID} tier must stay the lowest.`)
}

const describeTier = (tier: Tier): Record<string, string | undefined> => ({
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

function compare(before: Tier | undefined, after: Tier): string[] {
  const old = before ? describeTier(before) : {}
  return Object.entries(describeTier(after)).flatMap(([option, text]) =>
    old[option] === text ? [] : [`${option} ${old[option] ?? 'none'} → ${text ?? 'none'}`],
  )
}
