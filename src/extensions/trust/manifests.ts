/** Manifests, their key, and citations of what they digest. */

import { Elysia } from 'elysia'

import { type CursorCodec, type CursorList, idPosition } from '#src/domain/cursor.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import {
  type ManifestBody,
  parseCitation,
  publicPemOf,
  type SeriesDigest,
} from '#src/domain/manifest.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import { DAY_MS, toIso, toIsoDay } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { ManifestHead, StoredManifest } from '#src/history/revisions.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { createTable, tableQuery } from '#src/http/table.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { isAsDigested } from './day-manifest.ts'
import {
  CitationBody,
  CiteQuery,
  ManifestBody as Body,
  ManifestList,
  ManifestListQuery,
  ManifestQuery,
  WellKnownBody,
} from './schema.ts'

type History = Pick<
  MarketHistory,
  'manifests' | 'ready' | 'listMarkets' | 'skipMarkets' | 'lines' | 'trades'
>
type Deps = { history: History; cursors: CursorCodec }
type Manifests = Deps['history']['manifests']

const asTable = createTable(ManifestList)

const shared = { openTo: 'open', caching: 'digest' } as const

export const manifestRoutes = (api: Api, { history, cursors }: Deps) => {
  const { manifests } = history
  return new Elysia({ name: 'manifests', tags: ['trust'] })
    .use(api)
    .get(
      '/v1/manifests',
      ({ reply, request, query }) =>
        reply.data(request, asTable({ request, query }, listPage(manifests, cursors, query))),
      {
        ...shared,
        query: tableQuery(ManifestListQuery),
        isTable: true,
        fails: ['damaged'],
        response: { 200: ManifestList },
        answers: {
          description: 'A page of the chain.',
          resume: 'The place after the last one, also when `nextCursor` is null.',
        },
        detail: {
          operationId: 'listManifests',
          summary: 'The chain of manifests',
          description:
            'Every manifest with its signature, in order: enough to check the chain. Each names the digest of the one before, so none can be changed or left out unseen. Needs no key, so that anybody may keep a copy.',
        },
      },
    )
    .get(
      '/v1/manifest',
      ({ reply, request, query }) => {
        const { body, ...signed } = findManifest(manifests, query)
        const statement = JSON.stringify(statementOf(signed))
        const whole = `${statement.slice(0, -1)},"manifest":${body}}`
        return reply.data(request, { body: whole, isClosed: hasPlace(query) })
      },
      {
        ...shared,
        query: ManifestQuery,
        fails: ['damaged', 'not_found'],
        response: { 200: Body },
        answers: { description: 'The manifest, and its signature.' },
        detail: {
          operationId: 'getManifest',
          summary: 'The digests of a day',
          description:
            'Digests of every market whose window begins in a UTC day: of its snapshots, its trades and its facts, to be compared with what the other routes serve. Made once the markets of the day are closed and their winners known, three days after it at the latest, and again when something of it changed. Without a parameter the newest.',
        },
      },
    )
    .get(
      '/v1/cite',
      ({ reply, request, query }) => reply.data(request, resolveCitation(history, query.id)),
      {
        ...shared,
        query: CiteQuery,
        fails: ['damaged', 'not_found'],
        response: { 200: CitationBody },
        answers: { description: 'What is cited.' },
        detail: {
          operationId: 'getCitation',
          summary: 'What a citation stands for',
          description:
            'A citation such as `bookfeed:btc/5m/2026-04-14@r3` names the markets of a coin, timeframe and UTC day as they were at a revision. The answer has their digest, the manifest that was signed over it, the moment at which the data was as cited, and whether it still is.',
        },
      },
    )
    .get('/.well-known/bookfeed.json', () => describeKey(manifests), {
      openTo: 'none',
      caching: 'no-cache',
      fails: ['damaged', 'internal'],
      response: { 200: WellKnownBody },
      answers: { description: 'The key.' },
      detail: {
        operationId: 'getWellKnown',
        summary: 'The key that signs manifests',
        description: 'The public key, and the head of the chain.',
      },
    })
}

const hasPlace = ({ sequence }: ManifestQuery): boolean => sequence !== undefined

const manifestList: CursorList<object, number> = {
  name: 'manifests',
  filters: () => [],
  position: idPosition,
  start: () => 0,
}

