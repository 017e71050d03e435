/**
 * Manifests: the digests of all markets of a day, so that the holder of the data can show that it is
 * what was served. Each names the digest of the one before, and is signed. docs/trust.md says how
 * to check one without this program.
 */
import { createHash, verify } from 'node:crypto'

import { type Coin, type Market, type Source, type Timeframe, winnerOf } from './market.ts'
import { toIsoOrNull } from './time.ts'

export const MANIFEST_KIND = 'bookfeed-manifest-1'

/** SHA-256 in hex. */
export type MarketDigest = {
  conditionId: string
  slug: string | null
  source: Source
  /** As GET /v1/{coin}/markets/{conditionId} had it. */
  revision: number
  snapshots: number
  /** Of each object of `snapshots`, in its order, with a newline after each. */
  snapshotsSha256: string
  trades: number
  /** Likewise of `trades`. */
  tradesSha256: string
  /** Of `factsFingerprint`. */
  factsSha256: string
}

export type SeriesDigest = {
  coin: Coin
  timeframe: Timeframe
  /** Rises when the digest does, so a citation of it stays what it was. */
  revision: number
  /** Of `seriesText`. */
  sha256: string
  /** By conditionId. */
  markets: MarketDigest[]
}

/** An immutable file of the day. */
export type FileDigest = { path: string; bytes: number; sha256: string }

export type ManifestBody = {
  kind: typeof MANIFEST_KIND
  /** From 1 on, none left out. */
  sequence: number
  /** UTC day in which the windows of its markets begin. */
  day: string
  /** Of the day, from 1 on. */
  revision: number
  madeAt: string
  /** Digest of the manifest before; null of the first. */
  previous: string | null
  series: SeriesDigest[]
  files: FileDigest[]
}

/** What is signed of a manifest. */
export type Statement = Pick<ManifestBody, 'sequence' | 'day' | 'revision' | 'previous'> & {
  /** SHA-256 of the canonical JSON of the manifest. */
  digest: string
}
/** In base64; the key is raw, 32 bytes. */
export type SignedStatement = Statement & { signature: string; publicKey: string }

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** JSON without white space, members by name: what RFC 8785 makes of texts and integers. */
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

/** JSON of the facts that decide what a market was, each a text or null; numbers as printed. */
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

/** A line for each market. */
export const seriesText = (markets: readonly MarketDigest[]): string =>
  markets
    .map(({ conditionId, snapshotsSha256, tradesSha256, factsSha256 }) =>
      [conditionId, snapshotsSha256, tradesSha256, factsSha256].join(' '),
    )
    .map((line) => `${line}\n`)
    .join('')

/** What precedes 32 bytes of a key in its DER form. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** The key as OpenSSL reads it. */
export const publicPemOf = (publicKey: string): string => {
  const der = Buffer.concat([SPKI, Buffer.from(publicKey, 'base64')]).toString('base64')
  return `-----BEGIN PUBLIC KEY-----\n${der}\n-----END PUBLIC KEY-----\n`
}

/** Whether a statement was signed by the key that it names. */
export function isSigned({ signature, publicKey, ...statement }: SignedStatement): boolean {
  try {
    const text = Buffer.from(statementText(statement))
    return verify(null, text, publicPemOf(publicKey), Buffer.from(signature, 'base64'))
  } catch {
    // It is no key, or none of this kind.
    return false
  }
}

const citation = /^bookfeed:([a-z]+)\/(\w+)\/(\d{4}-\d\d-\d\d)(?:@r([1-9]\d{0,8}))?$/

/** Reads `bookfeed:btc/5m/2026-04-14@r3`; without `@r` the newest is meant. */
export function parseCitation(text: string) {
  const [, coin, timeframe, day, revision] = citation.exec(text) ?? []
  if (coin === undefined || timeframe === undefined || day === undefined) return undefined
  return { coin, timeframe, day, revision: revision === undefined ? undefined : Number(revision) }
}
