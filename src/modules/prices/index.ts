import type { MarketHistory } from '#src/history/history.ts'
import { route } from '#src/http/route.ts'
import { type SeriesDeps, seriesRoute } from '#src/http/series.ts'

import { readPriceBars } from './bar-rows.ts'
import { readPriceChanges } from './changes.ts'
import { NowList, NowQuery, PriceList, PriceQuery } from './model.ts'
import { pricesNow } from './now.ts'

type Deps = Omit<SeriesDeps, 'name' | 'parameters' | 'rowFields' | 'read'> & {
  history: MarketHistory
}

/**
 * `GET /v1/{coin}/prices`: now; `GET
 * /v1/{coin}/markets/{conditionId}/prices`: of a market over time.
 */
export const priceRoutes = (deps: Deps) => [
  route({
    method: 'GET',
    path: '/v1/:coin/prices',
    access: 'prices',
    tag: 'prices',
    operationId: 'listCurrentPrices',
    summary: 'Prices now',
    description:
      'Every market of the coin that is open now, with the last state of both outcomes and the last trade. A market whose window is over is not there; a market whose window is unknown is, until its history is closed. Send the `ETag` as `If-None-Match`: as long as no state or trade has come and no market has opened or closed, the answer is a 304.',
    query: NowQuery,
    ok: { description: 'The open markets.', schema: NowList },
    caching: 'digest',
    answer: ({ coin, query: { timeframe } }) =>
      pricesNow(deps.history, { coin, timeframe, nowMs: deps.clock() }),
  }),
  seriesRoute(
    {
      ...deps,
      name: 'prices',
      parameters: PriceQuery,
      read: (asked) =>
        asked.stepMs === undefined
          ? readPriceChanges(deps.history, asked)
          : readPriceBars(deps.history, { ...asked, stepMs: asked.stepMs }),
    },
    {
      operationId: 'listPrices',
      summary: 'Prices of a market over time',
      description:
        'Without `interval` a row wherever the mid or the last trade changed as of a state; the first state of each outcome in the range always is one. With `interval` bars: open, high, low and close of the mid, of the states that lie both in the range and in the step; a step without a state has no bar. `from` and `to` need not be multiples of the interval: a bar that they cut is made of the states inside, and `covered` is below 1. While a market is open its last bars may still grow: `X-Resume-Cursor` is before them, and a follower is given them again.',
      list: PriceList,
      page: 'A page of prices.',
      resume:
        'The place to resume from later, also when `nextCursor` is null: after the last state looked at, or before the first bar that may still grow.',
    },
  ),
]
