import { Elysia } from 'elysia'

import { type SnapshotFilters, snapshotList } from '#src/domain/lists.ts'
import type { Api } from '#src/http/api.ts'
import { readCut } from '#src/http/data-query.ts'
import { createHistoryList, type HistoryListDeps } from '#src/http/history-list.ts'

import { joinedQuery, readSnapshots } from './pages.ts'
import { SnapshotList, SnapshotQuery } from './schema.ts'

export const snapshots = createHistoryList({
  list: snapshotList,
  query: SnapshotQuery,
  toFilters: (query: SnapshotQuery, shared): SnapshotFilters => ({
    ...shared,
    interval: query.interval,
    view: query.view,
    cut: readCut(query),
  }),
  read: readSnapshots,
  joinedQuery,
  readsBoth: ({ view }) => view === 'consolidated',
})

export const snapshotRoutes = (api: Api, deps: HistoryListDeps) =>
  new Elysia({ name: 'snapshots' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/snapshots',
      ({ reply, request, market, query }) =>
        reply(request, snapshots.page(deps, { request, market, query })),
      {
        access: 'snapshots',
        market: true,
        query: SnapshotQuery,
        isCovered: true,
        caching: 'page',
        response: { 200: SnapshotList },
        answers: {
          description: 'A page of snapshots.',
          resume: 'Cursor after the last row, even if `nextCursor` is null.',
        },
        detail: {
          operationId: 'listSnapshots',
          summary: 'List order books of a market',
          description:
            'Full-depth order books by `timestamp`, then by `id`, best level first. Follow `nextCursor` until it is `null`: paging neither repeats nor skips rows that existed when it began, even while rows are being written. To follow an open market, resume from `X-Resume-Cursor`. Send `Accept-Encoding: gzip`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000. `depth`, `interval` and `fields` reduce the response.',
          tags: ['snapshots'],
        },
      },
    )
