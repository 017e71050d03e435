/**
 * The message that a wallet signs to get a key. Asking for one stores nothing: its nonce carries
 * the time of issue, random bytes, and a seal of both and the address, so the whole message can be
 * written again and compared. Only what was answered is remembered, until it has expired.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

import { AppError } from '#src/core/errors.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { excerpt } from '#src/selling/excerpt.ts'
import type { SignIn, Wallets } from '#src/selling/wallet.ts'

import type { Challenge } from './model.ts'

const LIFE_MS = 5 * 60_000
const STATEMENT = 'Sign in to Bookfeed to get an API key. This costs nothing and moves no funds.'

const TIME_BYTES = 6
const RANDOM_BYTES = 10
const SEAL_BYTES = 16
const SEALED_BYTES = TIME_BYTES + RANDOM_BYTES
const noncePattern = new RegExp(`^[0-9a-f]{${2 * (SEALED_BYTES + SEAL_BYTES)}}$`)

export type ChallengeDeps = {
  ledger: Pick<Ledger, 'challengeKey'>
  /** Never steps back, or a message that was answered and forgotten would come back to life. */
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  wallets: Wallets
  origin: () => string
}

export function createChallenges({ ledger, clock, randomBytes, wallets, origin }: ChallengeDeps) {
  const { challengeKey } = ledger

  const fieldsOf = (address: string, nonce: string): SignIn => ({
    domain: new URL(origin()).host,
    uri: origin(),
    address,
    statement: STATEMENT,
    chainId: wallets.chainId,
    nonce,
    issuedMs: issuedMsOf(nonce),
    expiresMs: issuedMsOf(nonce) + LIFE_MS,
  })

  const assertFresh = (expiresMs: number, nowMs: number): void => {
    if (nowMs < expiresMs) return
    throw new AppError(
      'challenge_expired',
      'The message has expired. Ask POST /v1/keys/challenge for a new one and sign that.',
    )
  }

  return {
    async issue(address: string): Promise<Challenge> {
      const sealed = Buffer.alloc(SEALED_BYTES)
      sealed.writeUIntBE(clock(), 0, TIME_BYTES)
      sealed.set(randomBytes(RANDOM_BYTES), TIME_BYTES)
      const seal = sealOf(challengeKey, address, sealed)
      const nonce = Buffer.concat([sealed, seal]).toString('hex')
      const fields = fieldsOf(address.toLowerCase(), nonce)
      const message = await wallets.writeSignIn(fields)
      return { message, nonce, expiresAt: toIso(fields.expiresMs) }
    },

    /** The address, in lower case. Throws `challenge_invalid` and `challenge_expired`. */
    async verify(message: string) {
      const read = await wallets.readSignIn(message)
      const { address, nonce = '' } = read
      if (address === undefined)
        throw challengeError('The message names no account: `0x` and 40 hex digits.')
      const isOurs = isGenuine(challengeKey, address, nonce)
      const expected = fieldsOf(address.toLowerCase(), isOurs ? nonce : NO_NONCE)
      assertFields(read, expected, isOurs)
      assertFresh(expected.expiresMs, clock())
      if ((await wallets.writeSignIn(expected)) !== message) {
        throw challengeError('The message has something added to it or is laid out differently.')
      }
      return { address: expected.address, nonce, expiresMs: expected.expiresMs }
    },

    /** To be asked again after any wait: the use of this very message may have been forgotten. */
    assertFresh,
  }
}

const NO_NONCE = '0'.repeat(2 * TIME_BYTES)

const issuedMsOf = (nonce: string): number => Number.parseInt(nonce.slice(0, 2 * TIME_BYTES), 16)

function sealOf(key: Uint8Array, address: string, sealed: Uint8Array): Uint8Array {
  const hmac = createHmac('sha256', key).update('challenge').update(address.toLowerCase())
  return hmac.update(sealed).digest().subarray(0, SEAL_BYTES)
}

function isGenuine(key: Uint8Array, address: string, nonce: string): boolean {
  if (!noncePattern.test(nonce)) return false
  const bytes = Buffer.from(nonce, 'hex')
  const seal = sealOf(key, address, bytes.subarray(0, SEALED_BYTES))
  return timingSafeEqual(seal, bytes.subarray(SEALED_BYTES))
}

const challengeError = (why: string) =>
  new AppError(
    'challenge_invalid',
    `${why} Sign the message of POST /v1/keys/challenge exactly as it is.`,
    { param: 'message' },
  )

/** Says which field is wrong, the ones first by which a wallet is lured to another server. */
function assertFields(read: Partial<SignIn>, expected: SignIn, isNonceOurs: boolean): void {
  const { domain, uri, chainId } = expected
  if (read.domain !== domain)
    throw challengeError(`The message is for ${shown(read.domain)}, but this server is ${domain}.`)
  if (read.uri !== uri) throw challengeError(`The URI is ${shown(read.uri)}, but must be ${uri}.`)
  if (read.chainId !== chainId)
    throw challengeError(`The chain id is ${shown(read.chainId)}, but must be ${chainId}.`)
  if (!isNonceOurs)
    throw challengeError('The nonce is not one that this server gave to this address.')
  if (read.issuedMs !== expected.issuedMs)
    throw challengeError('The time of issue is not that of the nonce.')
  if (read.expiresMs !== expected.expiresMs)
    throw challengeError('The time of expiration is not the one that was given.')
  if (read.statement !== expected.statement)
    throw challengeError('The statement is not the one that was given.')
}

const shown = (value: string | number | undefined): string =>
  value === undefined ? 'missing' : `"${excerpt(String(value))}"`
