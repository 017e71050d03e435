import { Command, Option } from 'commander'

import { DAY_MS } from '#src/core/time.ts'
import { type Account, type ApiKey, isValidKey, type Ledger } from '#src/ledger/ledger.ts'
import { digestOf, hintOf, mintKey, redactKeys } from '#src/selling/api-key.ts'
import { standingAt } from '#src/selling/subscription.ts'
import { FREE_TIER_ID } from '#src/selling/tier.ts'

import {
  formatTime,
  integerIn,
  parseAddress,
  parseText,
  printTable,
  renderJson,
} from './command-line.ts'
import { byOperator, type CliContext, CliError, usageError } from './context.ts'
import { openExistingLedger, openLedgerFile } from './open-data-folder.ts'
import { createScreening } from './screening.ts'

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

type CreateFlags = {
  tier: string
  label?: string
  days?: number
  /** Lower case. */
  address?: string
  account?: string
}
type ListFlags = { account?: string; all?: true; json?: true }

export function keysCommand(context: CliContext): Command {
  const keys = new Command('keys').description('make, list and revoke API keys')
  keys
    .command('create')
    .description('make a key and print it, once')
    .option('--tier <id>', 'tier to grant; bookfeed tiers list shows them', FREE_TIER_ID)
    .option('--label <text>', 'what the key is for', parseText)
    .option('--days <n>', 'length of the grant; without it, for ever', integerIn(1, DAYS_MAX))
    .option('--address <0x…>', 'wallet that the account belongs to', parseAddress)
    .addOption(new Option('--account <id>', 'account that exists already').conflicts('address'))
    .addHelpText('after', createHelp)
    .action((flags: CreateFlags) => createKey(context, flags))
  keys
    .command('list')
    .description('list keys that are valid, never the keys themselves')
    .option('--account <id>', 'of one account only')
    .option('--all', 'expired and revoked ones too')
    .option('--json', 'print a JSON array')
    .action((flags: ListFlags) => listKeys(context, flags))
  keys
    .command('revoke')
    .description('revoke keys for good, in running servers too')
    .argument('<id...>', 'ids of keys, key_…')
    .action((ids: string[]) => revokeKeys(context, ids))
  return keys
}

type Task = { context: CliContext; ledger: Ledger; flags: CreateFlags; nowMs: number }

/** An account, a grant and a key; all of it or nothing. */
async function createKey(context: CliContext, flags: CreateFlags): Promise<void> {
  if (flags.days !== undefined && flags.tier === FREE_TIER_ID) {
    throw usageError('--days needs a --tier above free, which has no end.')
  }
  using ledger = openLedgerFile(context)
  const task = { context, ledger, flags, nowMs: context.clock() }
  await screen(task)
  const { key, apiKey, account } = ledger.atomically(() => create(task))
  for (const line of describe(task, apiKey, account)) context.printError(line)
  context.print(key)
}

/** As at signup, but where nothing can be asked the operator decides, and is warned. */
async function screen({ context, ledger, flags }: Task): Promise<void> {
  if (flags.address === undefined) return
  const { verdict } = await createScreening(context, ledger).screen(flags.address)
  if (verdict === 'hit') throw sanctioned(flags.address)
  if (verdict === 'clear') return
  context.printError('warning: the address could not be screened; docs/configuration.md says how')
}

const sanctioned = (address: string) =>
  new CliError(`${address} is on a sanctions list. No key was made.`)

function create(task: Task) {
  const { context, ledger, flags, nowMs } = task
  const { tier: tierId, label, days, address } = flags
  const known = ledger.listTiers().map((tier) => tier.tierId)
  if (!known.includes(tierId)) {
    throw usageError(`--tier ${redactKeys(tierId)} is none of ${known.join(', ')}.`)
  }
  const account =
    findAccount(task) ??
    ledger.createAccount({ id: `acc_${context.mint()}`, address, label }, byOperator(nowMs))
  assertAllowed(task, account)
  const endMs = days === undefined ? undefined : nowMs + days * DAY_MS
  const issue = { accountId: account.id, tierId, endMs, label, nowMs }
  return { ...issueKey(context, ledger, issue), account }
}

function findAccount({ ledger, flags }: Task): Account | undefined {
  if (flags.address !== undefined) return ledger.findAccountByAddress(flags.address)
  if (flags.account === undefined) return undefined
  const account = ledger.findAccount(flags.account)
  if (account) return account
  throw new CliError(
    `There is no account ${redactKeys(flags.account)}. bookfeed keys list --all shows them.`,
  )
}

/** Thrown from within the transaction, so nothing of a refused key is kept. */
function assertAllowed({ context, ledger, nowMs }: Task, account: Account): void {
  const { id, address, blockedMs } = account
  if (blockedMs !== undefined) {
    throw new CliError(`Account ${id} is blocked, because its address is on a sanctions list.`)
  }
  if (address !== undefined && ledger.isSanctioned(address)) throw sanctioned(address)
  const max = context.config().keysPerAccountMax
  if (ledger.countValidKeys(id, nowMs) < max) return
  throw new CliError(
    `Account ${id} has ${max} valid keys already. Revoke one, or raise BOOKFEED_KEYS_PER_ACCOUNT.`,
  )
}

