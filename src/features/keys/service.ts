/**
 * Keys of an account, and sign-up with a wallet. At sign-up, everything that waits (signature,
 * screening) comes first and changes nothing; then one transaction marks the message as used and
 * makes account and key. Keys of another account are reported as unknown.
 */
import { AppError, parameterError } from '#src/domain/errors.ts'
import { createApiKey, digestOf, excerpt, hintOf, holdsKey } from '#src/domain/selling/api-key.ts'
import { blockedError, type Caller, unauthenticatedError } from '#src/domain/selling/caller.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import { assertSigned } from '#src/domain/selling/wallet.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import { jsonAnswer, type Keep, type Outcome } from '#src/http/idempotency.ts'
import type { AuditContext } from '#src/ledger/actor.ts'
import {
  type ApiKey,
  isValidKey,
  type KeyMade,
  type KeySecret,
  type Ledger,
  type Once,
  type Replayed,
} from '#src/ledger/ledger.ts'
import { count } from '#src/platform/count.ts'

import { type ChallengeOptions, createChallenges } from './challenge.ts'
import type { KeyBody, KeyList, NewKey, RotateBody, SignupBody } from './schema.ts'

export type KeyOptions = ChallengeOptions & {
  ledger: Ledger
  createId: () => string
  screen: Screen
  signup: () => SignupState
  keysPerAccountMax: number
}

const SCREENING_RETRY_SECONDS = 60

