/** Ports for messages that a wallet signs, implemented in `src/chain`. */
import { AppError } from '#src/domain/errors.ts'

import { issuedMsOf } from './nonce.ts'

/** A Sign-In with Ethereum message (https://eips.ethereum.org/EIPS/eip-4361). */
export type SignIn = {
  /** Host of the service, with its port if that is not the scheme's default: `api.example.com`. */
  domain: string
  /** Any case as input, checksummed (EIP-55) as output. */
  address: string
  statement: string
  /** URL of the service: `https://api.example.com`. */
  uri: string
  chainId: number
  /** Letters and digits. */
  nonce: string
  /** Unix milliseconds. */
  issuedMs: number
  expiresMs: number
}

/**
 * Creates a sign-in message of this service; its times follow from the nonce. `lifeMs` is how long
 * it stays valid.
 */
export function createSignIn({
  origin,
  address,
  statement,
  chainId,
  nonce,
  lifeMs,
}: {
  /** `https://api.example.com` */
  origin: string
  address: string
  statement: string
  chainId: number
  nonce: string
  lifeMs: number
}): SignIn {
  const issuedMs = issuedMsOf(nonce)
  return {
    domain: new URL(origin).host,
    address,
    statement,
    uri: origin,
    chainId,
    nonce,
    issuedMs,
    expiresMs: issuedMs + lifeMs,
  }
}

/**
 * `valid`: the address signed. `invalid`: it did not. `contract_unsupported`: no plain account
 * signed this, and without an RPC a contract wallet cannot be verified. `unavailable`: the contract
 * wallet could not be verified at the moment.
 */
export type SignatureCheck = 'valid' | 'invalid' | 'contract_unsupported' | 'unavailable'

export type Wallets = {
  /** The chain on which contract wallets are verified, named in messages. */
  readonly chainId: number
  /** Writes the message exactly as a wallet shows and signs it. */
  writeSignIn(fields: SignIn): Promise<string>
  /** Parses any message; a field that is missing or malformed is undefined. */
  readSignIn(message: string): Promise<Partial<SignIn>>
  /** Checks the signature (EIP-191) of a plain account or a contract (ERC-1271). Never rejects. */
  checkSignature(signed: {
    address: string
    message: string
    signature: string
  }): Promise<SignatureCheck>
}

const RETRY_SECONDS = 10

/** Throws `signature_invalid`, or `unavailable` if a contract wallet could not be verified. */
export function assertSigned(check: SignatureCheck): void {
  if (check === 'valid') return
  if (check === 'unavailable') {
    throw new AppError(
      'unavailable',
      'The wallet could not be verified at the moment. Try again.',
      {
        retryAfterSeconds: RETRY_SECONDS,
      },
    )
  }
  const message =
    check === 'invalid'
      ? 'The signature does not match this message and the account that it names.'
      : 'The signature is not that of a plain account. Contract wallets cannot sign in, because this server has no RPC to verify them with.'
  throw new AppError('signature_invalid', message, { param: 'signature' })
}
