/**
 * Signup: whoever signs our message with a wallet gets a key of the wallet's account. Everything
 * that may wait (wallet, screening) comes first and changes nothing; then one transaction takes the
 * message as answered and makes account and key, or leaves all as it was.
 */
import { AppError } from '#src/core/errors.ts'
import type { Clock } from '#src/core/time.ts'
import { type Account, type Deed, isValidKey, type LedgerStore } from '#src/ledger/ledger.ts'
import type { Screen, SignupState } from '#src/selling/screening.ts'
import type { Wallets } from '#src/selling/wallet.ts'

import type { Challenges, Genuine } from './challenge.ts'
import type { Challenge, NewKey, SignupBody } from './model.ts'
import type { MakeKey } from './new-key.ts'

export type SignupDeps = {
  ledger: LedgerStore
  clock: Clock
  mint: () => string
  wallets: Wallets
  screen: Screen
  /** Whether new accounts are taken in. */
  signup: () => SignupState
}
type Parts = { challenges: Challenges; makeKey: MakeKey }

const SCREENING_RETRY_SECONDS = 60
const WALLET_RETRY_SECONDS = 10

export type Signup = {
  /** Gives out the message to be signed. Throws `signup_closed`. */
  challenge(address: string): Promise<Challenge>
  /** Under whose name a signed message counts: that of the account it claims. */
  scopeOf(message: string): Promise<string>
  /** Checks a signed message; what it returns makes the key and must run in a transaction. */
  prepare(body: SignupBody): Promise<() => NewKey>
}

/** Creates the way to a first key. */
export function createSignup(deps: SignupDeps, { challenges, makeKey }: Parts): Signup {
  const { clock, signup, wallets } = deps
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
      return () => {
        challenges.use(genuine)
        const nowMs = clock()
        const account = takeAccount(deps, genuine, nowMs)
        const deed = { actor: `account:${account.id}` as const, nowMs }
        replaceFreeKey(deps, account, deed)
        return makeKey({ account, label: body.label }, deed)
      }
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
      throw refuseSignature(
        'The signature is not one of this message by the account that it names.',
      )
    case 'contract_unsupported':
      throw refuseSignature(
        'The signature is not one of a plain account, and contract wallets cannot sign in because this server has no RPC to ask them by.',
      )
    case 'unavailable':
      throw new AppError('unavailable', 'The wallet could not be asked just now. Try again.', {
        retryAfterSeconds: WALLET_RETRY_SECONDS,
      })
  }
}

const refuseSignature = (message: string) =>
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
  throw refuseSanctioned()
}

const refuseSanctioned = () =>
  new AppError('sanctioned', 'The address is on a sanctions list. No key can be given to it.')

/**
 * An account that pays nothing has one key, so that it has one allowance. The new key ends the old one
 * instead of being refused, because who signs up again has often lost it. It goes on in its window.
 */
function replaceFreeKey({ ledger }: SignupDeps, { id }: Account, deed: Deed): void {
  if (!ledger.isFree(id)) return
  for (const key of ledger.listKeys(id)) {
    if (isValidKey(key, deed.nowMs)) ledger.revokeKey(key.id, deed)
  }
}

function takeAccount({ ledger, mint }: SignupDeps, { address }: Genuine, nowMs: number): Account {
  const known = ledger.findAccountByAddress(address)
  // Blocked since it was screened, or until it is screened anew.
  if (known?.blockedMs !== undefined) throw refuseSanctioned()
  if (known) return known
  const id = `acc_${mint()}`
  return ledger.createAccount({ id, address }, { actor: `account:${id}`, nowMs })
}
