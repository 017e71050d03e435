/** `bookfeed tiers`: what is offered, and for how much; what was bought keeps its own copy. */
import { Command, Option } from 'commander'

import { coins } from '#src/domain/market.ts'
import { packsOf, tierRoutes } from '#src/domain/selling/tier.ts'
import {
  changeTier,
  describeTier,
  type TierChange,
  tierReaders,
  toTierJson,
} from '#src/operator/tiers.ts'

import { type CliContext, usageError } from '../server/context.ts'
import { openExistingLedger, openLedgerFile } from '../server/open-data-folder.ts'
import { asOption, printTable, renderJson } from './command-line.ts'

const setHelp = `
Only what is given changes. An unknown id makes a new tier, which needs --name, --coins, --routes and
--requests-per-minute. Running servers see a change within a second. A subscription that was bought
keeps what it was bought with; a grant of the operator's follows the catalogue.

Examples:
  bookfeed tiers set pro --price 59
  bookfeed tiers set enterprise --requests-per-minute 5000 --contact sales@example.com
  bookfeed tiers set team --name Team --coins all --routes all --requests-per-minute 600 \\
    --price 99 --period-days 30 --for-sale
  bookfeed tiers set pack-1000 --price 0.8`

type TierFlags = Omit<TierChange, 'isForSale'> & { forSale?: true; notForSale?: true }

export function tiersCommand(context: CliContext): Command {
  const tiers = new Command('tiers').description('show and change what is offered')
  tiers
    .command('list')
    .description('list the tiers, lowest first')
    .option('--json', 'print a JSON array')
    .option('--packs', 'list what is sold without a key instead')
    .action((flags: ListFlags) => listTiers(context, flags))
  tiers
    .command('set')
    .description('change a tier, or make one')
    .argument('<id>', 'id of the tier, such as pro')
    .option('--name <text>', 'what people call it', asOption(tierReaders.name))
    .option('--coins <list>', `of ${coins.join(', ')}; or all`, asOption(tierReaders.coins))
    .option('--routes <list>', `of ${tierRoutes.join(', ')}; or all`, asOption(tierReaders.routes))
    .option(
      '--requests-per-minute <n>',
      'allowance of each key',
      asOption(tierReaders.requestsPerMinute),
    )
    .option(
      '--price <usdc>',
      'for a period, at most six decimals; or none',
      asOption(tierReaders.price),
    )
    .option(
      '--period-days <n>',
      'length of what is bought; or none',
      asOption(tierReaders.periodDays),
    )
    .option(
      '--requests <n>',
      'of a pack: how many are bought, without a key, in place of a period; or none',
      asOption(tierReaders.requests),
    )
    .option('--for-sale', 'let it be bought; needs a price and a period')
    .addOption(new Option('--not-for-sale', 'let it not be bought').conflicts('forSale'))
    .option('--contact <text>', 'where to ask for it; or none', asOption(tierReaders.contact))
    .option('--rank <n>', 'place among the tiers, the highest last', asOption(tierReaders.rank))
    .addHelpText('after', setHelp)
    .action((id: string, flags: TierFlags) => setTier(context, id, flags))
  return tiers
}

type ListFlags = { json?: true; packs?: true }

function listTiers(context: CliContext, { json, packs }: ListFlags): void {
  using ledger = openExistingLedger(context)
  const tiers = packs ? packsOf(ledger) : ledger.listTiers()
  const rows = tiers.map((tier) => [tier.tierId, ...Object.values(describeTier(tier))])
  const header = ['id', ...Object.keys(tiers[0] ? describeTier(tiers[0]) : {})]
  if (json) context.print(renderJson(tiers.map(toTierJson)))
  else printTable(context, header, rows)
}

function setTier(context: CliContext, tierId: string, flags: TierFlags): void {
  if (Object.keys(flags).length === 0)
    throw usageError('Nothing to set: see the options in --help.')
  const { forSale, notForSale, ...values } = flags
  const change = { ...values, isForSale: notForSale ? false : forSale }
  using ledger = openLedgerFile(context)
  const { differences } = changeTier(ledger, { tierId, change, nowMs: context.clock() })
  for (const line of differences) context.print(`${tierId}: ${line}`)
  context.print(
    differences.length === 0
      ? `${tierId}: nothing changed`
      : 'Running servers see it within a second. Grants follow it; what was bought does not change.',
  )
}
