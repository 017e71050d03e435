import { Elysia } from 'elysia'

import type { Api } from '#src/http/api.ts'
import { readCut } from '#src/http/data-query.ts'
import { RESUME_HEADER, resumeAfter304 } from '#src/http/data-response.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'

import { PageQuery, SnapshotList } from './schema.ts'
import { createSnapshotService, type SnapshotDeps } from './service.ts'

export function snapshotRoutes(api: Api, deps: SnapshotDeps) {
  const service = createSnapshotService(deps)
  return new Elysia({ name: 'snapshots' }).use(api).get(
    '/v1/:coin/markets/:conditionId/snapshots',
    ({ reply, market, query, request }) => {
      const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
      const encoding = isGzip ? 'gzip' : 'identity'
      const asked = service.toRequest({ market, query, cut: readCut(query), encoding })
      const { knownAt } = query
      if (knownAt !== undefined)
        return reply.page(request, service.known(asked, { knownAt, isGzip }))
      return reply.page(request, {
        ...{ tag: asked.tag, isGzip, isClosed: market.isClosed },
        coverage: service.coverageOf(asked),
        findPage: () => service.pageAtOnce(asked),
        make: () => service.make(asked),
      })
    },
    {
      access: 'snapshots',
      market: true,
      query: PageQuery,
      isCovered: true,
      caching: 'page',
      response: { 200: SnapshotList },
      answers: {
        description: 'A page of snapshots.',
        bodyHeaders: {
          [RESUME_HEADER]: `The place after the last row, also when \`nextCursor\` is null. ${resumeAfter304}`,
        },
      },
      detail: {
        operationId: 'listSnapshots',
        summary: "History of a market's order books",
        description: `Full-depth books by \`timestamp\`, then by \`id\`, best level first. Follow \`nextCursor\` until it is \`null\`: a walk repeats nothing and skips nothing that was there when it began, even while rows are being written. To follow an open market, resume from \`X-Resume-Cursor\`. Send \`Accept-Encoding: gzip\`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000. \`depth\`, \`interval\` and \`fields\` leave out what you do not need; the rest stays the same.`,
        tags: ['snapshots'],
      },
    },
  )
}
