import { Elysia } from 'elysia'

import { changeList, type HistoryFilters } from '#src/domain/lists.ts'
import { readChangePage } from '#src/history/reads/change-page.ts'
import { untilReady } from '#src/history/reads/until-ready.ts'
import type { Api } from '#src/http/api.ts'
import { createHistoryList, type HistoryListDeps, rowPage } from '#src/http/history-list.ts'
import { tableQuery } from '#src/http/table.ts'

import { ChangeList, ChangeQuery } from './schema.ts'

export const changes = createHistoryList({
  list: changeList,
  query: ChangeQuery,
  toFilters: (_: ChangeQuery, shared): HistoryFilters => shared,
  async read(history, { market, range }) {
    const query = { ...range, market }
    return await untilReady(() => {
      const { rows, texts, hasMore } = readChangePage(history, query)
      return rowPage({ last: rows.at(-1), hasMore }, texts)
    })
  },
  // A change never bridges a gap.
  readsGaps: () => true,
  table: ChangeList,
})

export const changeRoutes = (api: Api, deps: HistoryListDeps) =>
  new Elysia({ name: 'changes' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/changes',
      ({ reply, request, market, query }) =>
        reply(request, changes.page(deps, { request, market, query })),
      {
        access: 'snapshots',
        market: true,
        query: tableQuery(ChangeQuery),
        isCovered: true,
        caching: 'page',
        response: { 200: ChangeList },
        answers: {
          description: 'A page of changes.',
          resume: 'The place after the last row, also when `nextCursor` is null.',
        },
        detail: {
          operationId: 'listChanges',
          summary: "Changes of a market's order books",
          description:
            'Every state of `…/snapshots` as the levels in which it differs from the state before it of its outcome. A row with `snapshot: true` has the whole book: the first of each outcome, the first after a gap, at a finer tick, and where a late state came in between; any other changes the state `prevId`. Set each level to its size, or remove it if that is 0: the result is the snapshot `id`, digit for digit. Follow `nextCursor` until it is `null`; resume from `X-Resume-Cursor`, which also knows the books you have.',
          tags: ['snapshots'],
        },
      },
    )
