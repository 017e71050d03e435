import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'

import { createCdpToken } from '#src/facilitator/cdp-token.ts'

const nowMs = Date.UTC(2026, 10, 21)
const request = { method: 'POST', url: new URL('https://api.example.com/v2/x402/settle') } as const

function makeToken(secret: string) {
  let count = 0
  return createCdpToken(
    { id: 'key-1', secret },
    { clock: () => nowMs, createId: () => `n${++count}` },
  )
}

const decode = (part = ''): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())

async function isSigned(
  token: string,
  [key, algorithm]: [CryptoKey, Parameters<typeof crypto.subtle.verify>[0]],
) {
  const [header, claims, signature = ''] = token.split('.')
  const bytes = Uint8Array.from(Buffer.from(signature, 'base64url'))
  const text = new TextEncoder().encode(`${header}.${claims}`)
  return crypto.subtle.verify(algorithm, key, bytes, text)
}

async function createEd25519() {
  const pair = (await crypto.subtle.generateKey('Ed25519', true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair
  const seed = Buffer.from(await crypto.subtle.exportKey('pkcs8', pair.privateKey)).subarray(-32)
  const point = Buffer.from(await crypto.subtle.exportKey('raw', pair.publicKey))
  return { secret: Buffer.concat([seed, point]).toString('base64'), publicKey: pair.publicKey }
}

async function createEc(type: 'sec1' | 'pkcs8') {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = new Uint8Array(pair.publicKey.export({ format: 'der', type: 'spki' }))
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const publicKey = await crypto.subtle.importKey('spki', spki, algorithm, false, ['verify'])
  return { secret: pair.privateKey.export({ format: 'pem', type }).toString(), publicKey }
}

describe('createCdpToken', () => {
  test('default: signs a token for one request with Ed25519', async () => {
    const { secret, publicKey } = await createEd25519()
    const token = await makeToken(secret)(request)
    const [header, claims] = token.split('.')
    expect(decode(header)).toEqual({ alg: 'EdDSA', kid: 'key-1', typ: 'JWT', nonce: 'n1' })
    expect(decode(claims)).toEqual({
      sub: 'key-1',
      iss: 'cdp',
      aud: ['cdp_service'],
      nbf: nowMs / 1000,
      iat: nowMs / 1000,
      exp: nowMs / 1000 + 120,
      uris: ['POST api.example.com/v2/x402/settle'],
    })
    expect(await isSigned(token, [publicKey, 'Ed25519'])).toBe(true)
  })

  test.each(['sec1', 'pkcs8'] as const)(
    'default: signs with an EC key in PEM (%s)',
    async (type) => {
      const { secret, publicKey } = await createEc(type)
      for (const pem of [secret, secret.replaceAll('\n', '\\n')]) {
        const token = await makeToken(pem)(request)
        expect(decode(token.split('.')[0])).toMatchObject({ alg: 'ES256' })
        expect(await isSigned(token, [publicKey, { name: 'ECDSA', hash: 'SHA-256' }])).toBe(true)
      }
    },
  )

  test('behavior: no two tokens are the same', async () => {
    const make = makeToken((await createEd25519()).secret)
    expect(await make(request)).not.toBe(await make(request))
  })

  test.each([
    'hunter2',
    '',
    '-----BEGIN EC PRIVATE KEY-----\nhunter2\n-----END EC PRIVATE KEY-----',
  ])('error: rejects without naming what is no key (%#)', async (secret) => {
    const fault = await makeToken(secret)(request).catch((error: unknown) => Bun.inspect(error))
    expect(fault).toContain('neither Ed25519')
    expect(fault).not.toContain('hunter2')
  })
})
