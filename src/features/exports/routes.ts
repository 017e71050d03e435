import { Elysia } from 'elysia'

import type { FindMarket } from '#src/domain/market.ts'
import { levelOf } from '#src/domain/selling/caller.ts'
import type { ServedMoment, StaleSince } from '#src/domain/staleness.ts'
import type { Api } from '#src/http/api.ts'
import {
  answerUnchanged,
  cachingHeaders,
  COVERAGE_HEADER,
  coverageNow,
} from '#src/http/data-response.ts'
import { callerOf } from '#src/http/gate.ts'
import { acceptsGzip, preferredType } from '#src/http/negotiation.ts'
import { piecesFrom, STREAM_SECONDS_MAX, streamResponse } from '#src/http/stream.ts'
import type { Work } from '#src/http/work.ts'
import type { Steps } from '#src/platform/scheduler.ts'
import { mediaTypes } from '#src/tables/column.ts'

import { coverageOf, type ExportPlan, planDay, planMarket } from './plan.ts'
import type { ExportRecords } from './records.ts'
import { DayExportQuery, ExportList, type Format, MarketExportQuery } from './schema.ts'
import { createExportService, type ExportDeps } from './service.ts'

const exportTypes: Readonly<Record<Format, string>> = {
  ndjson: 'application/x-ndjson',
  ...mediaTypes,
}

const VARY = 'Accept, Accept-Encoding, Origin'

const description = `One stream of any length, sent as fast as you read it. NDJSON holds the objects of \`snapshots\`, one per line; with \`Accept-Encoding: gzip\` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have \`timestamp\`, \`id\`, \`conditionId\`, \`outcome\`, then with \`shape=levels\` \`side\` (\`bid\` or \`ask\`), \`level\` (1 is the best), \`price\`, \`size\`, one row per level; a snapshot without any level is one row without a side. With \`shape=states\` they have \`bid_price_1\`, \`bid_size_1\` … \`ask_price_1\` … instead, one row per snapshot. With \`include=receivedAt\` the time at which the recorder received the state comes last: \`receivedAt\`, or the column \`received_at\`; null or empty where it is not known. Where any market of the file is simulated, each row ends with its \`source\`, as a member or column. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that takes nothing for ${STREAM_SECONDS_MAX} seconds is cut off. Resume an interrupted download with \`after\`.`

const text = { schema: { type: 'string' as const } }
const ok = {
  description: 'The file. To find out whether it was sent completely, see `GET /v1/exports`.',
  content: {
    'application/x-ndjson': text,
    'text/csv': text,
    [mediaTypes.parquet]: {
      schema: { type: 'string' as const, format: 'binary' as const },
    },
  },
  headers: { Vary: `\`${VARY}\`.` },
  bodyHeaders: {
    'X-Export-Id': 'Identifies the export in `GET /v1/exports`, which has its digest and counts.',
    'Content-Disposition': '`attachment` and the name of the file.',
  },
}

const shared = {
  access: 'snapshots',
  answers: ok,
  isCovered: true,
  caching: 'tag',
  fails: ['too_many_streams'],
} as const

export function exportRoutes(
  api: Api,
  deps: ExportDeps & {
    served: () => ServedMoment
    work: Work
    findMarket: FindMarket
    staleSince: StaleSince
  },
) {
  const { history, served, work, findMarket, staleSince } = deps
  const service = createExportService(deps)

  async function answer(request: Request, planning: Steps<ExportPlan>): Promise<Response> {
    // The place comes first, so that a refusal costs little. A 304 needs none.
    const isKnown = request.headers.has('if-none-match')
    const place = isKnown ? undefined : work.openStream(request)
    try {
      const plan = await work.run(request, planning)
      return await send(request, plan, () => place ?? work.openStream(request))
    } catch (error) {
      place?.()
      throw error
    }
  }

  async function send(
    request: Request,
    plan: ExportPlan,
    takePlace: () => () => void,
  ): Promise<Response> {
    const recorded = await work.run(request, coverageOf(history, plan, served()))
    // Parquet is compressed inside.
    const isGzip = plan.format !== 'parquet' && acceptsGzip(request.headers.get('accept-encoding'))
    const etag = `"${service.tagOf(plan, isGzip)}"`
    const isClosed = service.isClosed(plan)
    const coverage = coverageNow(recorded, isClosed, staleSince) ?? recorded
    const common = { ...cachingHeaders(isClosed), Vary: VARY, [COVERAGE_HEADER]: coverage }
    const unchanged = answerUnchanged(request, etag, common)
    if (unchanged !== undefined) return unchanged
    const close = takePlace()
    const caller = callerOf(request)
    const by = { accountId: caller.accountId, level: levelOf(caller) }
    const { exportId, pieces, onEnd } = service.begin(plan, { ...by, isGzip, close })
    const headers: Record<string, string> = {
      'Content-Type': exportTypes[plan.format],
      'Content-Disposition': `attachment; filename="${plan.name}.${plan.format}"`,
      ...common,
      ETag: etag,
      'X-Export-Id': exportId,
    }
    if (isGzip) headers['Content-Encoding'] = 'gzip'
    return streamResponse(request, { headers, pieces: piecesFrom(pieces), onEnd })
  }

  return new Elysia({ name: 'exports', tags: ['exports'] })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/export',
      ({ market, query, request }) => {
        const format = formatOf(request, query.format)
        return answer(request, planMarket(history, { market, query, format }))
      },
      {
        market: true,
        ...shared,
        query: MarketExportQuery,
        detail: {
          operationId: 'exportMarket',
          summary: 'All snapshots of a market as one file',
          description,
        },
      },
    )
    .get(
      '/v1/:coin/export',
      ({ coin, query, request }) => {
        const format = formatOf(request, query.format)
        return answer(request, planDay(history, { coin, query, format, findMarket }))
      },
      {
        coin: true,
        ...shared,
        query: DayExportQuery,
        detail: {
          operationId: 'exportDay',
          summary: 'All snapshots of a coin and day as one file',
          description: `The markets of a day one after the other, oldest window first, each as in its own export. \`X-Coverage\` also counts windows that are not held: of \`timeframe\`, or of each timeframe held that day. ${description}`,
        },
      },
    )
}

/** The first thread answers it, which knows the exports of all threads. */
export const exportListRoutes = (api: Api, records: Pick<ExportRecords, 'list'>) =>
  new Elysia({ name: 'export-list', tags: ['exports'] }).use(api).get(
    '/v1/exports',
    ({ caller }): ExportList => ({
      data: records.list(caller.accountId),
      nextCursor: null,
    }),
    {
      access: 'key',
      caching: 'private, no-store',
      isInMemory: true,
      response: { 200: ExportList },
      answers: { description: 'The exports.' },
      detail: {
        operationId: 'listExports',
        summary: 'What became of your exports',
        description:
          'Whether each export was sent completely, how many snapshots it had, and its SHA-256 to check a file against. The last 20 exports of an account, until the server restarts.',
      },
    },
  )

/** The parameter goes before the header; a header that leaves none of ours is passed over. */
const formatOf = (request: Request, asked: Format | undefined): Format =>
  asked ?? preferredType(request, exportTypes, 'ndjson')
