/**
 * Links: URLs of files that need no header, for programs that cannot send one. The path contains a
 * seal over the file, the key of the link's owner and its expiry, so links are not stored.
 */
import { timingSafeEqual } from 'node:crypto'

import { AppError } from '#src/domain/errors.ts'
import type { Coin } from '#src/domain/market.ts'
import { LINK_PREFIX } from '#src/domain/selling/api-key.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import { decodePart, pathOf, targetOf } from '#src/http/target.ts'

const VERSION = 1
const SECONDS_AT = 1
const KEY_ID_AT = 5
const SEAL_BYTES = 16
const LINK_LENGTH_MAX = 400
const SECOND_MS = 1000

/** A file of a coin. */
type Place = { coin: Coin; name: string }

/** `keyId` is undefined for a link without an owner, such as one of the sample. */
export type LinkTerms = { keyId: string | undefined; untilMs: number }

export type Links = ReturnType<typeof createLinks>

const pattern = new RegExp(
  `^/v1/(?<coin>[a-z]+)/links/(?<link>${LINK_PREFIX}[\\w-]+)/(?<name>[\\w.-]+)/?$`,
  'i',
)

/** The parts of a link in a URL, in every spelling that its route accepts. */
const partsIn = (url: string) =>
  url.includes('/links/')
    ? pattern.exec(decodePart(pathOf(targetOf(url))) ?? '')?.groups
    : undefined

export const isLinkPath = (url: string): boolean => partsIn(url) !== undefined

/** `key` is a secret of 32 bytes that all servers of a history share. */
export function createLinks({ key, clock }: { key: Uint8Array; clock: Clock }) {
  // Derived, so that a seal of a link is never valid for another use of the key.
  const ownKey = new Bun.CryptoHasher('sha256', key).update('links').digest()

  const sealOf = (terms: Uint8Array, { coin, name }: Place): Uint8Array =>
    new Bun.CryptoHasher('sha256', ownKey)
      .update(terms)
      .update(`/v1/${coin}/files/${name}`)
      .digest()
      .subarray(0, SEAL_BYTES)

  /** The terms of a link that this server made; undefined for any other text. */
  function read(place: Place, link: string): LinkTerms | undefined {
    if (!link.startsWith(LINK_PREFIX) || link.length > LINK_LENGTH_MAX) return undefined
    const text = link.slice(LINK_PREFIX.length)
    const bytes = Buffer.from(text, 'base64url')
    const terms = bytes.subarray(0, -SEAL_BYTES)
    const isOurs =
      terms.length >= KEY_ID_AT &&
      terms[0] === VERSION &&
      // A link has exactly one spelling.
      bytes.toString('base64url') === text &&
      timingSafeEqual(sealOf(terms, place), bytes.subarray(-SEAL_BYTES))
    if (!isOurs) return undefined
    const keyId = terms.toString('utf8', KEY_ID_AT)
    const untilMs = terms.readUInt32BE(SECONDS_AT) * SECOND_MS
    return { keyId: keyId === '' ? undefined : keyId, untilMs }
  }

  return {
    /** The path of a link to a file. */
    pathOf({ coin, name }: Place, { keyId = '', untilMs }: LinkTerms): string {
      const terms = Buffer.alloc(KEY_ID_AT + Buffer.byteLength(keyId))
      terms[0] = VERSION
      terms.writeUInt32BE(Math.floor(untilMs / SECOND_MS), SECONDS_AT)
      terms.write(keyId, KEY_ID_AT)
      const seal = sealOf(terms, { coin, name })
      const link = LINK_PREFIX + Buffer.concat([terms, seal]).toString('base64url')
      return `/v1/${coin}/links/${link}/${name}`
    },

    /** The terms of the link in a URL, expired or not; undefined if it is not genuine. */
    termsAt(url: string): LinkTerms | undefined {
      const { coin = '', link = '', name = '' } = partsIn(url) ?? {}
      return read({ coin: coin.toLowerCase() as Coin, name }, link)
    },

    /**
     * The terms of a link, and its owner, if it has one: the caller that the gate found. Throws
     * `link_invalid`.
     */
    open(
      place: Place,
      link: string,
      found: Caller | undefined,
    ): LinkTerms & { caller: Caller | undefined } {
      const terms = read(place, link)
      if (terms === undefined) throw refusal('The link was altered, or belongs to another server.')
      const { keyId, untilMs } = terms
      if (clock() >= untilMs) throw refusal(`The link expired at ${toIso(untilMs)}.`)
      const caller = keyId === undefined ? undefined : found
      if (caller?.keyId !== keyId) throw refusal("The key of the link's owner is no longer valid.")
      return { ...terms, caller }

      function refusal(why: string): AppError {
        const how = `GET /v1/${place.coin}/files?links=1h creates new links.`
        return new AppError('link_invalid', `${why} ${how}`, { param: 'link' })
      }
    },
  }
}
