import { Elysia } from 'elysia'

import type { Market } from '#src/core/market.ts'
import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { acceptsGzip } from '#src/http/content-coding.ts'
import { coverageTexts } from '#src/http/coverage-header.ts'
import {
  answerUnchanged,
  cachingHeaders,
  dataHeaderTexts,
  finishPage,
  notModified,
  resumeAfter304,
} from '#src/http/data-response.ts'
import { type FindMarket, MarketPath, readMarket } from '#src/http/market-path.ts'
import {
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'
import type { Page, PageShelf } from '#src/http/page-shelf.ts'
import { parseQuery } from '#src/http/query.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'
import type { Work } from '#src/http/work.ts'

import { PageQuery, SnapshotList } from './model.ts'
import type { SnapshotService } from './service.ts'

type Deps = Omit<Call, 'market' | 'request'> & { guard: AccessPlugin; findMarket: FindMarket }

const detail = {
  tags: ['snapshots'],
  operationId: 'listSnapshots',
  summary: "History of a market's order books",
  description: `Full-depth books by \`timestamp\`, then by \`id\`, best level first. Follow \`nextCursor\` until it is \`null\`: a walk repeats nothing and skips nothing that was there when it began, also while rows are written. To follow an open market, go on from \`X-Resume-Cursor\`. Send \`Accept-Encoding: gzip\`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000. \`depth\`, \`interval\` and \`fields\` leave out what you do not need; what is left is as it was.`,
  parameters: [...openApiParameters(MarketPath, 'path'), ...openApiParameters(PageQuery)],
  responses: {
    200: jsonContent('A page of snapshots.', SnapshotList, {
      ...dataHeaderTexts,
      'X-Resume-Cursor': textHeader(
        `The place behind the last row, also when \`nextCursor\` is null. ${resumeAfter304}`,
      ),
      ...coverageTexts,
    }),
    ...notModified(coverageTexts),
    ...problemResponses([
      ...accessCodes('snapshots'),
      'invalid_parameter',
      'cursor_invalid',
      'cursor_mismatch',
      'invalid_request',
      'unknown_coin',
      'unknown_market',
      'internal',
    ]),
  },
}

/** `GET /v1/{coin}/markets/{conditionId}/snapshots`: the history of a market's books. */
export const snapshots = ({ guard, findMarket, ...deps }: Deps) =>
  new Elysia({ name: 'snapshots' }).use(guard).get(
    '/v1/:coin/markets/:conditionId/snapshots',
    synchronous(({ params, request }: Context) =>
      answer({ ...deps, market: readMarket(params, findMarket), request }),
    ),
    // A copy: Elysia adds `security` to what it is given.
    { access: 'snapshots', detail: { ...detail } },
  )

type Context = { params: { coin: string; conditionId: string }; request: Request }
type Call = {
  service: SnapshotService
  pages: PageShelf
  work: Work
  market: Market
  request: Request
}

function answer({ service, pages, work, market, request }: Call): Response | Promise<Response> {
  const query = parseQuery(PageQuery, searchOf(request.url))
  const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const asked = service.toRequest(market, query, isGzip ? 'gzip' : 'identity')
  const headers = { ...cachingHeaders(market.isClosed), ...service.coverageOf(asked) }
  const unchanged = answerUnchanged(request, `"${asked.tag}"`, headers)
  if (unchanged !== undefined) return unchanged
  if (isGzip) headers['Content-Encoding'] = 'gzip'
  const page =
    service.pageAtOnce(asked) ??
    finishPage(work.run(request, service.make(asked)), { isGzip, pages })
  return page instanceof Promise
    ? page.then((made) => toResponse(made, headers))
    : toResponse(page, headers)
}

const toResponse = ({ tag, body, resumeCursor }: Page, headers: Record<string, string>) =>
  new Response(body, {
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      ...headers,
      ETag: `"${tag}"`,
      'X-Resume-Cursor': resumeCursor,
    },
  })
