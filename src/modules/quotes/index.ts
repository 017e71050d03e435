import type { MarketHistory } from '#src/history/history.ts'
import { type SeriesDeps, seriesRoute } from '#src/http/series.ts'

import { quoteFields, QuoteList, QuoteQuery } from './model.ts'
import { createQuotes } from './service.ts'

type Deps = Omit<SeriesDeps, 'name' | 'parameters' | 'rowFields' | 'read'> & {
  history: MarketHistory
}

/** `GET /v1/{coin}/markets/{conditionId}/quotes`: best bid and ask of a market over time. */
export const quoteRoutes = (deps: Deps) => [
  seriesRoute(
    {
      ...deps,
      name: 'quotes',
      parameters: QuoteQuery,
      rowFields: quoteFields,
      read: createQuotes(deps.history),
    },
    {
      operationId: 'listQuotes',
      summary: 'Best bid and ask over time',
      description:
        'Without `interval` every change of best bid, best ask or their sizes: a state that repeats the one before it of its outcome is no row; the first state of each outcome in the range always is. With `interval` the state prevailing at each step, at or before it and never after. A step in a gap, before the first state or after the expiry (or after the last state, where that is later) has no row, because what prevailed is not known; so an interval longer than the market often has none at all. On an open market a step is there once a later state of each outcome asked for has come. Follow `nextCursor` until it is null; resume later from `X-Resume-Cursor`.',
      list: QuoteList,
      page: 'A page of quotes.',
      resume:
        'The place after the last state looked at, also when `nextCursor` is null: repeats are not read again.',
    },
  ),
]