export function createKeyService(options: KeyOptions) {
  const { ledger, clock, randomBytes, createId, wallets, screen, signup } = options
  const keysMax = options.keysPerAccountMax
  const challenges = createChallenges(options)
  const byCaller = ({ accountId }: Caller): AuditContext => {
    return { actor: `account:${accountId}`, nowMs: clock() }
  }

  function assertOpen(): void {
    const state = signup()
    if (!state.isOpen) throw new AppError('signup_closed', state.reason)
  }

  /**
   * Fails closed: without an answer of the screening, the address is refused. A hit blocks the
   * account.
   */
  async function assertNotSanctioned(address: string): Promise<void> {
    const { verdict } = await screen(address)
    if (verdict === 'clear') return
    if (verdict === 'unknown') {
      throw new AppError('screening_unavailable', 'The address could not be screened. Try again.', {
        retryAfterSeconds: SCREENING_RETRY_SECONDS,
      })
    }
    const account = ledger.findAccountByAddress(address)
    if (account) await ledger.setBlocked(account.id, true, { actor: 'system', nowMs: clock() })
    throw sanctionedError()
  }

  /**
   * Makes a key in one ledger transaction, which may throw a refusal. The response shows the key
   * only once; with `keep`, the same transaction stores the response.
   */
  async function makeKey(
    label: string | undefined,
    keep: Keep,
    toBody: (key: NewKey) => object,
    verb: (key: KeySecret, once: Once | undefined) => Promise<KeyMade | Replayed>,
  ): Promise<Outcome> {
    if (label !== undefined) assertNoKey(label)
    const key = createApiKey(randomBytes)
    const toAnswer = ({ key: made, account, tierId }: KeyMade) => {
      const body = toBody({
        key,
        id: made.id,
        label: made.label ?? null,
        hint: made.hint,
        tier: tierId,
        createdAt: toIso(made.createdMs),
        expiresAt: null,
        address: account.address ?? null,
      })
      return jsonAnswer(201, body, { 'Cache-Control': 'no-store' })
    }
    const done = await verb(
      { id: `key_${createId()}`, digest: digestOf(key), hint: hintOf(key), label },
      keep && { id: keep.id, answer: (made) => keep.seal(toAnswer(made)) },
    )
    return done.kind === 'made' ? { answer: toAnswer(done) } : { replayed: done.answer }
  }

  return {
    /** Creates the message to sign. Throws `signup_closed`. */
    async challenge(address: string) {
      assertOpen()
      return challenges.issue(address)
    },

    /** Idempotency scope of a signed message: the account that it claims. */
    async signupScope(message: string): Promise<string> {
      const { address = '' } = await wallets.readSignIn(message)
      return `signup ${address.toLowerCase()}`
    },

    /** Runs all checks that wait; the result makes the key synchronously. */
    async signUp({ message, signature, label, keepKeys = false }: SignupBody) {
      assertOpen()
      const genuine = await challenges.verify(message)
      const { address } = genuine
      assertSigned(await wallets.checkSignature({ address, message, signature }))
      await assertNotSanctioned(address)
      return (keep: Keep): Promise<Outcome> =>
        makeKey(
          label,
          keep,
          (key) => key,
          async (key, once) => {
            const nowMs = clock()
            challenges.assertFresh(genuine.expiresMs, nowMs)
            const accountId = `acc_${createId()}`
            const draft = { ...genuine, accountId, key, keysMax, keepKeys, once }
            const done = await ledger.signUp(draft, nowMs)
            switch (done.kind) {
              case 'made':
              case 'replayed':
                return done
              case 'nonce_used':
                throw new AppError(
                  'challenge_used',
                  'This message has already been used to sign in. Request a new one with POST /v1/keys/challenge, and sign that.',
                )
              case 'blocked':
                // The address was blocked after the screening.
                throw sanctionedError()
              case 'has_key':
                throw new AppError(
                  'key_limit',
                  'The wallet has a valid key. Use that key, or leave out `keepKeys` to make a new one; if the account has never bought anything, the old key then ends.',
                )
              case 'key_limit':
                throw keyLimitError(keysMax)
            }
          },
        )
    },

    list(caller: Caller): KeyList {
      const nowMs = clock()
      const valid = ledger.listKeys(caller.accountId).filter((key) => isValidKey(key, nowMs))
      return { data: valid.map((key) => toBody(key, caller.keyId)), nextCursor: null }
    },

    /**
     * Checks the caller again, because the body may arrive late. Throws `unknown_key`,
     * `key_replaced`, `key_limit`.
     */
    rotate(
      caller: Caller,
      id: string,
      { label, overlapSeconds }: RotateBody,
      keep: Keep,
    ): Promise<Outcome> {
      const by = byCaller(caller)
      const overlapMs = overlapSeconds * 1000
      const replaces = { id, expiresAt: toIso(by.nowMs + overlapMs) }
      return makeKey(
        label,
        keep,
        (key) => ({ ...key, replaces }),
        async (key, once) => {
          const { accountId, keyId: callerKeyId } = caller
          const rotation = { id, accountId, callerKeyId, key, overlapMs, keysMax, once }
          const done = await ledger.rotateKey(rotation, by)
          switch (done.kind) {
            case 'made':
            case 'replayed':
              return done
            case 'caller_invalid':
              throw unauthenticatedError()
            case 'blocked':
              throw blockedError()
            case 'unknown_key':
              throw unknownError(id)
            case 'replaced':
              throw new AppError(
                'key_replaced',
                `This key was already replaced, and ends at ${toIso(done.expiresMs)}. Rotate the new key instead; GET /v1/keys lists both.`,
                { param: 'id' },
              )
            case 'key_limit':
              throw keyLimitError(keysMax)
          }
        },
      )
    },

    /** Checks the caller again, because the body may arrive late. Throws `unknown_key`. */
    async label(caller: Caller, id: string, label: string): Promise<KeyBody> {
      assertNoKey(label)
      const by = byCaller(caller)
      return ledger.atomically(({ findKey, labelKey }) => {
        const asking = findKey(caller.keyId)
        if (asking === undefined || !isValidKey(asking, by.nowMs)) {
          throw unauthenticatedError()
        }
        const key = findKey(id)
        const isOwn = key?.accountId === caller.accountId && isValidKey(key, by.nowMs)
        if (!isOwn) throw unknownError(id)
        labelKey(id, label, by)
        return toBody({ ...key, label }, caller.keyId)
      })
    },

    /** Ends a key permanently; has no effect if it has ended. Throws `unknown_key`. */
    async revoke(caller: Caller, id: string): Promise<void> {
      if (ledger.findKey(id)?.accountId !== caller.accountId) throw unknownError(id)
      await ledger.revokeKey(id, byCaller(caller))
    },
  }
}

function assertNoKey(label: string): void {
  if (!holdsKey(label)) return
  throw parameterError(
    'label',
    '`label` contains an API key, and labels are stored in plain text. Choose another label.',
  )
}

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
  new AppError('sanctioned', 'The address is on a sanctions list. No key can be issued to it.')

const keyLimitError = (max: number) =>
  new AppError(
    'key_limit',
    `The account has ${count(max, 'valid key')}, which is the maximum. GET /v1/keys lists them; revoke one with DELETE /v1/keys/{id}.`,
  )

const unknownError = (id: string) =>
  new AppError(
    'unknown_key',
    `You have no valid key ${excerpt(id)}. GET /v1/keys lists your keys.`,
    { param: 'id' },
  )
