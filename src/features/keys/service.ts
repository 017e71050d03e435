/**
 * At signup everything that may wait (wallet, screening) comes first and changes nothing; then one
 * transaction takes the message as answered and makes account and key, or leaves all as it was.
 * Another account's keys are answered like unknown ones.
 */
import { AppError, parameterError } from '#src/domain/errors.ts'
import { createApiKey, digestOf, hintOf, holdsKey } from '#src/domain/selling/api-key.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/domain/selling/caller.ts'
import { excerpt } from '#src/domain/selling/excerpt.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import { assertSigned } from '#src/domain/selling/wallet.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import {
  type ApiKey,
  type AuditContext,
  isValidKey,
  type KeyMade,
  type KeySecret,
  type Ledger,
  type Once,
  type Replayed,
  type StoredAnswer,
} from '#src/ledger/ledger.ts'

import { type ChallengeDeps, createChallenges } from './challenge.ts'
import type {
  Challenge,
  KeyBody,
  KeyList,
  LabelBody,
  NewKey,
  RotateBody,
  RotatedKey,
  SignupBody,
} from './schema.ts'

export type KeyDeps = ChallengeDeps & {
  ledger: Ledger
  createId: () => string
  screen: Screen
  signup: () => SignupState
  keysPerAccountMax: number
}
type Asked = { caller: Caller; id: string }

/** How a key that was made is kept in the transaction that makes it; undefined where it is not. */
export type KeepKey<Made> = { id: string; seal(made: Made): StoredAnswer } | undefined
/** A key that was made now, or what was answered before. */
export type KeyOutcome<Made> = { made: Made } | { replayed: StoredAnswer }
type Wanted<Made> = {
  label: string | undefined
  keep: KeepKey<Made>
  toMade: (key: NewKey) => Made
}

const SCREENING_RETRY_SECONDS = 60

export function createSignup(deps: KeyDeps) {
  const { ledger, clock, wallets, signup, keysPerAccountMax: keysMax } = deps
  const challenges = createChallenges(deps)

  return {
    /** Gives out the message to be signed. Throws `signup_closed`. */
    async challenge(address: string): Promise<Challenge> {
      assertOpen(signup())
      return challenges.issue(address)
    },

    /** Under whose name a signed message counts: that of the account it claims. */
    async scopeOf(message: string): Promise<string> {
      const { address = '' } = await wallets.readSignIn(message)
      return `signup ${address.toLowerCase()}`
    },

    async prepare({ message, signature, label, keepKeys = false }: SignupBody) {
      assertOpen(signup())
      const genuine = await challenges.verify(message)
      const { address } = genuine
      assertSigned(await wallets.checkSignature({ address, message, signature }))
      await assertAllowed(deps, address)
      return (keep: KeepKey<NewKey>) =>
        makeKey(deps, { label, keep, toMade: (made) => made }, (key, once) => {
          const nowMs = clock()
          challenges.assertFresh(genuine.expiresMs, nowMs)
          const accountId = `acc_${deps.createId()}`
          const draft = { ...genuine, accountId, key, keysMax, keepKeys, once }
          const done = ledger.signUp(draft, nowMs)
          if (isDone(done)) return done
          if (done.kind === 'nonce_used') {
            throw new AppError(
              'challenge_used',
              'This message was signed in with before. Ask POST /v1/keys/challenge for a new one and sign that.',
            )
          }
          // Since it was screened, or until it is screened again.
          if (done.kind === 'blocked') throw sanctionedError()
          if (done.kind === 'has_key') throw hasKeyError()
          throw keyLimitError(keysMax)
        })
    },
  }
}

const isDone = (done: { kind: string }): done is KeyMade | Replayed =>
  done.kind === 'made' || done.kind === 'replayed'

