/** `bookfeed keys create`: an account, a grant and a key; all of it or nothing. */
import { DAY_MS } from '#src/core/time.ts'
import type { Account, ApiKey, Ledger } from '#src/ledger/ledger.ts'
import { redactKeys } from '#src/selling/api-key.ts'
import { standingAt } from '#src/selling/subscription.ts'
import { FREE_TIER_ID } from '#src/selling/tier.ts'

import { type CliContext, CliError, usageError } from './context.ts'
import { byOperator, issueKey } from './issue-key.ts'
import { openLedgerFile } from './open-data-folder.ts'
import { createScreening } from './screening.ts'
import { formatTime } from './table.ts'

export type CreateFlags = {
  tier: string
  label?: string
  days?: number
  /** Lower case. */
  address?: string
  account?: string
}

type Task = { context: CliContext; ledger: Ledger; flags: CreateFlags; nowMs: number }
type Created = { key: string; apiKey: ApiKey; account: Account }

/** Prints the key alone on standard output, so that a shell can take it, and the rest beside it. */
export async function createKey(context: CliContext, flags: CreateFlags): Promise<void> {
  if (flags.days !== undefined && flags.tier === FREE_TIER_ID) {
    throw usageError('--days needs a --tier above free, which has no end.')
  }
  using ledger = openLedgerFile(context)
  const task = { context, ledger, flags, nowMs: context.clock() }
  await screen(task)
  const created = ledger.atomically(() => create(task))
  for (const line of describe(task, created)) context.printError(line)
  context.print(created.key)
}

/** As at signup, but where nothing can be asked the operator decides, and is warned. */
async function screen({ context, ledger, flags }: Task): Promise<void> {
  if (flags.address === undefined) return
  const { verdict } = await createScreening(context, ledger).screen(flags.address)
  if (verdict === 'hit') {
    throw new CliError(`${flags.address} is on a sanctions list. No key was made.`)
  }
  if (verdict === 'clear') return
  context.printError('warning: the address could not be screened; docs/configuration.md says how')
}

function create(task: Task): Created {
  const { context, ledger, flags, nowMs } = task
  assertTier(task)
  const account = findAccount(task) ?? makeAccount(task)
  assertAllowed(task, account)
  const endMs = flags.days === undefined ? undefined : nowMs + flags.days * DAY_MS
  const { tier: tierId, label } = flags
  return {
    ...issueKey(context, ledger, { accountId: account.id, tierId, endMs, label, nowMs }),
    account,
  }
}

function assertTier({ ledger, flags }: Task): void {
  const known = ledger.listTiers().map(({ tierId }) => tierId)
  if (known.includes(flags.tier)) return
  throw usageError(`--tier ${redactKeys(flags.tier)} is none of ${known.join(', ')}.`)
}

/** The account that was asked for; undefined if one is to be made. */
function findAccount({ ledger, flags }: Task): Account | undefined {
  if (flags.address !== undefined) return ledger.findAccountByAddress(flags.address)
  if (flags.account === undefined) return undefined
  const account = ledger.findAccount(flags.account)
  if (account) return account
  throw new CliError(
    `There is no account ${redactKeys(flags.account)}. bookfeed keys list --all shows them.`,
  )
}

function makeAccount({ context, ledger, flags, nowMs }: Task): Account {
  const { address, label } = flags
  return ledger.createAccount({ id: `acc_${context.mint()}`, address, label }, byOperator(nowMs))
}

/** Thrown from within the transaction, so nothing of a refused key is kept. */
function assertAllowed({ context, ledger, nowMs }: Task, account: Account): void {
  const { id, address, blockedMs } = account
  if (blockedMs !== undefined) {
    throw new CliError(`Account ${id} is blocked, because its address is on a sanctions list.`)
  }
  if (address !== undefined && ledger.isSanctioned(address)) {
    throw new CliError(`${address} is on a sanctions list. No key was made.`)
  }
  const max = context.config().keysPerAccountMax
  if (ledger.countValidKeys(id, nowMs) < max) return
  throw new CliError(
    `Account ${id} has ${max} valid keys already. Revoke one, or raise BOOKFEED_KEYS_PER_ACCOUNT.`,
  )
}

function describe({ ledger, nowMs }: Task, { apiKey, account }: Created): string[] {
  const { terms, subscription } = standingAt(
    ledger.listSubscriptions(account.id),
    ledger.listTiers(),
    nowMs,
  )
  const end = formatTime(subscription?.endMs)
  const address = account.address === undefined ? '' : `, ${account.address}`
  return [
    `key      ${apiKey.id}, shown once: nobody can read it again`,
    `account  ${account.id}${address}`,
    `tier     ${terms.tierId}${end === undefined ? '' : ` until ${end}`}`,
  ]
}
