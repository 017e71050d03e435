/** What an account does with its keys. Another account's keys are answered like unknown ones. */
import { AppError } from '#src/core/errors.ts'
import { toIso } from '#src/core/time.ts'
import type { Keep, Outcome } from '#src/http/idempotency.ts'
import { type ApiKey, type Deed, isValidKey } from '#src/ledger/ledger.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/selling/caller.ts'
import { excerpt } from '#src/selling/excerpt.ts'

import { type ChallengeDeps, createChallenges } from './challenge.ts'
import type { KeyBody, KeyList, NewKey, RotateBody, RotatedKey } from './model.ts'
import { type KeyDeps, keyLimitError, makeKey } from './new-key.ts'
import { createSignup, type SignupDeps } from './signup.ts'

export type KeyServiceDeps = ChallengeDeps & KeyDeps & SignupDeps
type Asked = { caller: Caller; id: string }
type RotateRequest = { body: RotateBody; keep: Keep }

/** Makes the service of a ledger. */
export function createKeyService(deps: KeyServiceDeps) {
  return {
    ...createSignup(deps, createChallenges(deps)),

    /** The caller's valid keys, oldest first. */
    list(caller: Caller): KeyList {
      const nowMs = deps.clock()
      const keys = deps.ledger.listKeys(caller.accountId)
      const valid = keys.filter((key) => isValidKey(key, nowMs))
      return { data: valid.map((key) => toBody(key, caller.keyId)), nextCursor: null }
    },

    /** Replaces a key. Throws `unknown_key`, `key_replaced`, `key_limit`. */
    rotate: (asked: Asked, body: RotateBody, keep: Keep): Outcome =>
      rotate(deps, asked, { body, keep }),

    /** Ends a key for good; nothing happens if that was done before. Throws `unknown_key`. */
    revoke(asked: Asked): void {
      const { id } = findOwn(deps, asked)
      deps.ledger.revokeKey(id, toDeed(deps, asked.caller))
    },
  }
}

export type KeyService = ReturnType<typeof createKeyService>

/**
 * The body may have come long after the key was checked, and after it was
 * revoked: the ledger checks it again.
 */
function rotate(deps: KeyServiceDeps, { caller, id }: Asked, request: RotateRequest): Outcome {
  const { label, overlapSeconds } = request.body
  const deed = toDeed(deps, caller)
  const overlapMs = overlapSeconds * 1000
  const keysMax = deps.keysPerAccountMax
  const print = (key: NewKey): RotatedKey => ({
    ...key,
    replaces: { id, expiresAt: toIso(deed.nowMs + overlapMs) },
  })
  return makeKey(deps, { label, keep: request.keep, print }, (key, once) => {
    const { accountId, keyId: callerKeyId } = caller
    const rotation = { id, accountId, callerKeyId, key, overlapMs, keysMax, once }
    const done = deps.ledger.rotateKey(rotation, deed)
    switch (done.kind) {
      case 'caller_invalid':
        throw unauthenticatedError()
      case 'blocked':
        throw blockedError()
      case 'unknown_key':
        throw unknownError(id)
      case 'replaced':
        throw replacedError(done.expiresMs)
      case 'key_limit':
        throw keyLimitError(keysMax)
      default:
        return done
    }
  })
}

const toDeed = ({ clock }: KeyServiceDeps, { accountId }: Caller): Deed => ({
  actor: `account:${accountId}`,
  nowMs: clock(),
})

function findOwn({ ledger }: KeyServiceDeps, { caller, id }: Asked): ApiKey {
  const key = ledger.findKey(id)
  if (key?.accountId === caller.accountId) return key
  throw unknownError(id)
}

const unknownError = (id: string) =>
  new AppError(
    'unknown_key',
    `You have no valid key ${excerpt(id)}. GET /v1/keys lists those you have.`,
    { param: 'id' },
  )

const replacedError = (expiresMs: number) =>
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
