import { Elysia } from 'elysia'

import { type SnapshotFilters, snapshotList } from '#src/domain/lists.ts'
import type { Api } from '#src/http/api.ts'
import { readCut } from '#src/http/data-query.ts'
import { createHistoryList, type HistoryListDeps } from '#src/http/history-list.ts'

import { createSnapshotReader, joinedQuery } from './pages.ts'
import { SnapshotList, SnapshotQuery } from './schema.ts'

export function snapshotRoutes(api: Api, deps: HistoryListDeps) {
  const snapshots = createHistoryList(
    {
      list: snapshotList,
      toFilters: (query: SnapshotQuery, shared): SnapshotFilters => ({
        ...shared,
        interval: query.interval,
        view: query.view,
        cut: readCut(query),
      }),
      read: createSnapshotReader(deps.history),
      joinedQuery,
      readsBoth: ({ view }) => view === 'consolidated',
    },
    deps,
  )
  return new Elysia({ name: 'snapshots' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/snapshots',
      ({ reply, request, market, query }) =>
        reply.page(request, snapshots.page({ request, market, query })),
      {
        access: 'snapshots',
        market: true,
        query: SnapshotQuery,
        isCovered: true,
        caching: 'page',
        response: { 200: SnapshotList },
        answers: {
          description: 'A page of snapshots.',
          resume: 'The place after the last row, also when `nextCursor` is null.',
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
