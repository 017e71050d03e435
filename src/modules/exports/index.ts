import { Elysia } from 'elysia'

import { type AccessPlugin, callerOf } from '#src/http/access.ts'
import { acceptsGzip } from '#src/http/content-coding.ts'
import { answerUnchanged, cachingHeaders } from '#src/http/data-response.ts'
import { jsonResponse } from '#src/http/json.ts'
import { type FindMarket, readCoin, readMarket } from '#src/http/market-path.ts'
import { preferredType } from '#src/http/media-type.ts'
import { NoQuery, parseQuery } from '#src/http/query.ts'
import { streamResponse } from '#src/http/stream.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'
import type { Work } from '#src/http/work.ts'

import { dayDetail, listDetail, marketDetail } from './documentation.ts'
import { DayExportQuery, type ExportList, type Format, MarketExportQuery } from './model.ts'
import type { ExportPlan } from './plan.ts'
import type { ExportService } from './service.ts'

type Deps = {
  guard: AccessPlugin
  service: ExportService
  findMarket: FindMarket
  work: Pick<Work, 'run'>
}

const mediaTypes: Readonly<Record<Format, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
}

/** Whole markets and days as one stream, and what became of it. */
export const exports = ({ guard, service, findMarket, work }: Deps) =>
  new Elysia({ name: 'exports' })
    .use(guard)
    .get(
      '/v1/:coin/markets/:conditionId/export',
      synchronous(({ params, request }: MarketContext) => {
        const market = readMarket(params, findMarket)
        const query = parseQuery(MarketExportQuery, searchOf(request.url))
        const plan = service.planMarket(market, query, formatOf(request, query.format))
        return answer({ service, request }, plan, service.coverageOf(plan))
      }),
      { access: 'snapshots', detail: { ...marketDetail } },
    )
    .get(
      '/v1/:coin/export',
      async ({ params, request }) => {
        const coin = readCoin(params.coin)
        const query = parseQuery(DayExportQuery, searchOf(request.url))
        const format = formatOf(request, query.format)
        const plan = await work.run(request, service.planDay(coin, query, format))
        const coverage = await work.run(request, service.dayCoverageOf(plan))
        return answer({ service, request }, plan, coverage)
      },
      { access: 'snapshots', detail: { ...dayDetail } },
    )
    .get(
      '/v1/exports',
      synchronous(({ request }: { request: Request }) => {
        parseQuery(NoQuery, searchOf(request.url))
        const list: ExportList = {
          data: service.list(callerOf(request).accountId),
          nextCursor: null,
        }
        return jsonResponse(list, { headers: { 'Cache-Control': 'private, no-store' } })
      }),
      { access: 'key', detail: { ...listDetail } },
    )

type MarketContext = { params: { coin: string; conditionId: string }; request: Request }
type Call = { service: ExportService; request: Request }

/** The parameter goes before the header; a header that leaves none of ours is passed over. */
const formatOf = (request: Request, asked: Format | undefined): Format =>
  asked ?? preferredType(request, mediaTypes, 'ndjson')

function answer(
  { service, request }: Call,
  plan: ExportPlan,
  coverage: Record<string, string>,
): Response {
  // Parquet is compressed inside.
  const isGzip = plan.format !== 'parquet' && acceptsGzip(request.headers.get('accept-encoding'))
  const etag = `"${service.tagOf(plan, isGzip)}"`
  const shared = {
    ...cachingHeaders(service.isClosed(plan)),
    Vary: 'Accept, Accept-Encoding',
    ...coverage,
  }
  const unchanged = answerUnchanged(request, etag, shared)
  if (unchanged !== undefined) return unchanged
  const { exportId, pieces, onEnd } = service.begin(plan, request, isGzip)
  const headers: Record<string, string> = {
    'Content-Type': mediaTypes[plan.format],
    'Content-Disposition': `attachment; filename="${plan.name}.${plan.format}"`,
    ...shared,
    ETag: etag,
    'X-Export-Id': exportId,
  }
  if (isGzip) headers['Content-Encoding'] = 'gzip'
  return streamResponse(request, { headers, pieces, onEnd })
}
