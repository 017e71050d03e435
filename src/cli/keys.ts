import { Command, Option } from 'commander'

import { createApiKey, TEST_KEY_PREFIX } from '#src/domain/selling/api-key.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { FREE_TIER_ID } from '#src/domain/selling/tier.ts'
import { formatTime } from '#src/domain/time.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import {
  assertAsked,
  giveKey,
  GRANT_DAYS_MAX,
  type KeyRow,
  listKeyRows,
  sanctionedFault,
  unknownKeys,
} from '#src/operator/keys.ts'
import { readAddress } from '#src/operator/values.ts'

import type { CliContext } from '../server/extension.ts'
import { createNodes } from '../server/nodes.ts'
import { openExistingLedger, openLedgerFile } from '../server/open-data-folder.ts'
import { createScreening } from '../server/screening.ts'
import { asOption, integerIn, parseText, printTable, renderJson } from './command-line.ts'

const createHelp = `
The key is printed to standard output alone, everything else to standard error. It is shown only once; the
ledger stores only its digest. Running servers accept it at once.

Without --address or --account, the key belongs to a new account without a wallet.

Examples:
  bookfeed keys create                                 a key of the Free tier
  KEY=$(bookfeed keys create --tier pro --days 30)     a month of Pro, into a variable
  bookfeed keys create --tier enterprise --label acme  without an end
  bookfeed keys create --account acc_…                 another key of the same account
  bookfeed keys create --test                          a key that reads simulated data alone

Exit code: 0 if the key was made; 1 if the account is unknown, blocked or has too many keys, or if the
address is on the sanctions list; 2 for a wrong option.`

type CreateFlags = {
  tier: string
  label?: string
  days?: number
  /** The address in lower case. */
  address?: string
  account?: string
  test?: true
}
type ListFlags = { account?: string; all?: true; json?: true }

export function keysCommand(context: CliContext): Command {
  const keys = new Command('keys').description('make, list and revoke API keys')
  keys
    .command('create')
    .description('make a key and print it, once')
    .option('--tier <id>', 'tier to grant; bookfeed tiers list shows them', FREE_TIER_ID)
    .option('--label <text>', 'label of the key', parseText)
    .option(
      '--days <n>',
      'length of the grant in days; default: no end',
      integerIn(1, GRANT_DAYS_MAX),
    )
    .addOption(
      new Option('--test', 'make a test key, which no ledger stores').conflicts([
        'address',
        'account',
        'days',
        'label',
      ]),
    )
    .option('--address <0x…>', 'wallet of the account', asOption(readAddress))
    .addOption(new Option('--account <id>', 'existing account').conflicts('address'))
    .addHelpText('after', createHelp)
    .action((flags: CreateFlags) => createKey(context, flags))
  keys
    .command('list')
    .description('list valid keys by their id')
    .option('--account <id>', 'list keys of this account only')
    .option('--all', 'include expired and revoked keys')
    .option('--json', 'print a JSON array')
    .action((flags: ListFlags) => listKeys(context, flags))
  keys
    .command('revoke')
    .description('revoke keys permanently, also on running servers')
    .argument('<id...>', 'ids of keys, key_…')
    .action((ids: string[]) => revokeKeys(context, ids))
  return keys
}

async function createKey(context: CliContext, flags: CreateFlags): Promise<void> {
  if (flags.test) {
    context.print(createApiKey(context.randomBytes, TEST_KEY_PREFIX))
    return
  }
  const { tier: tierId, account: accountId, ...rest } = flags
  const asked = { ...rest, tierId, accountId }
  assertAsked(asked)
  using ledger = await openLedgerFile(context)
  const nowMs = context.clock()
  await screen(context, ledger, flags.address)
  const keysMax = context.config().keysPerAccountMax
  const given = await giveKey(ledger, context, { ...asked, keysMax, nowMs })
  for (const line of describe(ledger, given, nowMs)) context.printError(line)
  context.print(given.key)
}

/** Screens an address as at signup; if nothing can be asked, the operator decides and is warned. */
async function screen(context: CliContext, ledger: Ledger, address?: string): Promise<void> {
  if (address === undefined) return
  const { verdict } = await createScreening(context, ledger, createNodes(context)).screen(address)
  if (verdict === 'hit') throw sanctionedFault(address)
  if (verdict === 'clear') return
  context.printError('warning: the address was not screened; see docs/configuration.md')
}

function describe(
  ledger: Ledger,
  { apiKey, account }: Awaited<ReturnType<typeof giveKey>>,
  nowMs: number,
): string[] {
  const { id, address } = account
  const subscriptions = ledger.listSubscriptions(id)
  const { terms, subscription } = standingAt(subscriptions, ledger.listTiers(), nowMs)
  const end = formatTime(subscription?.endMs)
  return [
    `key      ${apiKey.id}, shown only once`,
    `account  ${id}${address === undefined ? '' : `, ${address}`}`,
    `tier     ${terms.tierId}${end === undefined ? '' : ` until ${end}`}`,
  ]
}

const columns = [
  'id',
  'account',
  'address',
  'label',
  'ends-in',
  'tier',
  'created',
  'last-used',
  'status',
]

async function listKeys(context: CliContext, flags: ListFlags): Promise<void> {
  using ledger = await openExistingLedger(context)
  const { account: accountId, all } = flags
  const rows = listKeyRows(ledger, { accountId, isAll: all === true, nowMs: context.clock() })
  if (flags.json) context.print(renderJson(rows))
  else if (rows.length > 0) printTable(context, columns, rows.map(toCells))
  else context.printError(flags.all ? 'no keys' : 'no valid keys; --all lists the others')
}

function toCells(row: KeyRow) {
  const { id, accountId, address, label, hint, tier, createdAt, lastUsedAt, ...rest } = row
  const until = rest.status === 'expiring' ? ` until ${rest.expiresAt}` : ''
  const status = `${rest.status}${until}${rest.isBlocked ? ', account blocked' : ''}`
  return [id, accountId, address, label, hint, tier, createdAt, lastUsedAt, status]
}

/** Revokes each key in its own transaction, so that a wrong id does not prevent the others. */
async function revokeKeys(context: CliContext, ids: readonly string[]): Promise<void> {
  const by = byOperator(context.clock())
  using ledger = await openExistingLedger(context)
  const unknown: string[] = []
  for (const id of new Set(ids)) {
    if (ledger.findKey(id)) {
      const isRevoked = await ledger.revokeKey(id, by)
      context.print(`${id}: ${isRevoked ? 'revoked' : 'already revoked'}`)
    } else unknown.push(id)
  }
  if (unknown.length > 0) throw unknownKeys(unknown.join(', '))
}
