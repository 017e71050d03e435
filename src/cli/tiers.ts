import { Command, Option } from 'commander'

import { formatMillionths } from '#src/core/decimal.ts'
import { coins } from '#src/core/market.ts'
import { type Tier, tierRoutes } from '#src/selling/tier.ts'

import type { CliContext } from './context.ts'
import { withExistingLedger } from './open-data-folder.ts'
import { integerIn, listOf, orNone, parsePrice, parseText } from './option-values.ts'
import { describeTier, setTier, type TierFlags } from './set-tier.ts'
import { printTable, renderJson } from './table.ts'

const REQUESTS_MAX = 1_000_000_000
const PERIOD_DAYS_MAX = 3650
const RANK_MAX = 1_000_000

const setHelp = `
Only what is given changes. An unknown id makes a new tier, which needs --name, --coins, --routes and
--requests-per-minute. Running servers see a change within a second. A subscription that was bought
keeps what it was bought with; a grant of the operator's follows the catalogue.

Examples:
  bookfeed tiers set pro --price 59
  bookfeed tiers set enterprise --requests-per-minute 5000 --contact sales@example.com
  bookfeed tiers set team --name Team --coins all --routes all --requests-per-minute 600 \\
    --price 99 --period-days 30 --for-sale`

/** `bookfeed tiers`: what is offered, and for how much. */
export const tiersCommand = (context: CliContext): Command =>
  new Command('tiers')
    .description('show and change what is offered')
    .addCommand(listCommand(context))
    .addCommand(setCommand(context))

const listCommand = (context: CliContext): Command =>
  new Command('list')
    .description('list the tiers, lowest first')
    .option('--json', 'print a JSON array')
    .action((flags: { json?: true }) => listTiers(context, flags))

const setCommand = (context: CliContext): Command =>
  new Command('set')
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

function listTiers(context: CliContext, { json }: { json?: true }): void {
  const tiers = withExistingLedger(context, (ledger) => ledger.listTiers())
  if (json) {
    context.print(renderJson(tiers.map(toJson)))
    return
  }
  const rows = tiers.map((tier) => [tier.tierId, ...Object.values(describeTier(tier))])
  const header = ['id', ...Object.keys(tiers[0] ? describeTier(tiers[0]) : {})]
  printTable(context, header, rows)
}

/** As the catalogue over HTTP has it, and the rank. */
const toJson = (tier: Tier) => ({
  id: tier.tierId,
  name: tier.name,
  rank: tier.rank,
  coins: tier.coins,
  routes: tier.routes,
  requestsPerMinute: tier.requestsPerMinute,
  priceUsdc: tier.amountMillionths === undefined ? null : formatMillionths(tier.amountMillionths),
  periodDays: tier.periodDays ?? null,
  isForSale: tier.isForSale,
  contact: tier.contact ?? null,
})
