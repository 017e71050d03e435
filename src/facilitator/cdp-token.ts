/**
 * The bearer token that Coinbase's platform (CDP) wants: a JWT for one request of one host, signed with an
 * API key and good for two minutes (https://docs.cdp.coinbase.com/api-reference/v2/authentication).
 */
import { createPrivateKey } from 'node:crypto'

import type { Clock } from '#src/core/time.ts'

import type { MakeToken } from './remote.ts'

const LIFE_SECONDS = 120
const SEED_BYTES = 32
const ED25519_BYTES = 64
/** DER of PKCS #8 in front of the seed of an Ed25519 key (RFC 8410). */
const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

export type CdpKey = {
  /** As the platform names it. */
  id: string
  /** Base64 of 64 bytes, seed and public key, of Ed25519; or PEM of an EC key on P-256. */
  secret: string
}

type SigningKey = { alg: 'EdDSA' | 'ES256'; key: CryptoKey }

/** `mint` gives a text that never comes twice. Rejects, without naming it, if the secret is no key. */
export function createCdpToken(
  key: CdpKey,
  { clock, mint }: { clock: Clock; mint: () => string },
): MakeToken {
  let loading: Promise<SigningKey | undefined> | undefined

  return async ({ method, url }) => {
    loading ??= loadKey(key.secret)
    const signing = await loading
    if (!signing) throw new Error('The key is neither Ed25519 in base64 nor an EC key in PEM.')
    const nowSeconds = Math.floor(clock() / 1000)
    const header = { alg: signing.alg, kid: key.id, typ: 'JWT', nonce: mint() }
    const claims = {
      sub: key.id,
      iss: 'cdp',
      aud: ['cdp_service'],
      nbf: nowSeconds,
      iat: nowSeconds,
      exp: nowSeconds + LIFE_SECONDS,
      uris: [`${method} ${url.host}${url.pathname}`],
    }
    const text = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(claims))}`
    return `${text}.${encode(await sign(signing, text))}`
  }
}

const encode = (data: string | ArrayBuffer): string =>
  (typeof data === 'string' ? Buffer.from(data) : Buffer.from(new Uint8Array(data))).toString(
    'base64url',
  )

function sign({ alg, key }: SigningKey, text: string): Promise<ArrayBuffer> {
  const algorithm = alg === 'EdDSA' ? 'Ed25519' : { name: 'ECDSA', hash: 'SHA-256' }
  return crypto.subtle.sign(algorithm, key, new TextEncoder().encode(text))
}

/** Undefined if it is no key. */
async function loadKey(secret: string): Promise<SigningKey | undefined> {
  try {
    return await (secret.includes('-----BEGIN') ? loadPem(secret) : loadEd25519(secret))
  } catch {
    // What the runtime says may quote the secret.
    return undefined
  }
}

async function loadEd25519(secret: string): Promise<SigningKey> {
  const bytes = Buffer.from(secret.trim(), 'base64')
  if (bytes.length !== ED25519_BYTES) throw new RangeError('length')
  const der = Buffer.concat([ed25519Prefix, bytes.subarray(0, SEED_BYTES)])
  return {
    alg: 'EdDSA',
    key: await crypto.subtle.importKey('pkcs8', der, 'Ed25519', false, ['sign']),
  }
}

/** Environment variables often carry line breaks as `\n`. */
async function loadPem(secret: string): Promise<SigningKey> {
  const pem = secret.replaceAll('\\n', '\n').trim()
  const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' })
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  return {
    alg: 'ES256',
    key: await crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, ['sign']),
  }
}
