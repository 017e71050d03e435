/**
 * An API key: `bf_live_`, 160 random bits in base 62, and a checksum that exposes a typing error
 * without a lookup in the ledger. Only its SHA-256 digest is stored: the key has so much entropy
 * that a slow hash would add nothing but load.
 */

import { fromBase62, integerToBase62, toBase62 } from '#src/platform/base62.ts'
import { crc32 } from '#src/platform/crc32.ts'

export const KEY_PREFIX = 'bf_live_'
/** Prefix of links to files, which open one file for a time. */
export const LINK_PREFIX = 'bf_link_'
/** Prefix of test keys, which read only simulated data and are therefore not secret. */
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
const secrets = [KEY_PREFIX, LINK_PREFIX] as const
/** Finds a key or link, or most of one, anywhere in a text. */
const anywhere = new RegExp(`(${secrets.join('|')})[\\w-]+`, 'g')

/** Creates a key. `randomBytes` must be cryptographically secure. */
export const createApiKey = (
  randomBytes: (length: number) => Uint8Array,
  prefix = KEY_PREFIX,
): string => withChecksum(prefix + toBase62(randomBytes(RANDOM_BYTES), RANDOM_LENGTH))

const withChecksum = (body: string): string => body + checksumOf(body)

/** The token of an `Authorization` header; the scheme is case-insensitive (RFC 9110, 11.1). */
export function tokenOf(authorization: string | null): string | undefined {
  if (authorization === null) return undefined
  // Fast path for the spelling that nearly all clients use.
  if (authorization.startsWith(SCHEME)) return authorization.slice(SCHEME.length).trim()
  return otherSpelling.exec(authorization)?.[1]?.trim()
}

/** True if the format and checksum are right, even if the key was never issued. */
export function isWellFormedKey(text: string): boolean {
  if (text.length !== KEY_LENGTH || !shape.test(text)) return false
  const split = KEY_LENGTH - CHECKSUM_LENGTH
  return fromBase62(text.slice(split)) === crc32(text.slice(0, split))
}

/** The test key in a header: every well-formed test key is valid. */
export function testKeyOf(authorization: string | null): string | undefined {
  const token = tokenOf(authorization)
  return token?.startsWith(TEST_KEY_PREFIX) && hasChecksum(token) ? token : undefined
}

const hasChecksum = (text: string): boolean =>
  text.length === KEY_LENGTH && withChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text

/** The 32-byte digest by which a key is stored and found; written into `digest` if given. */
export function digestOf(key: string, digest = new Uint8Array(DIGEST_LENGTH)): Uint8Array {
  Bun.SHA256.hash(key, digest)
  return digest
}

export const hintOf = (key: string): string => key.slice(-HINT_LENGTH)

/** True if a text may contain a key or link and therefore must not be stored. */
export const holdsKey = (text: string): boolean => redactKeys(text) !== text

/**
 * Redacts every key and link in a text that is shown or logged; if one is percent-encoded, redacts
 * all of the text.
 */
export function redactKeys(text: string): string {
  const isEncoded = text.includes('%')
  const plain = isEncoded ? decode(decode(text)) : text
  const found = secrets.find((prefix) => plain.includes(prefix))
  if (found === undefined) return text
  return isEncoded ? `${found}…` : text.replace(anywhere, '$1…')
}

/** Unlike `decodeURIComponent`, accepts any text. */
const decode = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )

const checksumOf = (body: string): string => integerToBase62(crc32(body), CHECKSUM_LENGTH)

/** The test key that the documentation shows. */
export const PUBLIC_TEST_KEY = withChecksum(`${TEST_KEY_PREFIX}PublicKeyForTestsOfBookfeed`)

const LENGTH_MAX = 40
/**
 * Long enough for a key that begins in the excerpt, even if each of its characters is
 * percent-encoded twice.
 */
const LOOKED_AT_MAX = 512

/** Returns at most 40 characters of the caller's text for an error message, with keys redacted. */
export function excerpt(sent: string): string {
  const text = redactKeys(sent.slice(0, LOOKED_AT_MAX))
  if (text.length <= LENGTH_MAX) return text.toWellFormed()
  return `${text.slice(0, LENGTH_MAX - 1).toWellFormed()}…`
}
