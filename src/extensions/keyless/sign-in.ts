/**
 * Coming back without a key: the header `SIGN-IN-WITH-X` of x402 holds a message that a wallet has
 * signed (EIP-4361). What to sign is in every challenge, and may be sent again for an hour. The
 * origin is the configured one, never what a request says.
 */
import { AppError } from '#src/domain/errors.ts'
import { createNonces } from '#src/domain/selling/nonce.ts'
import {
  assertSigned,
  createSignIn,
  type SignIn,
  type Wallets,
} from '#src/domain/selling/wallet.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import { createCache } from '#src/platform/cache.ts'

export const SIGN_IN_EXTENSION = 'sign-in-with-x'

const LIFE_MS = 60 * 60_000
const STATEMENT = 'Sign in to Bookfeed. This costs nothing and moves no funds.'
const VERSION = '1'
/** Any signer: the nonce is issued before the address is known. */
const ANY_ADDRESS = ''
/** Headers that were found to be genuine: each request of a wallet carries one. */
const KNOWN_MAX = 10_000

type Deps = {
  /** A secret. */
  key: Uint8Array
  clock: Clock
  randomBytes: (length: number) => Uint8Array
  wallets: Wallets
  origin: () => string
}

const addressPattern = /^0x[0-9a-fA-F]{40}$/
const signaturePattern = /^0x([0-9a-fA-F]{2}){1,4096}$/

export type SignIns = ReturnType<typeof createSignIns>

export function createSignIns(deps: Deps) {
  const { clock, wallets, origin } = deps
  const nonces = createNonces(deps)
  const known = createCache<string, { address: string; expiresMs: number }>(KNOWN_MAX)
  const chainId = `eip155:${wallets.chainId}`

  const messageFor = (address: string, nonce: string): SignIn =>
    createSignIn({
      origin: origin(),
      address,
      statement: STATEMENT,
      chainId: wallets.chainId,
      nonce,
      lifeMs: LIFE_MS,
    })

  /** As x402 names the members. */
  const infoOf = ({ issuedMs, expiresMs, ...fields }: SignIn) => ({
    domain: fields.domain,
    uri: fields.uri,
    statement: fields.statement,
    version: VERSION,
    nonce: fields.nonce,
    issuedAt: toIso(issuedMs),
    expirationTime: toIso(expiresMs),
  })

  return {
    /** What a challenge says of it. */
    extension: () => ({
      info: infoOf(messageFor(ANY_ADDRESS, nonces.issue(ANY_ADDRESS, clock()))),
      supportedChains: [{ chainId, type: 'eip191' }],
      schema,
    }),

    /**
     * The address that has signed, in lower case. Throws `challenge_invalid`, `challenge_expired`,
     * `signature_invalid`, `unavailable`.
     */
    async verify(sent: Readonly<Record<string, unknown>>): Promise<string> {
      const { address, nonce, signature } = sent
      if (typeof address !== 'string' || !addressPattern.test(address)) {
        throw invalidError('`address` must be 0x and 40 hex digits.')
      }
      if (typeof signature !== 'string' || !signaturePattern.test(signature)) {
        throw invalidError('`signature` must be 0x and pairs of hex digits.')
      }
      if (typeof nonce !== 'string' || !nonces.isGenuine(ANY_ADDRESS, nonce)) {
        throw invalidError('The nonce was not issued by this server.')
      }
      const fields = messageFor(address.toLowerCase(), nonce)
      if (clock() >= fields.expiresMs) throw expiredError()
      assertSame(sent, { ...infoOf(fields), chainId, type: 'eip191' })
      const name = `${nonce} ${fields.address} ${signature}`
      if (known.get(name) === undefined) {
        const message = await wallets.writeSignIn(fields)
        assertSigned(await wallets.checkSignature({ address: fields.address, message, signature }))
        known.set(name, fields, { size: 1 })
      }
      return fields.address
    },
  }
}

/** What more is signed than we gave out could mean more than we understand. */
function assertSame(sent: Readonly<Record<string, unknown>>, ours: Record<string, string>): void {
  for (const [name, value] of Object.entries(ours)) {
    if (sent[name] !== value) throw invalidError(`\`${name}\` must be "${value}".`)
  }
  for (const name of ['notBefore', 'requestId', 'resources']) {
    if (sent[name] !== undefined) throw invalidError(`\`${name}\` must be left out.`)
  }
}

const invalidError = (why: string) =>
  new AppError(
    'challenge_invalid',
    `${why} Sign what \`extensions\` of a challenge (402) says under \`${SIGN_IN_EXTENSION}\`, exactly as it is.`,
    { param: 'SIGN-IN-WITH-X' },
  )

const expiredError = () =>
  new AppError(
    'challenge_expired',
    'The message has expired. Request a new one without this header, and sign that.',
    { param: 'SIGN-IN-WITH-X' },
  )

const string = { type: 'string' }
const names = ['domain', 'address', 'uri', 'version', 'chainId', 'type', 'nonce', 'issuedAt']
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: Object.fromEntries(
    [...names, 'statement', 'expirationTime', 'signature'].map((name) => [name, string]),
  ),
  required: [...names, 'signature'],
}
