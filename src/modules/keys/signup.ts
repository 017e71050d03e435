/**
 * Signup: whoever signs our message with a wallet gets a key of the wallet's account. Everything
 * that may wait (wallet, screening) comes first and changes nothing; then one transaction takes the
 * message as answered and makes account and key, or leaves all as it was.
 */
import { AppError } from '#src/core/errors.ts'
import type { Clock } from '#src/core/time.ts'
import type { Keep, Outcome } from '#src/http/idempotency.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Screen, SignupState } from '#src/selling/screening.ts'
import type { Wallets } from '#src/selling/wallet.ts'

import type { Challenges } from './challenge.ts'
import type { Challenge, SignupBody } from './model.ts'
import { type KeyDeps, keyLimitError, makeKey } from './new-key.ts'

export type SignupDeps = KeyDeps & {
  ledger: Ledger
  clock: Clock
  wallets: Wallets
  screen: Screen
  /** Whether new accounts are taken in. */
  signup: () => SignupState
}

const SCREENING_RETRY_SECONDS = 60
const WALLET_RETRY_SECONDS = 10

export type Signup = {
  /** Gives out the message to be signed. Throws `signup_closed`. */
  challenge(address: string): Promise<Challenge>
  /** Under whose name a signed message counts: that of the account it claims. */
  scopeOf(message: string): Promise<string>
  /** Checks a signed message; what it returns makes the key. */
  prepare(body: SignupBody): Promise<(keep: Keep) => Outcome>
}

/** Creates the way to a first key. */
export function createSignup(deps: SignupDeps, challenges: Challenges): Signup {
  const { signup, wallets } = deps
  return {
    async challenge(address) {
      assertOpen(signup())
      return challenges.issue(address)
    },

    async scopeOf(message) {
      const { address = '' } = await wallets.readSignIn(message)
      return `signup ${address.toLowerCase()}`
    },

    async prepare(body) {
      assertOpen(signup())
      const genuine = await challenges.verify(body.message)
      await assertSigned(wallets, { ...body, address: genuine.address })
      await assertAllowed(deps, genuine.address)
      return (keep) =>
        makeKey(deps, { label: body.label, keep }, (key, once) => {
          const nowMs = deps.clock()
          challenges.assertFresh(genuine.expiresMs, nowMs)
          const accountId = `acc_${deps.mint()}`
          const keysMax = deps.keysPerAccountMax
          const draft = { ...genuine, accountId, key, keysMax, once }
          const done = deps.ledger.signUp(draft, nowMs)
          switch (done.kind) {
            case 'nonce_used':
              throw usedError()
            // Since it was screened, or until it is screened again.
            case 'blocked':
              throw sanctionedError()
            case 'key_limit':
              throw keyLimitError(keysMax)
            default:
              return done
          }
        })
    },
  }
}

function assertOpen(state: SignupState): void {
  if (!state.isOpen) throw new AppError('signup_closed', state.reason)
}

type Signed = Parameters<Wallets['checkSignature']>[0]

async function assertSigned(wallets: Wallets, signed: Signed): Promise<void> {
  const { address, message, signature } = signed
  const check = await wallets.checkSignature({ address, message, signature })
  switch (check) {
    case 'valid':
      return
    case 'invalid':
      throw signatureError('The signature is not one of this message by the account that it names.')
    case 'contract_unsupported':
      throw signatureError(
        'The signature is not one of a plain account, and contract wallets cannot sign in because this server has no RPC to ask them by.',
      )
    case 'unavailable':
      throw new AppError('unavailable', 'The wallet could not be asked just now. Try again.', {
        retryAfterSeconds: WALLET_RETRY_SECONDS,
      })
  }
}

const signatureError = (message: string) =>
  new AppError('signature_invalid', message, { param: 'signature' })

/** Fails closed: without an answer nobody is let in. A hit blocks what the address has already. */
async function assertAllowed({ screen, ledger, clock }: SignupDeps, address: string) {
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

const sanctionedError = (): AppError =>
  new AppError('sanctioned', 'The address is on a sanctions list. No key can be given to it.')

const usedError = (): AppError =>
  new AppError(
    'challenge_used',
    'This message was signed in with before. Ask POST /v1/keys/challenge for a new one and sign that.',
  )
