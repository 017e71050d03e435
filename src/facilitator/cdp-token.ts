/**
 * The bearer token of Coinbase's platform (CDP): a JWT for one request of one host
 * (https://docs.cdp.coinbase.com/api-reference/v2/authentication).
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'

import type { Clock } from '#src/core/time.ts'

import type { MakeToken } from './remote.ts'

const LIFE_SECONDS = 120
const SEED_BYTES = 32
const ED25519_BYTES = 64

export type CdpKey = {
  id: string
  /** Base64 of 64 bytes, seed and public key, of Ed25519; or PEM of an EC key on P-256. */
  secret: string
}

/** `mint` never gives a text twice. Rejects, without naming it, if the secret is no key. */
export function createCdpToken(
  { id, secret }: CdpKey,
  { clock, mint }: { clock: Clock; mint: () => string },
): MakeToken {
  const key = findKey(secret)

  return async ({ method, url }) => {
    if (!key) throw new Error('The key is neither Ed25519 in base64 nor an EC key in PEM.')
    const isEdwards = key.asymmetricKeyType === 'ed25519'
    const iat = Math.floor(clock() / 1000)
    const times = { nbf: iat, iat, exp: iat + LIFE_SECONDS }
    const uris = [`${method} ${url.host}${url.pathname}`]
    const text = [
      { alg: isEdwards ? 'EdDSA' : 'ES256', kid: id, typ: 'JWT', nonce: mint() },
      { sub: id, iss: 'cdp', aud: ['cdp_service'], ...times, uris },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const form = { key, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign(isEdwards ? null : 'sha256', Buffer.from(text), form)
    return `${text}.${signature.toString('base64url')}`
  }
}

function findKey(secret: string): KeyObject | undefined {
  try {
    return secret.includes('-----BEGIN') ? readPem(secret) : readEd25519(secret)
  } catch {
    // What the runtime says may quote the secret.
    return undefined
  }
}

function readEd25519(secret: string): KeyObject | undefined {
  const bytes = Buffer.from(secret.trim(), 'base64')
  if (bytes.length !== ED25519_BYTES) return undefined
  const [d, x] = [bytes.subarray(0, SEED_BYTES), bytes.subarray(SEED_BYTES)]
  const jwk = { kty: 'OKP', crv: 'Ed25519', d: d.toString('base64url'), x: x.toString('base64url') }
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

/** Environment variables often carry line breaks as `\n`. */
function readPem(secret: string): KeyObject | undefined {
  const key = createPrivateKey(secret.replaceAll('\\n', '\n').trim())
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
}
