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
import { utcDay } from '#src/http/schema-reader.ts'

export const RevisionQuery = Type.Object({
  since: Type.Optional(
    momentParameter('First moment, inclusive, at which a change was made by our clock.'),
  ),
  coin: Type.Optional(choice(coins, 'Only this coin; all of your tier when absent.')),
  limit: limitParameter('Changes', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type RevisionQuery = Static<typeof RevisionQuery>

export const RevisionRow = object(
  'Revision',
  {
    id: text('Digits that rise with every change.', '4711'),
    time: time('When it was made, by our clock, UTC.', '2026-04-15T09:12:03.120Z'),
    why: choice(
      revisionCauses,
      '`late_rows`: the recorder added snapshots before the last one, or after the market was closed. `imported`: an import did. `late_trades`: trades came after the market was closed. `fact_changed`: a fact became known, or was corrected. `gap_noted`, `gap_closed`: a time without snapshots was noted, or it is shorter or gone. `deleted`: the market is no longer held.',
    ),
    symbol: choice(coins, 'Coin in lower case.'),
    conditionId: conditionIdField,
    timeframe: choice(timeframes, "Length of the market's window."),
    windowStart: time(
      'Start of its window; its first snapshot where that is not known.',
      '2026-04-14T08:00:00.000Z',
    ),
    revision: positive('`revision` of the market after the change.', 12),
    added: count('Snapshots or trades that were added, with new ids.', 3),
    changed: count(
      'Snapshots that kept their id and their book, of which something else is better known, such as the time of receipt.',
      0,
    ),
    removed: count(
      'Snapshots that are gone: a better one replaced them, they have a new id, or the market was deleted.',
      0,
    ),
    from: timeOrNull('First time that is concerned, inclusive.', '2026-04-14T08:01:10.004Z'),
    to: timeOrNull('Last time that is concerned, exclusive.', '2026-04-14T08:01:12.871Z'),
    facts: Type.Array(
      Type.Object({
        fact: text('Name of the fact, as of a market.', 'winner'),
        before: textOrNull('What was known before; null where nothing was.', null),
        after: textOrNull('What is known since.', 'up'),
      }),
      { description: 'Facts that changed; empty of other changes.' },
    ),
  },
  { description: 'A change of a market after it could be served.' },
)
export type RevisionRow = Static<typeof RevisionRow>

const Listed = listOf(RevisionRow, 'Changes in the order in which they were made.')
export const RevisionList = Type.Object({
  ...Listed.properties,
  completeSince: time(
    'Every change since then is in the list; what changed before is not known.',
    '2026-04-01T00:00:00.000Z',
  ),
})

const sha256 = (what: string) =>
  text(
    `SHA-256 in hex of ${what}.`,
    '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
  )
const day = text('UTC day in which the windows of its markets begin.', '2026-04-14')

const statementFields = {
  sequence: positive('Place in the chain, from 1 on, none left out.', 12),
  day,
  revision: positive('Of the day, from 1 on.', 1),
  digest: sha256('the canonical JSON of `manifest`'),
  previous: textOrNull(
    '`digest` of the manifest before; null of the first.',
    'fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9',
  ),
  signature: text(
    'Ed25519, in base64, of the text `bookfeed-manifest-1 SEQUENCE DAY REVISION DIGEST PREVIOUS`, where PREVIOUS is `-` if there is none.',
    'yCXIIXyqeZRMWj7SOuSJvv3c7sQmEKyP4DPmpPvXcVmNpjoMTQuxHXI5pLeIMeWSBdlcF3dRrUoyJqaMdTGPAw==',
  ),
  publicKey: text(
    'The key that signed it: 32 bytes in base64. `/.well-known/bookfeed.json` has the one of today.',
    '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
  ),
}

export const ManifestQuery = Type.Object({
  sequence: Type.Optional(Type.Integer({ minimum: 1, description: 'The one at this place.' })),
  day: Type.Optional(
    utcDay({ description: 'The newest of this day in UTC.', examples: [exampleDay.day] }),
  ),
})
export type ManifestQuery = Static<typeof ManifestQuery>

const MarketDigestBody = object('MarketDigest', {
  conditionId: conditionIdField,
  slug: textOrNull("The venue's name of the market.", 'btc-updown-5m-1776153600'),
  source: choice(['recorded', 'simulated'], 'As of the market.'),
  revision: positive('`revision` of the market when it was read.', 12),
  snapshots: count('Snapshots that were digested.', 2481),
  snapshotsSha256: sha256(
    'every object of `…/snapshots` in its order, each followed by a newline; of a recorded market that is `…/export`',
  ),
  trades: count('Trades that were digested.', 310),
  tradesSha256: sha256(
    'every object of `…/trades`, likewise, without a `transactionHash` that is null',
  ),
  factsSha256: sha256(
    'the JSON array, without white space, of conditionId, symbol, timeframe, source, slug, windowStart, windowEnd, strike, finalPrice and winner as texts (numbers with the digits that are printed) or null',
  ),
})

const SeriesDigestBody = object('SeriesDigest', {
  coin: choice(coins, 'Coin in lower case.'),
  timeframe: choice(timeframes, "Length of the markets' windows."),
  revision: positive('Rises when the digest changes; a citation names it.', 1),
  sha256: sha256(
    'a line for each market: conditionId, snapshotsSha256, tradesSha256 and factsSha256, joined by spaces, with a newline after each',
  ),
  markets: Type.Array(MarketDigestBody, { description: 'By conditionId.' }),
})

export const ManifestBody = object('Manifest', {
  ...statementFields,
  manifest: Type.Object(
    {
      kind: text('Names these rules.', 'bookfeed-manifest-1'),
      sequence: statementFields.sequence,
      day,
      revision: statementFields.revision,
      madeAt: time('When the markets were read, UTC.', '2026-04-15T17:00:00.000Z'),
      previous: statementFields.previous,
      series: Type.Array(SeriesDigestBody, { description: 'By coin and timeframe.' }),
      files: Type.Array(
        Type.Object({
          path: text('Where it is served.', '/v1/btc/files/2026-04-14.parquet'),
          bytes: count('Its size.', 1024),
          sha256: sha256('its bytes'),
        }),
        { description: 'Immutable files of the day.' },
      ),
    },
    {
      description: 'What is signed, in its canonical form (RFC 8785): members by name, no spaces.',
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
  madeAt: time('When the markets were read, UTC.', '2026-04-15T17:00:00.000Z'),
})
export const ManifestList = listOf(ManifestRow, 'Manifests in the order of the chain.')

export const WellKnownBody = object('WellKnown', {
  service: text('What this is.', 'bookfeed'),
  algorithm: text('Of signatures.', 'ed25519'),
  publicKey: statementFields.publicKey,
  publicKeyPem: text('The same as OpenSSL reads it.', '-----BEGIN PUBLIC KEY-----\n…'),
  newest: Type.Union(
    [
      Type.Object({ sequence: statementFields.sequence, digest: statementFields.digest }),
      Type.Null(),
    ],
    { description: 'Head of the chain: keep it to see later that nothing before it changed.' },
  ),
  manifests: text('The chain.', '/v1/manifests'),
  citations: text('Resolves a citation.', `/v1/cite?id=${exampleDay.citation}`),
})

export const CiteQuery = Type.Object({
  id: Type.String({
    minLength: 1,
    description:
      'A citation such as `bookfeed:btc/5m/2026-04-14@r3`: coin, timeframe, UTC day, revision; without `@r3` the newest.',
    examples: [exampleDay.citation],
  }),
})
export type CiteQuery = Static<typeof CiteQuery>

export const CitationBody = object('Citation', {
  citation: text('In full, with its revision.', exampleDay.citation),
  symbol: choice(coins, 'Coin in lower case.'),
  timeframe: choice(timeframes, "Length of the markets' windows."),
  day,
  revision: positive('The one that was asked for.', 1),
  newestRevision: positive('Another one means that something changed since.', 1),
  isCurrent: Type.Boolean({
    description:
      'Whether the markets that are held now are as cited. False for an older revision, and for the newest one after a late row or an import, until the next manifest of the day is signed.',
    examples: [true],
  }),
  sha256: sha256('what is cited, as of a series in a manifest'),
  markets: count('Markets of it.', 288),
  snapshots: count('Snapshots of these.', 714_000),
  asOf: time('When it was as cited: the markets were read then.', '2026-04-15T17:00:00.000Z'),
  sequence: positive('Manifest that has it first.', 12),
  manifest: text('Where that is.', '/v1/manifest?sequence=12'),
  data: text('Where the markets are listed.', '/v1/btc/markets?timeframe=5m&from=…&to=…'),
})
export type CitationBody = Static<typeof CitationBody>
