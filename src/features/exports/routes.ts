import { Elysia } from 'elysia'

import { levelOf } from '#src/domain/selling/caller.ts'
import type { Silences } from '#src/history/reads/with-downtime.ts'
import type { Api } from '#src/http/api.ts'
import { openStream } from '#src/http/capacity.ts'
import {
  answerUnchanged,
  cachingHeaders,
  COVERAGE_HEADER,
  coverageFor,
  mayBeKept,
} from '#src/http/data-response.ts'
import { acceptsGzip, preferredType } from '#src/http/negotiation.ts'
import { callerOf } from '#src/http/rights.ts'
import { piecesFrom, STREAM_SECONDS_MAX, streamResponse } from '#src/http/stream.ts'
import type { ConcurrencyLimit } from '#src/platform/concurrency-limit.ts'
import { mediaTypes } from '#src/tables/column.ts'
import { engineEndings } from '#src/tables/engine-files.ts'

import { type ExportPlan, planTask } from './plan.ts'
import type { ExportRecords } from './records.ts'
import {
  DayExportQuery,
  ExportList,
  type Format,
  isEngineFormat,
  MarketExportQuery,
  type TableFormat,
} from './schema.ts'
import { createExportService, type ExportDeps } from './service.ts'

const ZIP = 'application/zip'
const tableTypes: Readonly<Record<TableFormat, string>> = {
  ndjson: 'application/x-ndjson',
  ...mediaTypes,
}
/** Types that `Accept` may name for a market; the other formats share a type with a table. */
const marketTypes = { ...tableTypes, npz: ZIP }
const exportTypes: Readonly<Record<Format, string>> = {
  ...tableTypes,
  npz: ZIP,
  tardis: mediaTypes.csv,
  pmxt: mediaTypes.parquet,
}

const endingOf = (format: Format): string =>
  isEngineFormat(format) ? engineEndings[format] : format

const VARY = 'Accept, Accept-Encoding, Origin'

const description = `One stream of any length, sent as fast as you read it. NDJSON holds the objects of \`snapshots\`, one per line; with \`Accept-Encoding: gzip\` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have \`timestamp\`, \`id\`, \`conditionId\`, \`outcome\`, then with \`shape=levels\` \`side\` (\`bid\` or \`ask\`), \`level\` (1 is the best), \`price\`, \`size\`, one row per level; a snapshot without any level is one row without a side. With \`shape=states\` they have \`bid_price_1\`, \`bid_size_1\` … \`ask_price_1\` … instead, one row per snapshot. With \`shape=changes\` they have \`prev_id\`, \`outcome\`, \`received_at\`, \`verified\`, \`snapshot\`, \`side\`, \`price\`, \`size\`, one row per level that changed (size 0 if it is gone), and NDJSON has the rows of \`…/changes\`, each with its \`conditionId\`. With \`include=receivedAt\` the time at which the recorder received the state comes last: \`receivedAt\`, or the column \`received_at\`; null or empty where it is not known. Where any market of the file is simulated, each row ends with its \`source\`, as a member or column. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that reads nothing for ${STREAM_SECONDS_MAX} seconds is closed. Resume an interrupted download with \`after\`.`

const text = { schema: { type: 'string' as const } }
const binary = { schema: { type: 'string' as const, format: 'binary' as const } }
const ok = {
  description: 'The file. `GET /v1/exports` shows whether it was sent completely.',
  content: {
    'application/x-ndjson': text,
    'text/csv': text,
    [mediaTypes.parquet]: binary,
  },
  headers: { Vary: `\`${VARY}\`.` },
  bodyHeaders: {
    'X-Export-Id': 'Id of the export in `GET /v1/exports`, which has its digest and counts.',
    'Content-Disposition': '`attachment` with the file name.',
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
  deps: ExportDeps & { streams: ConcurrencyLimit; silences: Silences },
) {
  const { tasks, streams, silences } = deps
  const service = createExportService(deps)

  async function answer(
    request: Request,
    asked: Parameters<typeof planTask.run>[1],
  ): Promise<Response> {
    // Takes the slot first, so that a refusal costs little. A 304 needs no slot.
    const isKnown = request.headers.has('if-none-match')
    const place = isKnown ? undefined : openStream(request, streams)
    try {
      const plan = await tasks.run(request, planTask, asked)
      return await send(request, plan, () => place ?? openStream(request, streams))
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
    const { coverage: recorded, isClosed } = plan
    // Parquet and ZIP files are compressed internally.
    const isPacked = ['parquet', 'npz', 'pmxt'].includes(plan.format)
    const isGzip = !isPacked && acceptsGzip(request.headers.get('accept-encoding'))
    const etag = `"${service.tagOf(plan, isGzip)}"`
    const coverage = coverageFor(request, { coverage: recorded, isClosed }, silences) ?? recorded
    const common = {
      ...cachingHeaders(isClosed, coverage),
      Vary: VARY,
      [COVERAGE_HEADER]: coverage,
    }
    const isKept = mayBeKept(coverage)
    const unchanged = isKept ? answerUnchanged(request, etag, common) : undefined
    if (unchanged !== undefined) return unchanged
    const close = takePlace()
    const caller = callerOf(request)
    const by = { accountId: caller.accountId, level: levelOf(caller) }
    const { exportId, pieces, onEnd } = service.begin(plan, { ...by, isGzip, close })
    const headers: Record<string, string> = {
      'Content-Type': exportTypes[plan.format],
      'Content-Disposition': `attachment; filename="${plan.name}.${endingOf(plan.format)}"`,
      ...common,
      ...(isKept && { ETag: etag }),
      'X-Export-Id': exportId,
    }
    if (isGzip) headers['Content-Encoding'] = 'gzip'
    return streamResponse({ headers, pieces: piecesFrom(pieces), onEnd })
  }

  return new Elysia({ name: 'exports', tags: ['exports'] })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/export',
      ({ market: { conditionId }, query, request }) =>
        answer(request, {
          conditionId,
          query,
          format: query.format ?? preferredType(request, marketTypes, 'ndjson'),
        }),
      {
        market: true,
        ...shared,
        answers: { ...ok, content: { ...ok.content, [ZIP]: binary } },
        query: MarketExportQuery,
        detail: {
          operationId: 'exportMarket',
          summary: 'Export a market',
          description,
        },
      },
    )
    .get(
      '/v1/:coin/export',
      ({ coin, query, request }) =>
        answer(request, {
          coin,
          query,
          format: query.format ?? preferredType(request, tableTypes, 'ndjson'),
        }),
      {
        coin: true,
        ...shared,
        query: DayExportQuery,
        detail: {
          operationId: 'exportDay',
          summary: 'Export a coin by day',
          description: `The markets of a day one after the other, oldest window first, each as in its own export. \`X-Coverage\` also counts windows that are not recorded: those of \`timeframe\`, or of each timeframe recorded on that day. ${description}`,
        },
      },
    )
}

/** Always answered by the first thread, which has the exports of all threads. */
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
      neverFails: ['internal'],
      response: { 200: ExportList },
      answers: { description: 'The exports.' },
      detail: {
        operationId: 'listExports',
        summary: 'List your exports',
        description:
          'For each export: whether it was sent completely, its number of snapshots, and its SHA-256 to check the file. Kept for the last 20 exports of an account, until the server restarts.',
      },
    },
  )
