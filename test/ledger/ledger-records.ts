/**
 * Accounts, keys and the like for tests of the ledger, by number: the same number is the same one.
 */

import { createApiKey, digestOf, hintOf } from '#src/domain/selling/api-key.ts'
import type { Subscription } from '#src/domain/selling/subscription.ts'
import { defaultTiers, type Tier } from '#src/domain/selling/tier.ts'
import type { Actor, AuditContext } from '#src/ledger/actor.ts'
import type { ApiKey, KeyDraft, Ledger, UsageEntry } from '#src/ledger/ledger.ts'
import { createRandom } from '#src/platform/random.ts'

export const NOW_MS = Date.UTC(2026, 10, 21)
export const DAY_MS = 86_400_000

export const by = (nowMs = NOW_MS, actor: Actor = 'operator'): AuditContext => ({ actor, nowMs })

export const accountIdOf = (number: number): string => `acc_${number}`
export const keyIdOf = (number: number): string => `key_${number}`
export const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, 'a')}`

/** The whole key that no ledger may ever hold. */
export function keyTextOf(number: number): string {
  const random = createRandom(`key ${number}`)
  return createApiKey((length) => Uint8Array.from({ length }, () => random.integer(256)))
}

export const aKey = (number: number, changes: Partial<KeyDraft> = {}): KeyDraft => ({
  id: keyIdOf(number),
  accountId: accountIdOf(1),
  digest: digestOf(keyTextOf(number)),
  hint: hintOf(keyTextOf(number)),
  familyId: keyIdOf(number),
  ...changes,
})

/** A signup by wallet `number`, with its own challenge, account and key. */
export const aSignup = (number: number, changes: Partial<Signup> = {}): Signup => ({
  nonce: `nonce ${number}`,
  expiresMs: NOW_MS + 10,
  accountId: accountIdOf(number),
  address: addressOf(number),
  key: { id: keyIdOf(number), digest: aKey(number).digest, hint: aKey(number).hint },
  keysMax: 1,
  ...changes,
})
type Signup = Parameters<Ledger['signUp']>[0]

type SubscriptionDraft = Omit<Subscription, 'createdMs'>
export const aSubscription = (
  number: number,
  changes: Partial<SubscriptionDraft> = {},
): SubscriptionDraft => ({
  id: `sub_${number}`,
  accountId: accountIdOf(1),
  tierId: 'pro',
  startMs: NOW_MS,
  ...changes,
})

export const someUsage = (number: number, changes: Partial<UsageEntry> = {}): UsageEntry => ({
  keyId: keyIdOf(number),
  day: '2026-11-21',
  route: 'prices',
  requests: 1,
  bytes: 100,
  lastUsedMs: NOW_MS,
  ...changes,
})

/** A tier of the default catalogue. */
export function tierOf(tierId: string): Tier {
  const tier = defaultTiers.find((each) => each.tierId === tierId)
  if (tier === undefined) throw new Error(`There is no tier ${tierId}.`)
  return tier
}

/** Makes account 1 and its key 1. */
export async function createKeyOne(ledger: Ledger): Promise<Promise<ApiKey>> {
  await ledger.createAccount({ id: accountIdOf(1), address: addressOf(1) }, by())
  return ledger.createKey(aKey(1), by())
}

/** What the audit chain holds, seeds left out. */
export const auditOf = (ledger: Ledger) =>
  ledger.listAudit(defaultTiers.length, 1000).map(({ action, subject, actor, state, timeMs }) => ({
    deed: `${actor} ${action} ${subject}`,
    timeMs,
    state: JSON.parse(state),
  }))

export const deedsOf = (ledger: Ledger): string[] => auditOf(ledger).map(({ deed }) => deed)