function describe({ ledger, nowMs }: Task, apiKey: ApiKey, { id, address }: Account): string[] {
  const subscriptions = ledger.listSubscriptions(id)
  const { terms, subscription } = standingAt(subscriptions, ledger.listTiers(), nowMs)
  const end = formatTime(subscription?.endMs)
  return [
    `key      ${apiKey.id}, shown once: nobody can read it again`,
    `account  ${id}${address === undefined ? '' : `, ${address}`}`,
    `tier     ${terms.tierId}${end === undefined ? '' : ` until ${end}`}`,
  ]
}

type Issue = {
  accountId: string
  /** What to grant from now on; nothing is granted for the Free tier, which everybody has. */
  tierId: string
  /** Exclusive end of the grant; undefined for ever. */
  endMs?: number | undefined
  label?: string | undefined
  nowMs: number
}

/** Call it within `ledger.atomically`. The key itself is nowhere but in what is returned. */
export function issueKey(
  { mint, randomBytes }: CliContext,
  ledger: Ledger,
  { accountId, tierId, endMs, label, nowMs }: Issue,
): { key: string; apiKey: ApiKey } {
  const by = byOperator(nowMs)
  if (tierId !== FREE_TIER_ID) {
    ledger.addSubscription(
      { id: `sub_${mint()}`, accountId, tierId, terms: undefined, startMs: nowMs, endMs },
      by,
    )
  }
  const key = mintKey(randomBytes)
  const id = `key_${mint()}`
  const apiKey = ledger.createKey(
    { id, accountId, digest: digestOf(key), hint: hintOf(key), label, familyId: id },
    by,
  )
  return { key, apiKey }
}

const columns = [
  ...['id', 'account', 'address', 'label', 'ends-in'],
  ...['tier', 'created', 'last-used', 'status'],
]

function listKeys(context: CliContext, flags: ListFlags): void {
  using ledger = openExistingLedger(context)
  const rows = findRows(ledger, flags, context.clock())
  if (flags.json) context.print(renderJson(rows))
  else if (rows.length > 0) printTable(context, columns, rows.map(toCells))
  else context.printError(flags.all ? 'no keys' : 'no valid keys; --all lists the others')
}

function findRows(ledger: Ledger, { account, all }: ListFlags, nowMs: number) {
  if (account !== undefined && !ledger.findAccount(account)) {
    throw new CliError(`There is no account ${redactKeys(account)}.`)
  }
  const tiers = ledger.listTiers()
  const keys = ledger.listKeys(account).filter((key) => all || isValidKey(key, nowMs))
  return keys.map((key) => {
    const owner = ledger.findAccount(key.accountId)
    return {
      id: key.id,
      accountId: key.accountId,
      address: owner?.address ?? null,
      label: key.label ?? null,
      hint: key.hint,
      tier: standingAt(ledger.listSubscriptions(key.accountId), tiers, nowMs).terms.tierId,
      createdAt: formatTime(key.createdMs),
      lastUsedAt: formatTime(key.lastUsedMs) ?? null,
      expiresAt: formatTime(key.expiresMs) ?? null,
      revokedAt: formatTime(key.revokedMs) ?? null,
      status: statusOf(key, nowMs),
      isBlocked: owner?.blockedMs !== undefined,
    }
  })
}

function statusOf({ revokedMs, expiresMs }: ApiKey, nowMs: number): string {
  if (revokedMs !== undefined) return 'revoked'
  if (expiresMs === undefined) return 'valid'
  return expiresMs > nowMs ? 'expiring' : 'expired'
}

function toCells(row: ReturnType<typeof findRows>[number]) {
  const { id, accountId, address, label, hint, tier, createdAt, lastUsedAt, ...rest } = row
  const until = rest.status === 'expiring' ? ` until ${rest.expiresAt}` : ''
  const status = `${rest.status}${until}${rest.isBlocked ? ', account blocked' : ''}`
  return [id, accountId, address, label, hint, tier, createdAt, lastUsedAt, status]
}

/** One transaction each: a wrong id must not keep the others valid. */
function revokeKeys(context: CliContext, ids: readonly string[]): void {
  const by = byOperator(context.clock())
  using ledger = openExistingLedger(context)
  const unknown = [...new Set(ids)].filter((id) => {
    if (!ledger.findKey(id)) return true
    context.print(`${id}: ${ledger.revokeKey(id, by) ? 'revoked' : 'revoked before'}`)
    return false
  })
  if (unknown.length === 0) return
  // Somebody may have pasted the key instead of its id.
  throw new CliError(
    `Unknown: ${redactKeys(unknown.join(', '))}. bookfeed keys list shows the ids.`,
  )
}
