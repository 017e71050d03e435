/**
 * An API key: `bf_live_`, 160 random bits in base 62, and a checksum that exposes a mistyped one
 * without asking the ledger. Only its SHA-256 digest is ever stored: the key has too much entropy
 * for a slow hash to add anything but load.
 */

import { fromBase62, integerToBase62, toBase62 } from '#src/platform/base62.ts'
import { crc32 } from '#src/platform/crc32.ts'

export const KEY_PREFIX = 'bf_live_'
/** Test keys open nothing but simulated data, so they are no secrets. */
export const TEST_KEY_PREFIX = 'bf_test_'

const RANDOM_BYTES = 20
/** 62^27 > 2^160. */
const RANDOM_LENGTH = 27
/** 62^6 > 2^32. */
const CHECKSUM_LENGTH = 6
const HINT_LENGTH = 4
const SCHEME = 'Bearer '
const otherSpelling = /^bearer (.*)$/i
export const DIGEST_LENGTH = 32

export const KEY_LENGTH = KEY_PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH

const shape = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)
/** Wherever a key, or most of one, may occur in a text. */
const anywhere = new RegExp(`${KEY_PREFIX}[0-9A-Za-z]+`, 'g')
const HIDDEN = `${KEY_PREFIX}…`

/** Makes a key. `randomBytes` must be fit for secrets. */
export const createApiKey = (
  randomBytes: (length: number) => Uint8Array,
  prefix = KEY_PREFIX,
): string => withChecksum(prefix + toBase62(randomBytes(RANDOM_BYTES), RANDOM_LENGTH))

const withChecksum = (body: string): string => body + checksumOf(body)

/** The token of a header `Authorization`; its scheme has no case (RFC 9110, 11.1). */
export function tokenOf(authorization: string | null): string | undefined {
  if (authorization === null) return undefined
  // Nearly all clients write it alike.
  if (authorization.startsWith(SCHEME)) return authorization.slice(SCHEME.length).trim()
  return otherSpelling.exec(authorization)?.[1]?.trim()
}

/** True if the shape and the checksum are right, whether the key was ever given out or not. */
export function isWellFormedKey(text: string): boolean {
  if (text.length !== KEY_LENGTH || !shape.test(text)) return false
  const split = KEY_LENGTH - CHECKSUM_LENGTH
  return fromBase62(text.slice(split)) === crc32(text.slice(0, split))
}

/** The test key that a header has: every well-formed one is valid. */
export function testKeyOf(authorization: string | null): string | undefined {
  const token = tokenOf(authorization)
  return token?.startsWith(TEST_KEY_PREFIX) && hasChecksum(token) ? token : undefined
}

const hasChecksum = (text: string): boolean =>
  text.length === KEY_LENGTH && withChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text

/** The 32 bytes by which a key is stored and found; into `digest`, if there is one to be reused. */
export function digestOf(key: string, digest = new Uint8Array(DIGEST_LENGTH)): Uint8Array {
  Bun.SHA256.hash(key, digest)
  return digest
}

export const hintOf = (key: string): string => key.slice(-HINT_LENGTH)

/** True if a text may hold a key, which then must not be kept. */
export const holdsKey = (text: string): boolean => redactKeys(text) !== text

/** Hides every key in a text that is shown or logged; of percent-encoded ones nothing is left. */
export function redactKeys(text: string): string {
  if (text.includes('%') && decode(decode(text)).includes(KEY_PREFIX)) return HIDDEN
  return text.includes(KEY_PREFIX) ? text.replace(anywhere, HIDDEN) : text
}

/** Unlike `decodeURIComponent`, takes any text. */
const decode = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )

const checksumOf = (body: string): string => integerToBase62(crc32(body), CHECKSUM_LENGTH)

/** The test key that the documents show. */
export const PUBLIC_TEST_KEY = withChecksum(`${TEST_KEY_PREFIX}PublicKeyForTestsOfBookfeed`)

const LENGTH_MAX = 40
/** Holds a key that begins in what is shown, also with each character percent-encoded twice. */
const LOOKED_AT_MAX = 512

/** Returns at most 40 characters of the caller's own text for a message about it, keys hidden. */
export function excerpt(sent: string): string {
  const text = redactKeys(sent.slice(0, LOOKED_AT_MAX))
  if (text.length <= LENGTH_MAX) return text.toWellFormed()
  return `${text.slice(0, LENGTH_MAX - 1).toWellFormed()}…`
}
