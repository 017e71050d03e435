import { readCut } from '#src/http/data-query.ts'
import { RESUME_HEADER, resumeAfter304 } from '#src/http/data-response.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { route } from '#src/http/route.ts'

import { PageQuery, SnapshotList } from './schema.ts'
import { createSnapshotService, type SnapshotDeps } from './service.ts'

export function snapshotRoutes(deps: SnapshotDeps) {
  const service = createSnapshotService(deps)
  return [
    route({
      path: '/v1/:coin/markets/:conditionId/snapshots',
      access: 'snapshots',
      operationId: 'listSnapshots',
      summary: "History of a market's order books",
      description: `Full-depth books by \`timestamp\`, then by \`id\`, best level first. Follow \`nextCursor\` until it is \`null\`: a walk repeats nothing and skips nothing that was there when it began, even while rows are being written. To follow an open market, resume from \`X-Resume-Cursor\`. Send \`Accept-Encoding: gzip\`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000. \`depth\`, \`interval\` and \`fields\` leave out what you do not need; the rest stays the same.`,
      query: PageQuery,
      ok: {
        description: 'A page of snapshots.',
        schema: SnapshotList,
        bodyHeaders: {
          [RESUME_HEADER]: `The place after the last row, also when \`nextCursor\` is null. ${resumeAfter304}`,
        },
      },
      isCovered: true,
      caching: 'page',
      answer({ market, query, request }) {
        const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
        const encoding = isGzip ? 'gzip' : 'identity'
        const asked = service.toRequest({ market, query, cut: readCut(query), encoding })
        const { knownAt } = query
        if (knownAt !== undefined) return service.known(asked, { knownAt, isGzip })
        return {
          ...{ tag: asked.tag, isGzip, isClosed: market.isClosed },
          coverage: service.coverageOf(asked),
          findPage: () => service.pageAtOnce(asked),
          make: () => service.make(asked),
        }
      },
    }),
  ]
}
