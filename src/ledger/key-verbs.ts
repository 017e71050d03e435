/** What is done to keys, by the operator and by their owners. Each verb is one transaction. */
import { standingAt } from '#src/selling/subscription.ts'

import {
  type Account,
  type Deed,
  findEndedFamily,
  isValidKey,
  type KeyMade,
  type KeySecret,
  type Ledger,
  type Once,
  type Replayed,
} from './ledger.ts'
import type { Tables } from './sqlite-ledger.ts'

type Signup = Parameters<Ledger['signUp']>[0]
type SignupEnd = Exclude<ReturnType<Ledger['signUp']>, Replayed>
type Rotation = Parameters<Ledger['rotateKey']>[0]
type RotationEnd = Exclude<ReturnType<Ledger['rotateKey']>, Replayed>

export function createKeyVerbs(tables: Tables) {
  const { atomically, record, accounts, keys, answers } = tables

  /** With the kept answer, where the change must not be done twice. */
  function run<End extends KeyMade | { kind: string }>(
    { once, nowMs }: { once: Once | undefined; nowMs: number },
    change: () => End,
  ): End | Replayed {
    return atomically(() => {
      const answer = once && answers.find(once.id, nowMs)
      if (answer !== undefined) return { kind: 'replayed', answer }
      const end = change()
      if (once !== undefined && isMade(end)) answers.put(once.answer(end), nowMs)
      return end
    })
  }

  return {
    isNew: () => !keys.isAny(),
    findKeyByDigest: keys.findByDigest,
    findKey: keys.find,
    listKeys: keys.list,
    countValidKeys: keys.countValid,

    createKey: (draft, by) =>
      atomically(() => {
        accounts.get(draft.accountId)
        keys.insert({ ...draft, createdMs: by.nowMs })
        record(by, 'key.created', draft.id)
        return keys.get(draft.id)
      }),

    expireKey: (id, expiresMs, by) =>
      atomically(() => {
        keys.get(id)
        if (keys.expire({ id, expiresMs })) record(by, 'key.expiring', id)
      }),

    revokeKey: (id, by) =>
      atomically(() => {
        keys.get(id)
        const isRevoked = keys.revoke({ id, revokedMs: by.nowMs })
        if (isRevoked) record(by, 'key.revoked', id)
        return isRevoked
      }),

    signUp: (signup, nowMs) =>
      run({ once: signup.once, nowMs }, () => signUp(tables, signup, nowMs)),

    rotateKey: (rotation, by) =>
      run({ once: rotation.once, nowMs: by.nowMs }, () => rotateKey(tables, rotation, by)),
  } satisfies Partial<Ledger>
}

const isMade = (end: { kind: string }): end is KeyMade => end.kind === 'made'

/** Whatever refuses does so before anything is written. */
function signUp(tables: Tables, signup: Signup, nowMs: number): SignupEnd {
  const { record, accounts, keys, nonces } = tables
  const { nonce, expiresMs, address, key, keysMax } = signup
  nonces.forgetExpired(nowMs)
  if (nonces.has(nonce)) return { kind: 'nonce_used' }
  const known = accounts.findByAddress(address)
  if (known?.blockedMs !== undefined) return { kind: 'blocked' }
  const id = known?.id ?? signup.accountId
  const isFree = known === undefined || accounts.isFree(id)
  if (!isFree && keys.countValid(id, nowMs) >= keysMax) return { kind: 'key_limit' }

  nonces.insert({ nonce, expiresMs })
  const by = { actor: `account:${id}` as const, nowMs }
  if (known === undefined) {
    accounts.insert({ id, address, createdMs: nowMs })
    record(by, 'account.created', id)
  }
  const ended = isFree ? keys.list(id).filter((one) => isValidKey(one, nowMs)) : []
  for (const one of ended) {
    keys.revoke({ id: one.id, revokedMs: nowMs })
    record(by, 'key.revoked', one.id)
  }
  const familyId = findEndedFamily(keys.list(id), nowMs) ?? key.id
  return makeKey(tables, { account: accounts.get(id), key, familyId }, by)
}

function rotateKey(tables: Tables, rotation: Rotation, by: Deed): RotationEnd {
  const { record, accounts, keys } = tables
  const { id, accountId, key, keysMax, overlapMs } = rotation
  const { nowMs } = by
  const asking = keys.find(rotation.callerKeyId)
  if (asking === undefined || !isValidKey(asking, nowMs)) return { kind: 'caller_invalid' }
  const account = accounts.get(accountId)
  if (account.blockedMs !== undefined) return { kind: 'blocked' }
  const old = keys.find(id)
  if (old?.accountId !== accountId || !isValidKey(old, nowMs)) return { kind: 'unknown_key' }
  if (old.expiresMs !== undefined) return { kind: 'replaced', expiresMs: old.expiresMs }
  // The one that it replaces does not count.
  if (keys.countValid(accountId, nowMs) > keysMax) return { kind: 'key_limit' }

  const { familyId } = old
  const label = key.label ?? old.label
  const made = makeKey(tables, { account, key: { ...key, label }, familyId }, by)
  if (keys.expire({ id, expiresMs: nowMs + overlapMs })) record(by, 'key.expiring', id)
  return made
}

function makeKey(
  { record, keys, subscriptions, tiers }: Tables,
  { account, key, familyId }: { account: Account; key: KeySecret; familyId: string },
  by: Deed,
): KeyMade {
  const { nowMs } = by
  keys.insert({ ...key, accountId: account.id, familyId, createdMs: nowMs })
  record(by, 'key.created', key.id)
  const { terms } = standingAt(subscriptions.list(account.id), tiers.list(), nowMs)
  return { kind: 'made', key: keys.get(key.id), account, tierId: terms.tierId }
}
