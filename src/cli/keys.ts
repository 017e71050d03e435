import { Command, Option } from 'commander'

import { type Account, type ApiKey, isValidKey, type Ledger } from '#src/ledger/ledger.ts'
import { redactKeys } from '#src/selling/api-key.ts'
import { standingAt } from '#src/selling/subscription.ts'
import { FREE_TIER_ID } from '#src/selling/tier.ts'

import { type CliContext, CliError } from './context.ts'
import { type CreateFlags, createKey } from './create-key.ts'
import { byOperator } from './issue-key.ts'
import { withExistingLedger } from './open-data-folder.ts'
import { integerIn, parseAddress, parseText } from './option-values.ts'
import { formatTime, printTable, renderJson } from './table.ts'

const DAYS_MAX = 36_500

const createHelp = `
The key goes to standard output alone, everything else to standard error. It is shown this once; the
ledger keeps its digest. Running servers take it at once.

Without --address or --account it belongs to a new account that has no wallet.

Examples:
  bookfeed keys create                                 a key of the Free tier
  KEY=$(bookfeed keys create --tier pro --days 30)     a month of Pro, into a variable
  bookfeed keys create --tier enterprise --label acme  for ever
  bookfeed keys create --account acc_…                 another key of the same account

Exit code: 0 when the key was made; 1 when the account is unknown, blocked or has too many keys, or the
address is on the sanctions list; 2 for a wrong option.`

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

type ListFlags = { account?: string; all?: true; json?: true }

/** `bookfeed keys`: gives keys out and takes them back. */
export const keysCommand = (context: CliContext): Command =>
  new Command('keys')
    .description('make, list and revoke API keys')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(revokeCommand(context))

const createCommand = (context: CliContext): Command =>
  new Command('create')
    .description('make a key and print it, once')
    .option('--tier <id>', 'tier to grant; bookfeed tiers list shows them', FREE_TIER_ID)
    .option('--label <text>', 'what the key is for', parseText)
    .option('--days <n>', 'length of the grant; without it, for ever', integerIn(1, DAYS_MAX))
    .option('--address <0x…>', 'wallet that the account belongs to', parseAddress)
    .addOption(new Option('--account <id>', 'account that exists already').conflicts('address'))
    .addHelpText('after', createHelp)
    .action((flags: CreateFlags) => createKey(context, flags))

const listCommand = (context: CliContext): Command =>
  new Command('list')
    .description('list keys that are valid, never the keys themselves')
    .option('--account <id>', 'of one account only')
    .option('--all', 'expired and revoked ones too')
    .option('--json', 'print a JSON array')
    .action((flags: ListFlags) => listKeys(context, flags))

const revokeCommand = (context: CliContext): Command =>
  new Command('revoke')
    .description('revoke keys for good, in running servers too')
    .argument('<id...>', 'ids of keys, key_…')
    .action((ids: string[]) => revokeKeys(context, ids))

type KeyRow = ReturnType<typeof toRow>

function listKeys(context: CliContext, flags: ListFlags): void {
  const nowMs = context.clock()
  const rows = withExistingLedger(context, (ledger) => findRows(ledger, flags, nowMs))
  if (flags.json) {
    context.print(renderJson(rows))
    return
  }
  if (rows.length === 0) {
    context.printError(flags.all ? 'no keys' : 'no valid keys; --all lists the others')
    return
  }
  printTable(context, columns, rows.map(toCells))
}

function findRows(ledger: Ledger, { account, all }: ListFlags, nowMs: number): KeyRow[] {
  if (account !== undefined && !ledger.findAccount(account)) {
    throw new CliError(`There is no account ${redactKeys(account)}.`)
  }
  const tiers = ledger.listTiers()
  const keys = ledger.listKeys(account).filter((key) => all || isValidKey(key, nowMs))
  return keys.map((key) => {
    const { terms } = standingAt(ledger.listSubscriptions(key.accountId), tiers, nowMs)
    const owner = ledger.findAccount(key.accountId)
    return toRow(key, { owner, tier: terms.tierId, status: statusOf(key, nowMs) })
  })
}

function statusOf({ revokedMs, expiresMs }: ApiKey, nowMs: number): string {
  if (revokedMs !== undefined) return 'revoked'
  if (expiresMs === undefined) return 'valid'
  return expiresMs > nowMs ? 'expiring' : 'expired'
}

function toCells(row: KeyRow): (string | undefined)[] {
  const { id, accountId, address, label, hint, tier, createdAt, lastUsedAt, ...rest } = row
  const until = rest.status === 'expiring' ? ` until ${rest.expiresAt}` : ''
  const status = `${rest.status}${until}${rest.isBlocked ? ', account blocked' : ''}`
  const texts = [id, accountId, address, label, hint, tier, createdAt, lastUsedAt, status]
  return texts.map((text) => text ?? undefined)
}

/** A key as `--json` prints it. */
function toRow(
  key: ApiKey,
  { owner, tier, status }: { owner: Account | undefined; tier: string; status: string },
) {
  return {
    id: key.id,
    accountId: key.accountId,
    address: owner?.address ?? null,
    label: key.label ?? null,
    hint: key.hint,
    tier,
    createdAt: formatTime(key.createdMs),
    lastUsedAt: formatTime(key.lastUsedMs) ?? null,
    expiresAt: formatTime(key.expiresMs) ?? null,
    revokedAt: formatTime(key.revokedMs) ?? null,
    status,
    isBlocked: owner?.blockedMs !== undefined,
  }
}

/** One transaction each: a wrong id must not keep the others valid. */
function revokeKeys(context: CliContext, ids: readonly string[]): void {
  const by = byOperator(context.clock())
  const unknown = withExistingLedger(context, (ledger) =>
    [...new Set(ids)].filter((id) => {
      if (!ledger.findKey(id)) return true
      context.print(`${id}: ${ledger.revokeKey(id, by) ? 'revoked' : 'revoked before'}`)
      return false
    }),
  )
  if (unknown.length === 0) return
  // Somebody may have pasted the key instead of its id.
  throw new CliError(
    `Unknown: ${redactKeys(unknown.join(', '))}. bookfeed keys list shows the ids.`,
  )
}
