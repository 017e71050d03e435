/** Keys that the operator creates and revokes, and the accounts that they belong to. */

import { createApiKey, digestOf, hintOf, redactKeys } from '#src/domain/selling/api-key.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { FREE_TIER_ID } from '#src/domain/selling/tier.ts'
import { DAY_MS, formatTime } from '#src/domain/time.ts'
import { byOperator } from '#src/ledger/actor.ts'
import {
  type Account,
  type ApiKey,
  isValidKey,
  type Ledger,
  type LedgerReads,
  type LedgerTransaction,
} from '#src/ledger/ledger.ts'
import { count } from '#src/platform/count.ts'

import { wrongState, wrongValue } from './values.ts'

export const GRANT_DAYS_MAX = 36_500

type Random = { createId: () => string; randomBytes: (length: number) => Uint8Array }

export type KeyAsked = {
  /** The tier to grant from now on. */
  tierId: string
  label?: string | undefined
  /** The length of the grant; undefined for an unlimited one. */
  days?: number | undefined
  /** The wallet of the account in lower case. */
  address?: string | undefined
  /** The existing account. */
  accountId?: string | undefined
}
type Asked = KeyAsked & { keysMax: number; nowMs: number }

export function assertAsked({ tierId, days, address, accountId }: KeyAsked): void {
  if (days !== undefined && tierId === FREE_TIER_ID) {
    throw wrongValue('days', 'A grant in days needs a tier above Free, which has no end.')
  }
  if (address !== undefined && accountId !== undefined) {
    throw wrongValue('account', 'Give the account or the address, not both.')
  }
}

/**
 * Creates an account, a grant and a key in one transaction. The address must have been screened.
 */
export const giveKey = (
  ledger: Ledger,
  random: Random,
  asked: Asked,
): Promise<{ key: string; apiKey: ApiKey; account: Account }> =>
  ledger.atomically((transaction) => {
    const { tierId, label, days, nowMs } = asked
    assertAsked(asked)
    const known = transaction.listTiers().map((tier) => tier.tierId)
    if (!known.includes(tierId)) {
      const text = `The tier ${redactKeys(tierId)} is none of ${known.join(', ')}.`
      throw wrongValue('tier', text)
    }
    const account = findAccount(transaction, asked) ?? makeAccount(transaction, random, asked)
    assertAllowed(transaction, account, asked)
    const endMs = days === undefined ? undefined : nowMs + days * DAY_MS
    const issue = { accountId: account.id, tierId, endMs, label, nowMs }
    return { ...issueKey(random, transaction, issue), account }
  })

const makeAccount = (
  { createAccount }: LedgerTransaction,
  { createId }: Random,
  { address, label, nowMs }: Asked,
) => createAccount({ id: `acc_${createId()}`, address, label }, byOperator(nowMs))

function findAccount(ledger: LedgerReads, { address, accountId }: KeyAsked): Account | undefined {
  if (address !== undefined) return ledger.findAccountByAddress(address)
  return accountId === undefined ? undefined : knownAccount(ledger, accountId)
}

function knownAccount(ledger: LedgerReads, id: string): Account {
  const account = ledger.findAccount(id)
  if (account) return account
  throw wrongState('account', `There is no account ${redactKeys(id)}.`)
}

export const sanctionedFault = (address: string) =>
  wrongState('address', `${address} is on a sanctions list. No key was made.`)

/** Refuses a key by throwing inside the transaction, so that nothing of it is stored. */
function assertAllowed(
  ledger: LedgerReads,
  { id, address, blockedMs }: Account,
  asked: Asked,
): void {
  if (blockedMs !== undefined) {
    const why = 'because its address is on a sanctions list'
    throw wrongState('account', `Account ${id} is blocked, ${why}.`)
  }
  if (address !== undefined && ledger.isSanctioned(address)) throw sanctionedFault(address)
  const { keysMax, nowMs } = asked
  if (ledger.countValidKeys(id, nowMs) < keysMax) return
  throw wrongState(
    'account',
    `Account ${id} has ${count(keysMax, 'valid key')} already. Revoke one, or raise BOOKFEED_KEYS_PER_ACCOUNT.`,
  )
}

/**
 * Issues a key within a transaction of the ledger; the secret is only in the returned value. The
 * tier is granted from now until `endMs` (exclusive), or without end; the Free tier is never
 * granted.
 */
export function issueKey(
  { createId, randomBytes }: Random,
  { addSubscription, createKey }: LedgerTransaction,
  {
    accountId,
    tierId,
    endMs,
    label,
    nowMs,
  }: {
    accountId: string
    tierId: string
    endMs?: number | undefined
    label?: string | undefined
    nowMs: number
  },
): { key: string; apiKey: ApiKey } {
  const by = byOperator(nowMs)
  if (tierId !== FREE_TIER_ID) {
    addSubscription(
      { id: `sub_${createId()}`, accountId, tierId, terms: undefined, startMs: nowMs, endMs },
      by,
    )
  }
  const key = createApiKey(randomBytes)
  const id = `key_${createId()}`
  const apiKey = createKey(
    { id, accountId, digest: digestOf(key), hint: hintOf(key), label, familyId: id },
    by,
  )
  return { key, apiKey }
}

export type KeyRow = ReturnType<typeof listKeyRows>[number]

/** Keys with the tiers of their accounts, without their secrets. */
export function listKeyRows(
  ledger: Ledger,
  { accountId, isAll, nowMs }: { accountId?: string | undefined; isAll: boolean; nowMs: number },
) {
  if (accountId !== undefined) knownAccount(ledger, accountId)
  const tiers = ledger.listTiers()
  const keys = ledger.listKeys(accountId).filter((key) => isAll || isValidKey(key, nowMs))
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
      status: toKeyStatus(key, nowMs),
      isBlocked: owner?.blockedMs !== undefined,
    }
  })
}

export function toKeyStatus({ revokedMs, expiresMs }: ApiKey, nowMs: number): string {
  if (revokedMs !== undefined) return 'revoked'
  if (expiresMs === undefined) return 'valid'
  return expiresMs > nowMs ? 'expiring' : 'expired'
}

/**
 * The error for unknown ids, which it does not repeat: a key may have been pasted in place of an
 * id.
 */
export const unknownKeys = (ids: string) =>
  wrongState('id', `Unknown: ${redactKeys(ids)}. bookfeed keys list shows the ids.`)