export function createOwnKeys(deps: KeyDeps) {
  const { ledger, clock, keysPerAccountMax: keysMax } = deps
  const toDeed = ({ accountId }: Caller): AuditContext => {
    return { actor: `account:${accountId}`, nowMs: clock() }
  }

  return {
    list(caller: Caller): KeyList {
      const nowMs = clock()
      const valid = ledger.listKeys(caller.accountId).filter((key) => isValidKey(key, nowMs))
      return { data: valid.map((key) => toBody(key, caller.keyId)), nextCursor: null }
    },

    /** The body may come late: checked again. Throws `unknown_key`, `key_replaced`, `key_limit`. */
    rotate(
      { caller, id }: Asked,
      { label, overlapSeconds }: RotateBody,
      keep: KeepKey<RotatedKey>,
    ): KeyOutcome<RotatedKey> {
      const deed = toDeed(caller)
      const overlapMs = overlapSeconds * 1000
      const replaces = { id, expiresAt: toIso(deed.nowMs + overlapMs) }
      const toMade = (made: NewKey): RotatedKey => ({ ...made, replaces })
      return makeKey(deps, { label, keep, toMade }, (key, once) => {
        const { accountId, keyId: callerKeyId } = caller
        const rotation = { id, accountId, callerKeyId, key, overlapMs, keysMax, once }
        const done = ledger.rotateKey(rotation, deed)
        if (isDone(done)) return done
        if (done.kind === 'caller_invalid') throw unauthenticatedError()
        if (done.kind === 'blocked') throw blockedError()
        if (done.kind === 'unknown_key') throw unknownError(id)
        if (done.kind === 'replaced') throw replacedError(done.expiresMs)
        throw keyLimitError(keysMax)
      })
    },

    /** The body may come late: checked again. Throws `unknown_key`. */
    label({ caller, id }: Asked, { label }: LabelBody): KeyBody {
      assertNoKey(label)
      const deed = toDeed(caller)
      return ledger.atomically(() => {
        const asking = ledger.findKey(caller.keyId)
        if (asking === undefined || !isValidKey(asking, deed.nowMs)) throw unauthenticatedError()
        const key = ledger.findKey(id)
        const isOwn = key?.accountId === caller.accountId && isValidKey(key, deed.nowMs)
        if (!isOwn) throw unknownError(id)
        ledger.labelKey(id, label, deed)
        return toBody({ ...key, label }, caller.keyId)
      })
    },

    /** Ends a key for good; nothing happens if that was done before. Throws `unknown_key`. */
    revoke({ caller, id }: Asked): void {
      if (ledger.findKey(id)?.accountId !== caller.accountId) throw unknownError(id)
      ledger.revokeKey(id, toDeed(caller))
    },
  }
}

function assertOpen(state: SignupState): void {
  if (!state.isOpen) throw new AppError('signup_closed', state.reason)
}

/** Fails closed: without an answer nobody is let in. A hit blocks what the address has already. */
async function assertAllowed({ screen, ledger, clock }: KeyDeps, address: string) {
  const { verdict } = await screen(address)
  if (verdict === 'clear') return
  if (verdict === 'unknown') {
    throw new AppError('screening_unavailable', 'The address could not be screened. Try again.', {
      retryAfterSeconds: SCREENING_RETRY_SECONDS,
    })
  }
  const account = ledger.findAccountByAddress(address)
  if (account) ledger.setBlocked(account.id, true, { actor: 'system', nowMs: clock() })
  throw sanctionedError()
}

/** Makes a key by a verb of the ledger, which throws for what it refuses; it is shown this once. */
function makeKey<Made>(
  { createId, randomBytes }: KeyDeps,
  { label, keep, toMade }: Wanted<Made>,
  verb: (key: KeySecret, once: Once | undefined) => KeyMade | Replayed,
): KeyOutcome<Made> {
  if (label !== undefined) assertNoKey(label)
  const key = createApiKey(randomBytes)
  const shown = (made: KeyMade): Made => toMade(toNewKey(key, made))
  const once = keep && { id: keep.id, answer: (made: KeyMade) => keep.seal(shown(made)) }
  const secret = { id: `key_${createId()}`, digest: digestOf(key), hint: hintOf(key), label }
  const done = verb(secret, once)
  return done.kind === 'made' ? { made: shown(done) } : { replayed: done.answer }
}

function assertNoKey(label: string): void {
  if (!holdsKey(label)) return
  throw parameterError('label', '`label` holds a key. It is kept in clear: choose another.')
}

const toNewKey = (key: string, { key: made, account, tierId }: KeyMade): NewKey => ({
  key,
  id: made.id,
  label: made.label ?? null,
  hint: made.hint,
  tier: tierId,
  createdAt: toIso(made.createdMs),
  expiresAt: null,
  address: account.address ?? null,
})

const toBody = (key: ApiKey, currentId: string): KeyBody => ({
  id: key.id,
  label: key.label ?? null,
  hint: key.hint,
  status: key.expiresMs === undefined ? 'active' : 'expiring',
  isCurrent: key.id === currentId,
  createdAt: toIso(key.createdMs),
  expiresAt: toIsoOrNull(key.expiresMs),
  lastUsedAt: toIsoOrNull(key.lastUsedMs),
})

const sanctionedError = () =>
  new AppError('sanctioned', 'The address is on a sanctions list. No key can be given to it.')

const keyLimitError = (max: number) =>
  new AppError(
    'key_limit',
    `The account has ${max} valid keys, as many as it may have. GET /v1/keys lists them; revoke one by DELETE /v1/keys/{id}.`,
  )

const hasKeyError = () =>
  new AppError(
    'key_limit',
    'The wallet has a valid key. Use that key; without `keepKeys` a new one is made, and the old key of an account that has bought nothing ends.',
  )

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
