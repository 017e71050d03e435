import { Elysia } from 'elysia'

import { startOf } from '#src/domain/cursor.ts'
import { type HistoryFilters, tradeList } from '#src/domain/lists.ts'
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import {
  type PlacedTrade,
  placeTrades,
  readTradesAfter,
  readTradesBefore,
  tradeText,
} from '#src/domain/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Api } from '#src/http/api.ts'
import { takeRows } from '#src/http/cursor-list.ts'
import {
  createHistoryList,
  type HistoryListDeps,
  type HistoryRequest,
  textPage,
} from '#src/http/history-list.ts'
import { createTable, tableQuery } from '#src/http/table.ts'

import { TradeList, TradeQuery } from './schema.ts'

const asTable = createTable(TradeList)

export function tradeRoutes(api: Api, deps: HistoryListDeps) {
  const trades = createHistoryList(
    {
      list: tradeList,
      toFilters: (_: TradeQuery, shared): HistoryFilters => shared,
      *read(request) {
        const { rows, ...end } = yield* takeRows(
          tradesOf((query) => deps.history.trades({ ...query, isTrade: true }), request),
          request.range.limit,
          { textOf: ({ trade }) => tradeText(trade), positionOf: ({ at }) => at },
        )
        return textPage(end, rows)
      },
    },
    deps,
  )
  return new Elysia({ name: 'trades' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/trades',
      ({ reply, request, market, query }) =>
        reply.data(request, asTable({ request, query }, trades.data({ request, market, query }))),
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
          resume: 'The place after the last row, also when `nextCursor` is null.',
        },
        detail: {
          operationId: 'listTrades',
          summary: 'Trades of a market',
          description:
            'Every trade that the venue announced while the market was recorded. Last trade prices that were imported are none: `lastTrade` of prices has them. Trades of a gap of the books are missing, and the venue announces no trade twice.',
          tags: ['prices'],
        },
      },
    )
}

/** The trades of a range, with a pause after each block that was read. */
function* tradesOf(
  read: ReadTrades,
  { market, range }: HistoryRequest<HistoryFilters>,
): Generator<PlacedTrade | undefined> {
  const { order, outcome, fromMs, toMs, after = startOf(range) } = range
  const blocks =
    order === 'asc'
      ? tradesAfter(read, { market, after, toMs })
      : tradesBefore(read, { market, after, fromMs })
  for (const block of blocks) {
    for (const placed of block)
      if (outcome === undefined || placed.trade.outcome === outcome) yield placed
    yield undefined
  }
}

type ReadTrades = MarketHistory['trades']

/** Trades that are read at once: a millisecond of work. */
const BLOCK = 500

/** The trades after a position, in blocks that end with a millisecond. */
function* tradesAfter(
  read: ReadTrades,
  { market, after, toMs }: { market: Market; after: Position; toMs: number | undefined },
): Generator<PlacedTrade[]> {
  for (let position = after; ;) {
    const block = readTradesAfter(read, { market, after: position, toMs, first: BLOCK })
    yield block
    const last = block.at(-1)
    if (last === undefined || block.length < BLOCK) return
    position = { timestampMs: last.trade.timestampMs + 1, id: 0 }
  }
}

/** The trades before a position, the last one first, in blocks that end with a millisecond. */
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
    const isFirst = last.length < BLOCK
    // Another block may lack some of its first millisecond.
    const rest = isFirst ? last : last.filter((trade) => trade.timestampMs > firstMs)
    const block = rest.length > 0 ? rest : read({ market, fromMs: firstMs, toMs: firstMs + 1 })
    yield placeTrades(block).reverse()
    if (isFirst) return
    toMs = block[0]?.timestampMs ?? firstMs
  }
}
