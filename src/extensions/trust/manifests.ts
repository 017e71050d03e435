/** Manifests, their key, and citations of the data that they digest. */

import { Elysia } from 'elysia'

import { type CursorList, idPosition } from '#src/domain/cursor.ts'
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
import { listLane, type TableForm, tableOf, tableQuery, tableTask } from '#src/http/table.ts'
import { dataTask, type TaskPorts, type Tasks } from '#src/http/tasks.ts'

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
type Deps = { history: History; tasks: Tasks }
type Given = { query: ManifestListQuery; table: TableForm }
type Manifests = Deps['history']['manifests']

export const manifestsTask = tableTask('manifests', ManifestList, listPage)
export const citeTask = dataTask('cite', resolveCitation)

const shared = { openTo: 'open', caching: 'digest' } as const

export const manifestRoutes = (api: Api, { history, tasks }: Deps) => {
  const { manifests } = history
  return new Elysia({ name: 'manifests', tags: ['trust'] })
    .use(api)
    .get(
      '/v1/manifests',
      ({ reply, request, query }) => {
        const table = tableOf(request, query)
        const lane = listLane(ManifestListQuery, query, table)
        return reply(request, tasks.data(request, manifestsTask, { query, table }, lane))
      },
      {
        ...shared,
        query: tableQuery(ManifestListQuery),
        fails: ['damaged'],
        response: { 200: ManifestList },
        answers: {
          description: 'A page of the manifest chain.',
          resume: 'Cursor after the last manifest, even if `nextCursor` is null.',
        },
        detail: {
          operationId: 'listManifests',
          summary: 'List manifests',
          description:
            'Every manifest with its signature, in order, so that the chain can be verified. Each manifest contains the digest of the previous one, so none can be changed or removed unnoticed. Needs no key, so that anyone can keep a copy.',
        },
      },
    )
    .get(
      '/v1/manifest',
      ({ reply, request, query }) => {
        const { body, ...signed } = findManifest(manifests, query)
        const statement = JSON.stringify(statementOf(signed))
        const whole = `${statement.slice(0, -1)},"manifest":${body}}`
        return reply(request, { body: whole, isClosed: hasPlace(query) })
      },
      {
        ...shared,
        query: ManifestQuery,
        fails: ['damaged', 'not_found'],
        response: { 200: Body },
        answers: { description: 'Manifest and signature.' },
        detail: {
          operationId: 'getManifest',
          summary: 'Get the manifest of a day',
          description:
            'SHA-256 digests of every market whose window begins on a UTC day: of its snapshots, its trades and its facts, to compare with the other routes. A manifest is made once all markets of the day are closed and their winners known, at the latest three days after the day, and again when data of the day changes. By default the newest manifest.',
        },
      },
    )
    .get(
      '/v1/cite',
      ({ reply, request, query }) =>
        reply(request, tasks.data(request, citeTask, query.id, 'long')),
      {
        ...shared,
        query: CiteQuery,
        fails: ['damaged', 'not_found'],
        response: { 200: CitationBody },
        answers: { description: 'The cited data.' },
        detail: {
          operationId: 'getCitation',
          summary: 'Resolve a citation',
          description:
            'A citation such as `bookfeed:btc/5m/2026-04-14@r3` identifies the markets of a coin, timeframe and UTC day at a revision. Returns their digest, the signed manifest that contains it, the time at which the data was as cited, and whether it still is.',
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
        summary: 'Get the key that signs manifests',
        description: 'Public key, and head of the chain.',
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

function listPage(
  { history: { manifests }, cursors }: TaskPorts,
  { query: { limit, cursor } }: Given,
): Promise<DataAnswer> {
  return readList(cursors, {
    list: manifestList,
    filters: {},
    cursor,
    read: (after = 0) =>
      takeRows(manifests.list(after, limit + 1), limit, {
        textOf: (each) => JSON.stringify({ ...statementOf(each), madeAt: toIso(each.madeMs) }),
        positionOf: ({ sequence }) => sequence,
      }),
  })
}

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
    throw parameterError('day', '`sequence` identifies one manifest. Leave out `day`.')
  }
  const place = sequence ?? manifests.newest()?.sequence ?? 0
  const found = day === undefined ? manifests.find(place) : manifests.ofDay(day)
  if (found !== undefined) return found
  const which = sequence === undefined ? (day ?? 'any day yet') : `place ${sequence}`
  throw new AppError(
    'not_found',
    `There is no manifest of ${which}. A manifest is made once all markets of the day are closed and their winners known; GET /v1/manifests lists the existing ones.`,
  )
}

/** A series of a day in each of its manifests, oldest first. */
function revisionsOf(
  manifests: Manifests,
  { coin, timeframe, day }: { coin: string; timeframe: string; day: string },
): (SeriesDigest & { sequence: number; madeMs: number })[] {
  const found = []
  for (const sequence of manifests.sequencesOf(day)) {
    const { body = '{"series":[]}', madeMs = 0 } = manifests.find(sequence) ?? {}
    const { series } = JSON.parse(body) as ManifestBody
    const own = series.find((each) => each.coin === coin && each.timeframe === timeframe)
    if (own !== undefined) found.push({ ...own, sequence, madeMs })
  }
  return found
}

/** Rejects with `invalid_parameter` and `not_found`. */
async function resolveCitation({ history }: TaskPorts, text: string): Promise<DataAnswer> {
  const cited = parseCitation(text)
  if (cited === undefined) {
    throw parameterError(
      'id',
      `\`id\` is "${excerpt(text)}", which is not a citation: send one such as bookfeed:btc/5m/2026-04-14@r3.`,
    )
  }
  const { coin, timeframe, day, revision } = cited
  const all = revisionsOf(history.manifests, cited)
  const newest = all.at(-1)
  // The first manifest with this revision: later ones may repeat it, if another series of the day
  // changed.
  const found = all.find((each) => each.revision === (revision ?? newest?.revision))
  if (found === undefined || newest === undefined) {
    throw new AppError(
      'not_found',
      `${excerpt(text)} is unknown. GET /v1/manifest?day=${day} lists the revisions of a day.`,
    )
  }
  const startMs = Date.parse(`${day}T00:00:00Z`)
  const range = `from=${startMs}&to=${startMs + DAY_MS}`
  // Changes since the newest signature are not in a manifest yet.
  const isCurrent =
    found.revision === newest.revision && (await isAsDigested(history, { ...newest, day }))
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
