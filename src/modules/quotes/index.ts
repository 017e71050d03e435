import { Elysia } from 'elysia'

import type { CursorCodec } from '#src/core/cursor.ts'
import type { Clock } from '#src/core/time.ts'
import type { HistoryStore } from '#src/history/history.ts'
import type { AccessPlugin } from '#src/http/access.ts'
import { readMarket } from '#src/http/market-path.ts'
import type { PageShelf } from '#src/http/page-shelf.ts'
import { createSeries, seriesDetail } from '#src/http/series.ts'
import { synchronous } from '#src/http/synchronous.ts'
import type { Work } from '#src/http/work.ts'

import { quoteFields, QuoteList, QuoteQuery } from './model.ts'
import { createQuotes } from './service.ts'

type Deps = {
  guard: AccessPlugin
  history: HistoryStore
  cursors: CursorCodec
  clock: Clock
  pages: PageShelf
  work: Work
}

const detail = seriesDetail('quotes', {
  operationId: 'listQuotes',
  summary: 'Best bid and ask over time',
  description:
    'Without `interval` every change of best bid, best ask or their sizes: a state that repeats the one before it of its outcome is no row; the first state of each outcome in the range always is. With `interval` the state in force at each step, at or before it and never after. A step in a gap, before the first state or behind the close (or behind the last state, where that is later) has no row, because what was in force is not known; so an interval longer than the market often has none at all. On an open market a step is there once a later state of each outcome asked for has come. Follow `nextCursor` until it is null; go on later from `X-Resume-Cursor`.',
  parameters: QuoteQuery,
  list: QuoteList,
  page: 'A page of quotes.',
  resume:
    'The place behind the last state looked at, also when `nextCursor` is null: repeats are not read again.',
})

type Context = { params: { coin: string; conditionId: string }; request: Request }

/** `GET /v1/{coin}/markets/{conditionId}/quotes`: best bid and ask of a market over time. */
export function quotes({ guard, ...deps }: Deps) {
  const { history } = deps
  const { findMarket } = history
  const answer = createSeries({
    name: 'quotes',
    parameters: QuoteQuery,
    rowFields: quoteFields,
    read: createQuotes(history),
    ...deps,
  })
  return new Elysia({ name: 'quotes' }).use(guard).get(
    '/v1/:coin/markets/:conditionId/quotes',
    synchronous(({ params, request }: Context) => answer(readMarket(params, findMarket), request)),
    // A copy: Elysia adds `security` to what it is given.
    { access: 'quotes', detail: { ...detail } },
  )
}
