import { type Static, Type } from '@sinclair/typebox'

import { coins, timeframes } from '#src/domain/market.ts'
import { revisionCauses } from '#src/domain/revision.ts'
import { cursorParameter, limitParameter, momentParameter } from '#src/http/data-query.ts'
import {
  choice,
  conditionIdField,
  count,
  exampleDay,
  listOf,
  object,
  positive,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { integer, utcDay } from '#src/http/kinds.ts'

export const RevisionQuery = Type.Object({
  since: Type.Optional(momentParameter("First time of change, inclusive, by the server's clock.")),
  coin: Type.Optional(
    choice(coins, 'Only changes of this coin; by default all coins of your tier.'),
  ),
  limit: limitParameter('Changes', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type RevisionQuery = Static<typeof RevisionQuery>

export const RevisionRow = object(
  'Revision',
  {
    id: text('Id, which increases with each change.', '4711'),
    time: time("Time of the change by the server's clock, UTC.", '2026-04-15T09:12:03.120Z'),
    why: choice(
      revisionCauses,
      '`late_rows`: the recorder added snapshots before the last one, or after the market was closed. `imported`: an import added snapshots. `late_trades`: trades arrived after the market was closed. `fact_changed`: a fact became known or was corrected. `gap_noted`: a gap was recorded. `gap_closed`: a gap became shorter or was removed. `deleted`: the market was deleted.',
    ),
    symbol: choice(coins, 'Coin in lower case.'),
    conditionId: conditionIdField,
    timeframe: choice(timeframes, 'Timeframe of the market.'),
    windowStart: time(
      'Start of the window; if it is unknown, the time of the first snapshot.',
      '2026-04-14T08:00:00.000Z',
    ),
    revision: positive('`revision` of the market after the change.', 12),
    added: count('Snapshots or trades that were added, with new ids.', 3),
    changed: count(
      'Snapshots that kept their id and book but changed otherwise, for example in the time of receipt.',
      0,
    ),
    removed: count(
      'Snapshots that were removed: replaced by a better one, assigned a new id, or deleted with the market.',
      0,
    ),
    from: timeOrNull('First affected time, inclusive.', '2026-04-14T08:01:10.004Z'),
    to: timeOrNull('Last affected time, exclusive.', '2026-04-14T08:01:12.871Z'),
    facts: Type.Array(
      Type.Object({
        fact: text('Name of the fact, as in a market.', 'winner'),
        before: textOrNull('Previous value; null if there was none.', null),
        after: textOrNull('New value.', 'up'),
      }),
      { description: 'Changed facts; empty for other kinds of changes.' },
    ),
  },
  { description: 'A change of published data of a market.' },
)
export type RevisionRow = Static<typeof RevisionRow>

const Listed = listOf(RevisionRow, 'Changes, in the order in which they were made.')
export const RevisionList = Type.Object({
  ...Listed.properties,
  completeSince: time(
    'Time since when the list is complete; earlier changes are unknown.',
    '2026-04-01T00:00:00.000Z',
  ),
})

const sha256 = (what: string) =>
  text(
    `SHA-256 in hex of ${what}.`,
    '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
  )
const day = text('UTC day on which the windows of the markets begin.', '2026-04-14')

const statementFields = {
  sequence: positive('Sequence number in the chain, from 1, without gaps.', 12),
  day,
  revision: positive('Revision of the day, from 1.', 1),
  digest: sha256('the canonical JSON of `manifest`'),
  previous: textOrNull(
    '`digest` of the previous manifest; null for the first.',
    'fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9',
  ),
  signature: text(
    'Ed25519 signature, in base64, of the text `bookfeed-manifest-1 SEQUENCE DAY REVISION DIGEST PREVIOUS`, where PREVIOUS is `-` if there is none.',
    'yCXIIXyqeZRMWj7SOuSJvv3c7sQmEKyP4DPmpPvXcVmNpjoMTQuxHXI5pLeIMeWSBdlcF3dRrUoyJqaMdTGPAw==',
  ),
  publicKey: text(
    'Public key of the signature: 32 bytes in base64. `/.well-known/bookfeed.json` has the current key.',
    '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  ),
}

export const ManifestQuery = Type.Object({
  sequence: Type.Optional(
    integer({ minimum: 1, description: 'The manifest with this sequence number.' }),
  ),
  day: Type.Optional(
    utcDay({ description: 'The newest manifest of this UTC day.', examples: [exampleDay.day] }),
  ),
})
export type ManifestQuery = Static<typeof ManifestQuery>

const MarketDigestBody = object('MarketDigest', {
  conditionId: conditionIdField,
  slug: textOrNull('Slug of the market.', 'btc-updown-5m-1776153600'),
  source: choice(['recorded', 'simulated'], 'Facts of the market.'),
  revision: positive('`revision` of the market when it was read.', 12),
  snapshots: count('Number of snapshots in the digest.', 2481),
  snapshotsSha256: sha256(
    'every object of `…/snapshots` in order, each followed by a newline; for a recorded market these are the bytes of `…/export`',
  ),
  trades: count('Number of trades in the digest.', 310),
  tradesSha256: sha256(
    'every object of `…/trades` in order, each followed by a newline, without a `transactionHash` that is null',
  ),
  factsSha256: sha256(
    'the JSON array, without white space, of conditionId, symbol, timeframe, source, slug, windowStart, windowEnd, strike, finalPrice and winner, each as text (numbers with their printed digits) or null',
  ),
})

const SeriesDigestBody = object('SeriesDigest', {
  coin: choice(coins, 'Coin in lower case.'),
  timeframe: choice(timeframes, 'Timeframe of the markets.'),
  revision: positive('Revision, which increases when the digest changes; used in citations.', 1),
  sha256: sha256(
    'one line for each market: conditionId, snapshotsSha256, tradesSha256 and factsSha256, separated by spaces, with a newline after each line',
  ),
  markets: Type.Array(MarketDigestBody, { description: 'By conditionId.' }),
})

export const ManifestBody = object('Manifest', {
  ...statementFields,
  manifest: Type.Object(
    {
      kind: text('Version of these rules.', 'bookfeed-manifest-1'),
      sequence: statementFields.sequence,
      day,
      revision: statementFields.revision,
      madeAt: time('Time at which the markets were read, UTC.', '2026-04-15T17:00:00.000Z'),
      previous: statementFields.previous,
      series: Type.Array(SeriesDigestBody, { description: 'Series by coin and timeframe.' }),
      files: Type.Array(
        Type.Object({
          path: text('Path of the file.', '/v1/btc/files/2026-04-14.parquet'),
          bytes: count('Its size.', 1024),
          sha256: sha256('its bytes'),
        }),
        { description: 'Immutable files of the day.' },
      ),
    },
    {
      description:
        'The signed document, in its canonical form (RFC 8785): members by name, no spaces.',
    },
  ),
})

export const ManifestListQuery = Type.Object({
  limit: limitParameter('Manifests', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type ManifestListQuery = Static<typeof ManifestListQuery>

export const ManifestRow = object('ManifestRow', {
  ...statementFields,
  madeAt: time('Time at which the markets were read, UTC.', '2026-04-15T17:00:00.000Z'),
})
export const ManifestList = listOf(ManifestRow, 'Manifests in the order of the chain.')

export const WellKnownBody = object('WellKnown', {
  service: text('Name of the service.', 'bookfeed'),
  algorithm: text('Algorithm of the signatures.', 'ed25519'),
  publicKey: statementFields.publicKey,
  publicKeyPem: text('The same key in the format of OpenSSL.', '-----BEGIN PUBLIC KEY-----\n…'),
  newest: Type.Union(
    [
      Type.Object({ sequence: statementFields.sequence, digest: statementFields.digest }),
      Type.Null(),
    ],
    { description: 'Head of the chain. Keep a copy to detect later changes of earlier manifests.' },
  ),
  manifests: text('The chain.', '/v1/manifests'),
  citations: text('Resolves a citation.', `/v1/cite?id=${exampleDay.citation}`),
})

export const CiteQuery = Type.Object({
  id: Type.String({
    minLength: 1,
    description:
      'A citation such as `bookfeed:btc/5m/2026-04-14@r3`: coin, timeframe, UTC day and revision; without `@r3` the newest revision.',
    examples: [exampleDay.citation],
  }),
})
export type CiteQuery = Static<typeof CiteQuery>

export const CitationBody = object('Citation', {
  citation: text('The full citation, with its revision.', exampleDay.citation),
  symbol: choice(coins, 'Coin in lower case.'),
  timeframe: choice(timeframes, 'Timeframe of the markets.'),
  day,
  revision: positive('Requested revision.', 1),
  newestRevision: positive('Newest revision; if it differs, data has changed since.', 1),
  isCurrent: Type.Boolean({
    description:
      'True if the stored markets are still as cited. False for an older revision, and for the newest one after a change, until the next manifest of the day is signed.',
    examples: [true],
  }),
  sha256: sha256('the cited series, as in a manifest'),
  markets: count('Number of markets.', 288),
  snapshots: count('Number of snapshots.', 714_000),
  asOf: time(
    'Time at which the markets were read, and the data was as cited.',
    '2026-04-15T17:00:00.000Z',
  ),
  sequence: positive('Sequence number of the first manifest with this revision.', 12),
  manifest: text('Path of that manifest.', '/v1/manifest?sequence=12'),
  data: text('Path of the list of markets.', '/v1/btc/markets?timeframe=5m&from=…&to=…'),
})
export type CitationBody = Static<typeof CitationBody>
