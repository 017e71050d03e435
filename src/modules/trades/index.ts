import { coverageText } from '#src/core/coverage.ts'
import { type CursorCodec, decodePosition, encodePosition, startOf } from '#src/core/cursor.ts'
import type { Market } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { type Clock, readRange } from '#src/core/time.ts'
import { readTradesAfter, readTradesBefore, tradeText } from '#src/core/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openKnown, toMoment } from '#src/history/reads/known.ts'
import { type DataAnswer, RESUME_HEADER } from '#src/http/data-response.ts'
import { route } from '#src/http/route.ts'
import { asTable } from '#src/http/table.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import { TradeList, TradeQuery } from './model.ts'

type Deps = {
  history: MarketHistory
  cursors: CursorCodec
  clock: Clock
}

export const tradeRoutes = (deps: Deps) => [
  asTable(
    route({
      path: '/v1/:coin/markets/:conditionId/trades',
      access: 'prices',
      operationId: 'listTrades',
      summary: 'Trades of a market',
      description:
        'Every trade that the venue announced while the market was recorded. Trades of a gap of the books are missing, and the venue announces no trade twice.',
      query: TradeQuery,
      ok: {
        description: 'A page of trades.',
        schema: TradeList,
        headers: {
          [RESUME_HEADER]: 'The place after the last row, also when `nextCursor` is null.',
        },
      },
      isCovered: true,
      caching: 'digest',
      answer: ({ market, query }) =>
        query.knownAt === undefined
          ? tradePage(deps, market, query)
          : knownPage(deps, market, { ...query, knownAt: query.knownAt }),
    }),
  ),
]

/** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
function* knownPage(
  deps: Deps,
  now: Market,
  query: TradeQuery & { knownAt: number },
): Steps<DataAnswer> {
  const asked = { knownAt: query.knownAt, nowMs: deps.clock(), needsEvents: true }
  const moment = toMoment(deps.history, asked)
  const { history, market } = yield* openKnown(deps.history, now, moment)
  const page = tradePage({ ...deps, history, clock: () => moment.atMs }, market, query)
  return { ...page, isClosed: now.isClosed }
}

/** Throws `cursor_invalid` and `cursor_mismatch`. */
function tradePage({ history, cursors, clock }: Deps, market: Market, query: TradeQuery) {
  const { order, outcome, limit, cursor, knownAt } = query
  const { fromMs, toMs } = readRange(query)
  // As of the series; live rows have it too.
  const filters = `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}.${knownAt === undefined ? '' : `known${knownAt}`}`
  const scope = `trades ${market.conditionId} ${filters}`
  const after = cursor === undefined ? undefined : decodePosition(cursors.decode(scope, cursor))
  const start = after ?? startOf({ order, fromMs, toMs })
  // Of one outcome, it is not known how many have to be read.
  const first = outcome === undefined ? limit + 1 : undefined
  const found =
    order === 'asc'
      ? readTradesAfter(history.trades, { market, after: start, toMs, first })
      : readTradesBefore(history.trades, { market, after: start, fromMs })
  const placed = found.filter(({ trade }) => outcome === undefined || trade.outcome === outcome)
  const page = placed.slice(0, limit)
  const place: Position = page.at(-1)?.at ?? start
  const resumeCursor = cursors.encode(scope, encodePosition(place))
  const nextCursor = placed.length > limit ? `"${resumeCursor}"` : 'null'
  const rows = page.map(({ trade }) => tradeText(trade)).join(',')
  const question = { market, gaps: history.gaps(market), outcome, fromMs, toMs, nowMs: clock() }
  const coverage = coverageText(question)
  return { body: `{"data":[${rows}],"nextCursor":${nextCursor}}`, resumeCursor, coverage }
}
