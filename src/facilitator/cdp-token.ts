/**
 * The bearer token of Coinbase's platform (CDP): a JWT for one request to one host
 * (https://docs.cdp.coinbase.com/api-reference/v2/authentication).
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'

import type { Clock } from '#src/domain/time.ts'

import type { MakeToken } from './remote.ts'

const LIFE_SECONDS = 120
const SEED_BYTES = 32
const ED25519_BYTES = 64

/**
 * `secret` is base64 of 64 Ed25519 bytes, seed and public key, or the PEM of an EC key on P-256.
 * `createId` never returns the same text twice. Rejects if the secret is not a key, without showing
 * it.
 */
export function createCdpToken(
  { id, secret }: { id: string; secret: string },
  { clock, createId }: { clock: Clock; createId: () => string },
): MakeToken {
  const key = readKey(secret)

  return async ({ method, url }) => {
    if (!key) throw new Error('The key is neither Ed25519 in base64 nor an EC key in PEM.')
    const isEdwards = key.asymmetricKeyType === 'ed25519'
    const iat = Math.floor(clock() / 1000)
    const times = { nbf: iat, iat, exp: iat + LIFE_SECONDS }
    const uris = [`${method} ${url.host}${url.pathname}`]
    const text = [
      { alg: isEdwards ? 'EdDSA' : 'ES256', kid: id, typ: 'JWT', nonce: createId() },
      { sub: id, iss: 'cdp', aud: ['cdp_service'], ...times, uris },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const form = { key, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign(isEdwards ? null : 'sha256', Buffer.from(text), form)
    return `${text}.${signature.toString('base64url')}`
  }
}

/** Undefined if it is not a key: the runtime's error may quote the secret. */
function readKey(secret: string): KeyObject | undefined {
  try {
    if (secret.includes('-----BEGIN')) {
      // Environment variables often contain line breaks as `\n`.
      const key = createPrivateKey(secret.replaceAll('\\n', '\n').trim())
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
    }
    const bytes = Buffer.from(secret.trim(), 'base64')
    if (bytes.length !== ED25519_BYTES) return undefined
    const d = bytes.subarray(0, SEED_BYTES).toString('base64url')
    const x = bytes.subarray(SEED_BYTES).toString('base64url')
    return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
  } catch {
    return undefined
  }
}
