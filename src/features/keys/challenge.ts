/**
 * The message that a wallet signs to get a key. It is not stored: nonce and address determine the
 * whole message, so the server can derive and compare it. Only used messages are stored, until they
 * expire.
 */
import { AppError } from '#src/domain/errors.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import { createNonces, NO_NONCE } from '#src/domain/selling/nonce.ts'
import { createSignIn, type SignIn, type Wallets } from '#src/domain/selling/wallet.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

const LIFE_MS = 5 * 60_000
const STATEMENT = 'Sign in to Bookfeed to get an API key. This costs nothing and moves no funds.'

export type ChallengeOptions = {
  ledger: Pick<Ledger, 'challengeKey'>
  /** Must never go back: otherwise a used and forgotten message would be valid again. */
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  wallets: Wallets
  /** Public origin of this server. */
  origin: () => string
}

export function createChallenges({
  ledger,
  clock,
  randomBytes,
  wallets,
  origin,
}: ChallengeOptions) {
  const nonces = createNonces({ key: ledger.challengeKey, randomBytes })

  const messageFor = (address: string, nonce: string): SignIn =>
    createSignIn({
      origin: origin(),
      address,
      statement: STATEMENT,
      chainId: wallets.chainId,
      nonce,
      lifeMs: LIFE_MS,
    })

  const assertFresh = (expiresMs: number, nowMs: number): void => {
    if (nowMs < expiresMs) return
    throw new AppError(
      'challenge_expired',
      'The message has expired. Request a new one with POST /v1/keys/challenge, and sign that.',
    )
  }

  return {
    async issue(address: string) {
      const nonce = nonces.issue(address, clock())
      const fields = messageFor(address.toLowerCase(), nonce)
      const message = await wallets.writeSignIn(fields)
      return { message, nonce, expiresAt: toIso(fields.expiresMs) }
    },

    /** The address, in lower case. Throws `challenge_invalid` and `challenge_expired`. */
    async verify(message: string) {
      const read = await wallets.readSignIn(message)
      const { address, nonce = '' } = read
      if (address === undefined)
        throw challengeError('The message has no account: `0x` and 40 hex digits.')
      const isOurs = nonces.isGenuine(address, nonce)
      const expected = messageFor(address.toLowerCase(), isOurs ? nonce : NO_NONCE)
      assertFields(read, expected, isOurs)
      assertFresh(expected.expiresMs, clock())
      if ((await wallets.writeSignIn(expected)) !== message) {
        throw challengeError('The message has something added to it or is laid out differently.')
      }
      return { address: expected.address, nonce, expiresMs: expected.expiresMs }
    },

    /** Call again after each wait: the record of a use may have expired. */
    assertFresh,
  }
}

const challengeError = (why: string) =>
  new AppError(
    'challenge_invalid',
    `${why} Sign the message of POST /v1/keys/challenge exactly as it is.`,
    { param: 'message' },
  )

/** Reports the wrong field, beginning with those that reveal a phishing server. */
function assertFields(read: Partial<SignIn>, expected: SignIn, isNonceOurs: boolean): void {
  const { domain, uri, chainId } = expected
  if (read.domain !== domain)
    throw challengeError(`The message is for ${shown(read.domain)}, but this server is ${domain}.`)
  if (read.uri !== uri) throw challengeError(`The URI is ${shown(read.uri)}, but must be ${uri}.`)
  if (read.chainId !== chainId)
    throw challengeError(`The chain id is ${shown(read.chainId)}, but must be ${chainId}.`)
  if (!isNonceOurs)
    throw challengeError('The nonce was not issued by this server for this address.')
  if (read.issuedMs !== expected.issuedMs)
    throw challengeError('The time of issue does not match the nonce.')
  if (read.expiresMs !== expected.expiresMs)
    throw challengeError('The expiration time is not the issued one.')
  if (read.statement !== expected.statement)
    throw challengeError('The statement is not the issued one.')
}

const shown = (value: string | number | undefined): string =>
  value === undefined ? 'missing' : `"${excerpt(String(value))}"`
