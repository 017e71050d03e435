/**
 * `bookfeed tiers`: the tiers on sale and their prices; purchases keep their own copy of the terms.
 */
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

import { usageError } from '../server/command-end.ts'
import type { CliContext } from '../server/extension.ts'
import { openExistingLedger, openLedgerFile } from '../server/open-data-folder.ts'
import { asOption, listOption, printTable, renderJson } from './command-line.ts'

const setHelp = `
Changes only the given options. An unknown id makes a new tier, which needs --name, --coins, --routes and
--requests-per-minute. Running servers apply a change within a second. A bought subscription keeps its terms;
a grant of the operator follows the catalogue.

Examples:
  bookfeed tiers set pro --price 59
  bookfeed tiers set enterprise --requests-per-minute 5000 --contact sales@example.com
  bookfeed tiers set team --name Team --coins all --routes all --requests-per-minute 600 --price 99 --period-days 30 --for-sale
  bookfeed tiers set pack-1000 --price 0.8`

type TierFlags = Omit<TierChange, 'isForSale'> & { forSale?: true; notForSale?: true }

export function tiersCommand(context: CliContext): Command {
  const tiers = new Command('tiers').description('list and change tiers and packs')
  tiers
    .command('list')
    .description('list the tiers, lowest first')
    .option('--json', 'print a JSON array')
    .option('--packs', 'list the packs, which are sold without a key, instead')
    .action((flags: ListFlags) => listTiers(context, flags))
  tiers
    .command('set')
    .description('change or make a tier')
    .argument('<id>', 'id of the tier, such as pro')
    .option('--name <text>', 'name of the tier', asOption(tierReaders.name))
    .addOption(listOption(['--coins <list>', 'coins, separated by commas; or all'], coins))
    .addOption(listOption(['--routes <list>', 'routes, separated by commas; or all'], tierRoutes))
    .option(
      '--requests-per-minute <n>',
      'allowance of each key',
      asOption(tierReaders.requestsPerMinute),
    )
    .option(
      '--price <usdc>',
      'price of a period, with at most six decimals; or none',
      asOption(tierReaders.price),
    )
    .option('--period-days <n>', 'length of a period; or none', asOption(tierReaders.periodDays))
    .option(
      '--requests <n>',
      'number of requests of a pack, which is bought without a key; or none',
      asOption(tierReaders.requests),
    )
    .option('--for-sale', 'sell the tier; needs a price and a period')
    .addOption(new Option('--not-for-sale', 'stop selling the tier').conflicts('forSale'))
    .option('--contact <text>', 'contact for buyers; or none', asOption(tierReaders.contact))
    .option('--rank <n>', 'rank among the tiers, the highest last', asOption(tierReaders.rank))
    .addHelpText('after', setHelp)
    .action((id: string, flags: TierFlags) => setTier(context, id, flags))
  return tiers
}

type ListFlags = { json?: true; packs?: true }

async function listTiers(context: CliContext, { json, packs }: ListFlags): Promise<void> {
  using ledger = await openExistingLedger(context)
  const tiers = packs ? packsOf(ledger) : ledger.listTiers()
  const rows = tiers.map((tier) => [tier.tierId, ...Object.values(describeTier(tier))])
  const header = ['id', ...Object.keys(tiers[0] ? describeTier(tiers[0]) : {})]
  if (json) context.print(renderJson(tiers.map(toTierJson)))
  else printTable(context, header, rows)
}

async function setTier(context: CliContext, tierId: string, flags: TierFlags): Promise<void> {
  if (Object.keys(flags).length === 0)
    throw usageError('Nothing to set: see the options in --help.')
  const { forSale, notForSale, ...values } = flags
  const change = { ...values, isForSale: notForSale ? false : forSale }
  using ledger = await openLedgerFile(context)
  const { after, differences } = await changeTier(ledger, {
    tierId,
    change,
    nowMs: context.clock(),
  })
  for (const line of differences) context.print(`${tierId}: ${line}`)
  context.print(
    differences.length === 0
      ? `${tierId}: nothing changed`
      : 'Running servers apply the change within a second. Grants follow it; bought subscriptions do not change.',
  )
  const { price, periodDays, requests } = values
  const isPriced = [price, periodDays, requests].some((value) => value !== undefined)
  if (isPriced && !after.isForSale && forSale === undefined && notForSale === undefined)
    context.print(`${tierId} is not for sale. To sell it, add --for-sale.`)
}
