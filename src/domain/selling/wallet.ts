/** Ports to what a wallet signs; `src/chain` satisfies them, tests pass an object. */
import { AppError } from '#src/domain/errors.ts'

import { issuedMsOf } from './nonce.ts'

/** A Sign-In-with-Ethereum message (https://eips.ethereum.org/EIPS/eip-4361). */
export type SignIn = {
  /** Host, and port where it is not the scheme's own, of the service: `api.example.com`. */
  domain: string
  /** Any case in, checksummed (EIP-55) out. */
  address: string
  statement: string
  /** Address of the service: `https://api.example.com`. */
  uri: string
  chainId: number
  /** Letters and digits. */
  nonce: string
  /** Unix milliseconds. */
  issuedMs: number
  expiresMs: number
}

/** A message of this service; its times follow from the nonce. `lifeMs`: how long it may be sent. */
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
 * signed this, and without an RPC a contract wallet cannot be asked. `unavailable`: it could not be
 * asked just now.
 */
export type SignatureCheck = 'valid' | 'invalid' | 'contract_unsupported' | 'unavailable'

export type Wallets = {
  /** The chain whose contract wallets can be asked: messages name it. */
  readonly chainId: number
  /** Writes the message exactly as a wallet shows and signs it. */
  writeSignIn(fields: SignIn): Promise<string>
  /** Reads what it can of any message; what is missing or malformed is undefined. */
  readSignIn(message: string): Promise<Partial<SignIn>>
  /** Checks a signature (EIP-191) of a plain account or a contract (ERC-1271). Never rejects. */
  checkSignature(signed: {
    address: string
    message: string
    signature: string
  }): Promise<SignatureCheck>
}

const RETRY_SECONDS = 10

/** Throws `signature_invalid`, and `unavailable` where a contract wallet could not be asked. */
export function assertSigned(check: SignatureCheck): void {
  if (check === 'valid') return
  if (check === 'unavailable') {
    throw new AppError('unavailable', 'The wallet could not be asked just now. Try again.', {
      retryAfterSeconds: RETRY_SECONDS,
    })
  }
  const message =
    check === 'invalid'
      ? 'The signature does not match this message and the account that it names.'
      : 'The signature is not that of a plain account. Contract wallets cannot sign in, because this server has no RPC to verify them with.'
  throw new AppError('signature_invalid', message, { param: 'signature' })
}