const listPage = (
  manifests: Manifests,
  cursors: CursorCodec,
  { limit, cursor }: ManifestListQuery,
): Steps<DataAnswer> =>
  readList(cursors, {
    list: manifestList,
    filters: {},
    cursor,
    read: (after = 0) =>
      takeRows(manifests.list(after, limit + 1), limit, {
        textOf: (each) => JSON.stringify({ ...statementOf(each), madeAt: toIso(each.madeMs) }),
        positionOf: ({ sequence }) => sequence,
      }),
  })

const statementOf = (signed: ManifestHead) => ({
  sequence: signed.sequence,
  day: signed.day,
  revision: signed.revision,
  digest: signed.digest,
  previous: signed.previous,
  signature: signed.signature,
  publicKey: signed.publicKey,
})

/** Throws `invalid_parameter` and `not_found`. */
function findManifest(manifests: Manifests, query: ManifestQuery): StoredManifest {
  const { sequence } = query
  const day = query.day === undefined ? undefined : toIsoDay(query.day)
  if (sequence !== undefined && day !== undefined) {
    throw parameterError('day', '`sequence` names one manifest. Leave out `day`.')
  }
  const place = sequence ?? manifests.newest()?.sequence ?? 0
  const found = day === undefined ? manifests.find(place) : manifests.ofDay(day)
  if (found !== undefined) return found
  const which = sequence === undefined ? (day ?? 'any day yet') : `place ${sequence}`
  throw new AppError(
    'not_found',
    `There is no manifest of ${which}. A day has one once its markets are closed and their winners known; GET /v1/manifests lists those there are.`,
  )
}

/** A series of a day at each of its manifests, the oldest first; one manifest a step. */
function* revisionsOf(
  manifests: Manifests,
  { coin, timeframe, day }: { coin: string; timeframe: string; day: string },
): Steps<(SeriesDigest & { sequence: number; madeMs: number })[]> {
  const found = []
  for (const sequence of manifests.sequencesOf(day)) {
    const { body = '{"series":[]}', madeMs = 0 } = manifests.find(sequence) ?? {}
    const { series } = JSON.parse(body) as ManifestBody
    const own = series.find((each) => each.coin === coin && each.timeframe === timeframe)
    if (own !== undefined) found.push({ ...own, sequence, madeMs })
    yield
  }
  return found
}

/** Throws `invalid_parameter` and `not_found`. */
function* resolveCitation(history: History, text: string): Steps<DataAnswer> {
  const cited = parseCitation(text)
  if (cited === undefined) {
    throw parameterError(
      'id',
      `\`id\` is "${excerpt(text)}", which is no citation: send one such as bookfeed:btc/5m/2026-04-14@r3.`,
    )
  }
  const { coin, timeframe, day, revision } = cited
  const all = yield* revisionsOf(history.manifests, cited)
  const newest = all.at(-1)
  // The first that has it: later ones may repeat it because another series of the day changed.
  const found = all.find((each) => each.revision === (revision ?? newest?.revision))
  if (found === undefined || newest === undefined) {
    throw new AppError(
      'not_found',
      `Nothing is known of ${excerpt(text)}. GET /v1/manifest?day=${day} has the revisions of a day.`,
    )
  }
  const startMs = Date.parse(`${day}T00:00:00Z`)
  const range = `from=${startMs}&to=${startMs + DAY_MS}`
  // What came since the newest was signed is in none yet.
  const isCurrent =
    found.revision === newest.revision && (yield* isAsDigested(history, { ...newest, day }))
  const answer: CitationBody = {
    citation: `bookfeed:${coin}/${timeframe}/${day}@r${found.revision}`,
    symbol: found.coin,
    timeframe: found.timeframe,
    day,
    revision: found.revision,
    newestRevision: newest.revision,
    isCurrent,
    sha256: found.sha256,
    markets: found.markets.length,
    snapshots: found.markets.reduce((sum, { snapshots }) => sum + snapshots, 0),
    asOf: toIso(found.madeMs),
    sequence: found.sequence,
    manifest: `/v1/manifest?sequence=${found.sequence}`,
    data: `/v1/${coin}/markets?timeframe=${timeframe}&${range}`,
  }
  return { body: JSON.stringify(answer) }
}

function describeKey(manifests: Manifests) {
  const publicKey = manifests.publicKey()
  const newest = manifests.newest()
  return {
    service: 'bookfeed',
    algorithm: 'ed25519',
    publicKey,
    publicKeyPem: publicPemOf(publicKey),
    newest: newest ? { sequence: newest.sequence, digest: newest.digest } : null,
    manifests: '/v1/manifests',
    citations: '/v1/cite?id=bookfeed:btc/5m/2026-04-14@r1',
  }
}
