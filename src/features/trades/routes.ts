import { Elysia } from 'elysia'

import { coverageText } from '#src/domain/coverage.ts'
import { type CursorCodec, decodePosition, encodePosition, startOf } from '#src/domain/cursor.ts'
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { type Clock, readRange } from '#src/domain/time.ts'
import {
  type PlacedTrade,
  placeTrades,
  readTradesAfter,
  readTradesBefore,
  tradeText,
} from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openKnown, toMoment } from '#src/history/reads/known.ts'
import type { Api } from '#src/http/api.ts'
import { type DataAnswer, RESUME_HEADER } from '#src/http/data-response.ts'
import { createTable, tableQuery } from '#src/http/table.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { TradeList, TradeQuery } from './schema.ts'

type Deps = {
  history: MarketHistory
  cursors: CursorCodec
  clock: Clock
}

const asTable = createTable(TradeList)

export const tradeRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'trades' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/trades',
      ({ reply, request, market, query }) =>
        reply.data(
          request,
          asTable(
            { request, query },
            query.knownAt === undefined
              ? tradePage(deps, market, query)
              : knownPage(deps, market, { ...query, knownAt: query.knownAt }),
          ),
        ),
      {
        access: 'prices',
        market: true,
        query: tableQuery(TradeQuery),
        isTable: true,
        isCovered: true,
        caching: 'digest',
        response: { 200: TradeList },
        answers: {
          description: 'A page of trades.',
          headers: {
            [RESUME_HEADER]: 'The place after the last row, also when `nextCursor` is null.',
          },
        },
        detail: {
          operationId: 'listTrades',
          summary: 'Trades of a market',
          description:
            'Every trade that the venue announced while the market was recorded. Trades of a gap of the books are missing, and the venue announces no trade twice.',
          tags: ['prices'],
        },
      },
    )

/** Throws `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
function* knownPage(
  deps: Deps,
  now: Market,
  query: TradeQuery & { knownAt: number },
): Steps<DataAnswer> {
  const asked = { knownAt: query.knownAt, nowMs: deps.clock(), needsEvents: true }
  const moment = toMoment(deps.history, asked)
  const { history, market } = yield* openKnown(deps.history, now, moment)
  const page = yield* tradePage({ ...deps, history, clock: () => moment.atMs }, market, query)
  return { ...page, isClosed: now.isClosed }
}

/** Throws `cursor_invalid` and `cursor_mismatch`. */
function* tradePage(
  { history, cursors, clock }: Deps,
  market: Market,
  query: TradeQuery,
): Steps<DataAnswer> {
  const { order, outcome, limit, cursor, knownAt } = query
  const { fromMs, toMs } = readRange(query)
  // As of the series; live rows have it too.
  const filters = `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}.${knownAt === undefined ? '' : `known${knownAt}`}`
  const scope = `trades ${market.conditionId} ${filters}`
  const after = cursor === undefined ? undefined : decodePosition(cursors.decode(scope, cursor))
  const start = after ?? startOf({ order, fromMs, toMs })
  const blocks =
    order === 'asc'
      ? tradesAfter(history.trades, { market, after: start, toMs })
      : tradesBefore(history.trades, { market, after: start, fromMs })
  const rows: string[] = []
  let place: Position = start
  let hasMore = false
  for (const block of blocks) {
    for (const { trade, at } of block) {
      if (outcome !== undefined && trade.outcome !== outcome) continue
      hasMore = rows.length === limit
      if (hasMore) break
      rows.push(tradeText(trade))
      place = at
    }
    if (hasMore) break
    yield
  }
  const resumeCursor = cursors.encode(scope, encodePosition(place))
  const nextCursor = hasMore ? `"${resumeCursor}"` : 'null'
  const question = { market, gaps: history.gaps(market), outcome, fromMs, toMs, nowMs: clock() }
  const coverage = coverageText(question)
  return { body: `{"data":[${rows.join(',')}],"nextCursor":${nextCursor}}`, resumeCursor, coverage }
}

type ReadTrades = Deps['history']['trades']

/** Trades that are read at once: a millisecond of work. */
const BLOCK = 500

/** The trades after a place, in blocks that end with a millisecond. */
function* tradesAfter(
  read: ReadTrades,
  { market, after, toMs }: { market: Market; after: Position; toMs: number | undefined },
): Generator<PlacedTrade[]> {
  for (let place = after; ;) {
    const block = readTradesAfter(read, { market, after: place, toMs, first: BLOCK })
    yield block
    const last = block.at(-1)
    if (last === undefined || block.length < BLOCK) return
    place = { timestampMs: last.trade.timestampMs + 1, id: 0 }
  }
}

/** The trades before a place, the last one first, in blocks that end with a millisecond. */
function* tradesBefore(
  read: ReadTrades,
  { market, after, fromMs = 0 }: { market: Market; after: Position; fromMs: number | undefined },
): Generator<PlacedTrade[]> {
  const { timestampMs } = after
  yield readTradesBefore(read, { market, after, fromMs: Math.max(fromMs, timestampMs) })
  for (let toMs = timestampMs; ;) {
    const last = read({ market, fromMs, toMs, last: BLOCK })
    const firstMs = last[0]?.timestampMs
    if (firstMs === undefined) return
    // Of its first millisecond the block may lack some.
    const isWhole = last.length < BLOCK
    const whole = isWhole ? last : last.filter((trade) => trade.timestampMs > firstMs)
    const block = whole.length > 0 ? whole : read({ market, fromMs: firstMs, toMs: firstMs + 1 })
    yield placeTrades(block).reverse()
    if (isWhole) return
    toMs = block[0]?.timestampMs ?? firstMs
  }
}
