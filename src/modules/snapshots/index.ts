import { Elysia } from 'elysia'

import type { Market } from '#src/core/market.ts'
import { accessCodes, type AccessPlugin } from '#src/http/access.ts'
import { matchesEtag } from '#src/http/conditional.ts'
import { acceptsGzip } from '#src/http/content-coding.ts'
import { type FindMarket, MarketPath, readMarket } from '#src/http/market-path.ts'
import {
  commonHeaders,
  jsonContent,
  openApiParameters,
  problemResponses,
  textHeader,
} from '#src/http/openapi-operation.ts'
import { parseQuery } from '#src/http/query.ts'
import { synchronous } from '#src/http/synchronous.ts'
import { searchOf } from '#src/http/url.ts'

import { PageQuery, SnapshotList } from './model.ts'
import type { SnapshotService } from './service.ts'

type Deps = { guard: AccessPlugin; service: SnapshotService; findMarket: FindMarket }

/** Closed history may be used unasked for a minute; a backfill shows after that at the latest. */
const CLOSED = 'private, max-age=60, immutable'
const OPEN = 'private, no-cache'

const cachingHeaders = {
  ETag: textHeader(
    "Strong; changes with the market's revision. Send it back as `If-None-Match` for a 304.",
  ),
  'Cache-Control': textHeader(
    '`private, max-age=60, immutable` on a closed market, `private, no-cache` on an open one.',
  ),
  Vary: textHeader('`Accept-Encoding`.'),
}

const detail = {
  tags: ['snapshots'],
  operationId: 'listSnapshots',
  summary: "History of a market's order books",
  description: `Full-depth books by \`timestamp\`, then by \`id\`, best level first. Follow \`nextCursor\` until it is \`null\`: a walk repeats nothing and skips nothing that was there when it began, also while rows are written. To follow an open market, go on from \`X-Resume-Cursor\`. Send \`Accept-Encoding: gzip\`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000.`,
  parameters: [...openApiParameters(MarketPath, 'path'), ...openApiParameters(PageQuery)],
  responses: {
    200: jsonContent('A page of snapshots.', SnapshotList, {
      ...cachingHeaders,
      'X-Resume-Cursor': textHeader(
        'The place behind the last row, also when `nextCursor` is null.',
      ),
      'Content-Encoding': textHeader('`gzip` where `Accept-Encoding` has it; else absent.'),
    }),
    304: {
      description: 'The page is still the one of `If-None-Match`.',
      headers: { ...commonHeaders, ...cachingHeaders },
    },
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
export const snapshots = ({ guard, service, findMarket }: Deps) =>
  new Elysia({ name: 'snapshots' }).use(guard).get(
    '/v1/:coin/markets/:conditionId/snapshots',
    synchronous(({ params, request }: Context) =>
      answer({ service, market: readMarket(params, findMarket), request }),
    ),
    // A copy: Elysia adds `security` to what it is given.
    { access: 'snapshots', detail: { ...detail } },
  )

type Context = { params: { coin: string; conditionId: string }; request: Request }
type Call = { service: SnapshotService; market: Market; request: Request }

function answer({ service, market, request }: Call): Response {
  const query = parseQuery(PageQuery, searchOf(request.url))
  const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const page = service.toRequest(market, query, isGzip ? 'gzip' : 'identity')
  const caching = { 'Cache-Control': market.isClosed ? CLOSED : OPEN, Vary: 'Accept-Encoding' }
  const etag = `"${page.tag}"`
  if (matchesEtag(request.headers.get('if-none-match'), etag)) {
    return new Response(null, { status: 304, headers: { ...caching, ETag: etag } })
  }
  const { tag, body, resumeCursor } = service.page(page)
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    ...caching,
    ETag: `"${tag}"`,
    'X-Resume-Cursor': resumeCursor,
  }
  if (isGzip) headers['Content-Encoding'] = 'gzip'
  return new Response(body, { headers })
}
