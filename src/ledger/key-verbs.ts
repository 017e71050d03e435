/** What is done to keys, by the operator and by their owners. Each verb is one transaction. */
import { standingAt } from '#src/selling/subscription.ts'

import {
  type ApiKey,
  type Deed,
  isValidKey,
  type KeyDraft,
  type KeyMade,
  type Ledger,
  type Once,
  type Replayed,
} from './ledger.ts'
import type { Tables } from './sqlite-ledger.ts'

type Signup = Parameters<Ledger['signUp']>[0]
type Rotation = Parameters<Ledger['rotateKey']>[0]

export function createKeyVerbs(tables: Tables) {
  const { atomically, record, accounts, keys, answers } = tables

  /** With the kept answer, where the change must not be done twice. */
  const run = <End extends { kind: string }>(
    { once }: { once?: Once | undefined },
    nowMs: number,
    change: () => End,
  ): End | Replayed =>
    atomically(() => {
      const answer = once && answers.find(once.id, nowMs)
      if (answer !== undefined) return { kind: 'replayed', answer }
      const end = change()
      if (once !== undefined && isMade(end)) answers.put(once.answer(end), nowMs)
      return end
    })

  return {
    isNew: () => !keys.isAny(),
    findKeyByDigest: keys.findByDigest,
    findKey: keys.find,
    listKeys: keys.list,
    countValidKeys: keys.countValid,

    createKey: (draft, by) =>
      atomically(() => {
        accounts.get(draft.accountId)
        return insertKey(tables, draft, by)
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

    signUp: (signup, nowMs) => run(signup, nowMs, () => signUp(tables, signup, nowMs)),
    rotateKey: (rotation, by) => run(rotation, by.nowMs, () => rotateKey(tables, rotation, by)),
  } satisfies Partial<Ledger>
}

const isMade = (end: { kind: string }): end is KeyMade => end.kind === 'made'

/** Whatever refuses does so before anything is written. */
function signUp(tables: Tables, signup: Signup, nowMs: number): ReturnType<Ledger['signUp']> {
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
  return makeKey(tables, { ...key, accountId: id, familyId }, by)
}

/**
 * The family of a new key: one whose keys have all ended, if there is one, so that deleting keys
 * and making others opens no fresh rate windows.
 */
function findEndedFamily(keys: readonly ApiKey[], nowMs: number): string | undefined {
  const running = new Set(keys.filter((key) => isValidKey(key, nowMs)).map((key) => key.familyId))
  return keys.findLast(({ familyId }) => !running.has(familyId))?.familyId
}

function rotateKey(tables: Tables, rotation: Rotation, by: Deed): ReturnType<Ledger['rotateKey']> {
  const { record, accounts, keys } = tables
  const { id, accountId, key, keysMax, overlapMs } = rotation
  const { nowMs } = by
  const asking = keys.find(rotation.callerKeyId)
  if (asking === undefined || !isValidKey(asking, nowMs)) return { kind: 'caller_invalid' }
  if (accounts.get(accountId).blockedMs !== undefined) return { kind: 'blocked' }
  const old = keys.find(id)
  if (old?.accountId !== accountId || !isValidKey(old, nowMs)) return { kind: 'unknown_key' }
  if (old.expiresMs !== undefined) return { kind: 'replaced', expiresMs: old.expiresMs }
  // The one that it replaces does not count.
  if (keys.countValid(accountId, nowMs) > keysMax) return { kind: 'key_limit' }

  const { familyId } = old
  const made = makeKey(tables, { ...key, label: key.label ?? old.label, accountId, familyId }, by)
  if (keys.expire({ id, expiresMs: nowMs + overlapMs })) record(by, 'key.expiring', id)
  return made
}

function insertKey({ record, keys }: Tables, draft: KeyDraft, by: Deed): ApiKey {
  keys.insert({ ...draft, createdMs: by.nowMs })
  record(by, 'key.created', draft.id)
  return keys.get(draft.id)
}

function makeKey(tables: Tables, draft: KeyDraft, by: Deed): KeyMade {
  const { accounts, subscriptions, tiers } = tables
  const key = insertKey(tables, draft, by)
  const account = accounts.get(draft.accountId)
  const { terms } = standingAt(subscriptions.list(account.id), tiers.list(), by.nowMs)
  return { kind: 'made', key, account, tierId: terms.tierId }
}
