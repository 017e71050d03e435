/**
 * Manifests: the digests of all markets of a day, so that the holder of the data can prove that it
 * is what was served. Each manifest names the digest of the previous one, and is signed.
 * docs/trust.md describes how to check one without this program.
 */
import { createHash, verify } from 'node:crypto'

import { type Coin, type Market, type Source, type Timeframe, winnerOf } from './market.ts'
import { toIsoOrNull } from './time.ts'

export const MANIFEST_KIND = 'bookfeed-manifest-1'

/** Digests are SHA-256 in hex. */
export type MarketDigest = {
  conditionId: string
  slug: string | null
  source: Source
  /** The revision in GET /v1/{coin}/markets/{conditionId}. */
  revision: number
  snapshots: number
  /** Digest of all objects of `snapshots`, in order, each followed by a newline. */
  snapshotsSha256: string
  trades: number
  /** The same for `trades`. */
  tradesSha256: string
  /** Digest of `factsFingerprint`. */
  factsSha256: string
}

export type SeriesDigest = {
  coin: Coin
  timeframe: Timeframe
  /** Rises whenever the digest changes, so a citation of a revision stays valid. */
  revision: number
  /** Digest of `seriesText`. */
  sha256: string
  /** Ordered by conditionId. */
  markets: MarketDigest[]
}

/** An immutable file of the day. */
export type FileDigest = { path: string; bytes: number; sha256: string }

export type ManifestBody = {
  kind: typeof MANIFEST_KIND
  /** From 1, without gaps. */
  sequence: number
  /** UTC day in which the windows of its markets begin. */
  day: string
  /** Revision of the day's manifest, from 1. */
  revision: number
  madeAt: string
  /** Digest of the previous manifest; null for the first. */
  previous: string | null
  series: SeriesDigest[]
  files: FileDigest[]
}

/** The signed part of a manifest. */
export type Statement = Pick<ManifestBody, 'sequence' | 'day' | 'revision' | 'previous'> & {
  /** SHA-256 of the manifest's canonical JSON. */
  digest: string
}
/** Base64; the key is the raw 32 bytes. */
export type SignedStatement = Statement & { signature: string; publicKey: string }

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** JSON without white space and with sorted members, as RFC 8785 prints texts and integers. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    each === null || typeof each !== 'object' || Array.isArray(each)
      ? each
      : Object.fromEntries(Object.entries(each).sort(([a], [b]) => Number(a > b) - Number(a < b))),
  )

export const statementText = ({ sequence, day, revision, digest, previous }: Statement): string =>
  [MANIFEST_KIND, sequence, day, revision, digest, previous ?? '-'].join(' ')

type Facts = Pick<
  Market,
  | 'conditionId'
  | 'coin'
  | 'timeframe'
  | 'source'
  | 'slug'
  | 'windowStartMs'
  | 'windowEndMs'
  | 'strike'
  | 'finalPrice'
  | 'winner'
>

/** JSON of the facts that define a market, each a text or null, numbers as printed. */
export const factsFingerprint = (market: Facts): string =>
  JSON.stringify([
    market.conditionId,
    market.coin,
    market.timeframe,
    market.source,
    market.slug ?? null,
    toIsoOrNull(market.windowStartMs),
    toIsoOrNull(market.windowEndMs),
    market.strike ?? null,
    market.finalPrice ?? null,
    winnerOf(market) ?? null,
  ])

/** One line per market. */
export const seriesText = (markets: readonly MarketDigest[]): string =>
  markets
    .map(({ conditionId, snapshotsSha256, tradesSha256, factsSha256 }) =>
      [conditionId, snapshotsSha256, tradesSha256, factsSha256].join(' '),
    )
    .map((line) => `${line}\n`)
    .join('')

/** Prefix of a key of 32 bytes in DER form. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** The key in OpenSSL's PEM format. */
export const publicPemOf = (publicKey: string): string => {
  const der = Buffer.concat([SPKI, Buffer.from(publicKey, 'base64')]).toString('base64')
  return `-----BEGIN PUBLIC KEY-----\n${der}\n-----END PUBLIC KEY-----\n`
}

/** True if the statement was signed by the key that it names. */
export function isSigned({ signature, publicKey, ...statement }: SignedStatement): boolean {
  try {
    const text = Buffer.from(statementText(statement))
    return verify(null, text, publicPemOf(publicKey), Buffer.from(signature, 'base64'))
  } catch {
    // Not a key, or a key of another type.
    return false
  }
}

const citation = /^bookfeed:([a-z]+)\/(\w+)\/(\d{4}-\d\d-\d\d)(?:@r([1-9]\d{0,8}))?$/

/** Parses `bookfeed:btc/5m/2026-04-14@r3`; without `@r` it means the newest revision. */
export function parseCitation(text: string) {
  const [, coin, timeframe, day, revision] = citation.exec(text) ?? []
  if (coin === undefined || timeframe === undefined || day === undefined) return undefined
  return { coin, timeframe, day, revision: revision === undefined ? undefined : Number(revision) }
}
