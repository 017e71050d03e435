import { AppError } from '#src/core/errors.ts'
/** What an account does with its keys. Another account's keys are answered like unknown ones. */
import { toIso } from '#src/core/time.ts'
import { type ApiKey, type Deed, isValidKey } from '#src/ledger/ledger.ts'
import { assert } from '#src/lib/assert.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/selling/caller.ts'
import { excerpt } from '#src/selling/excerpt.ts'

import { type ChallengeDeps, createChallenges } from './challenge.ts'
import type { KeyBody, KeyList, RotateBody, RotatedKey } from './model.ts'
import { createKeyMaker, type KeyMakerDeps, type MakeKey } from './new-key.ts'
import { createSignup, type SignupDeps } from './signup.ts'

export type KeyDeps = ChallengeDeps & KeyMakerDeps & SignupDeps
type Asked = { caller: Caller; id: string }

/** Makes the service of a ledger. */
export function createKeyService(deps: KeyDeps) {
  const makeKey = createKeyMaker(deps)
  const challenges = createChallenges(deps)
  return {
    ...createSignup(deps, { challenges, makeKey }),

    /** The caller's valid keys, oldest first. */
    list(caller: Caller): KeyList {
      const nowMs = deps.clock()
      const keys = deps.ledger.listKeys(caller.accountId)
      const valid = keys.filter((key) => isValidKey(key, nowMs))
      return { data: valid.map((key) => toBody(key, caller.keyId)), nextCursor: null }
    },

    /** Replaces a key; must run in a transaction. Throws `unknown_key`, `key_replaced`, `key_limit`. */
    rotate: (asked: Asked, body: RotateBody): RotatedKey => rotate(deps, makeKey, { asked, body }),

    /** Ends a key for good; nothing happens if that was done before. Throws `unknown_key`. */
    revoke(asked: Asked): void {
      const { id } = findOwn(deps, asked)
      deps.ledger.revokeKey(id, toDeed(deps, asked.caller))
    },
  }
}

export type KeyService = ReturnType<typeof createKeyService>

function rotate(
  deps: KeyDeps,
  makeKey: MakeKey,
  { asked, body }: { asked: Asked; body: RotateBody },
): RotatedKey {
  const { ledger } = deps
  const deed = toDeed(deps, asked.caller)
  assertStillValid(deps, asked.caller, deed.nowMs)
  const old = findOwn(deps, asked)
  if (!isValidKey(old, deed.nowMs)) throw refuseUnknown(asked.id)
  if (old.expiresMs !== undefined) throw refuseReplaced(old.expiresMs)
  const account = ledger.findAccount(old.accountId)
  assert(account !== undefined, 'A key has an account.')
  const { familyId } = old
  const label = body.label ?? old.label
  const made = makeKey({ account, label, familyId, replacedCount: 1 }, deed)
  const expiresMs = deed.nowMs + body.overlapSeconds * 1000
  ledger.expireKey(old.id, expiresMs, deed)
  return { ...made, replaces: { id: old.id, expiresAt: toIso(expiresMs) } }
}

/** The body may have come long after the key was checked, and after it was revoked. */
function assertStillValid({ ledger }: KeyDeps, caller: Caller, nowMs: number): void {
  const key = ledger.findKey(caller.keyId)
  if (key === undefined || !isValidKey(key, nowMs)) throw unauthenticatedError()
  if (ledger.findAccount(caller.accountId)?.blockedMs !== undefined) throw blockedError()
}

const toDeed = ({ clock }: KeyDeps, { accountId }: Caller): Deed => ({
  actor: `account:${accountId}`,
  nowMs: clock(),
})

function findOwn({ ledger }: KeyDeps, { caller, id }: Asked): ApiKey {
  const key = ledger.findKey(id)
  if (key?.accountId === caller.accountId) return key
  throw refuseUnknown(id)
}

const refuseUnknown = (id: string) =>
  new AppError(
    'unknown_key',
    `You have no valid key ${excerpt(id)}. GET /v1/keys lists those you have.`,
    { param: 'id' },
  )

const refuseReplaced = (expiresMs: number) =>
  new AppError(
    'key_replaced',
    `This key was replaced already and ends at ${toIso(expiresMs)}. Rotate the one that replaced it; GET /v1/keys lists both.`,
    { param: 'id' },
  )

const toBody = (key: ApiKey, currentId: string): KeyBody => ({
  id: key.id,
  label: key.label ?? null,
  hint: key.hint,
  status: key.expiresMs === undefined ? 'active' : 'expiring',
  isCurrent: key.id === currentId,
  createdAt: toIso(key.createdMs),
  expiresAt: key.expiresMs === undefined ? null : toIso(key.expiresMs),
  lastUsedAt: key.lastUsedMs === undefined ? null : toIso(key.lastUsedMs),
})
