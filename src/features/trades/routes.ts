import { Elysia } from 'elysia'

import { startOf } from '#src/domain/cursor.ts'
import { type HistoryFilters, tradeList } from '#src/domain/lists.ts'
import type { Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { chainStateOf } from '#src/domain/trade-chain.ts'
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
import { tableQuery } from '#src/http/table.ts'

import { AnnouncedTrade, TradeList, TradeQuery } from './schema.ts'

export const trades = createHistoryList({
  list: tradeList,
  query: TradeQuery,
  toFilters: (_: TradeQuery, shared): HistoryFilters => shared,
  read(history, request, clock) {
    const read: ReadTrades = (query) => history.trades({ ...query, isTrade: true })
    const nowMs = clock()
    const hasChain = history.nextCheckedId() !== undefined
    let isOpen = false
    const { rows, ...end } = takeRows(tradesOf(read, request), request.range.limit, {
      textOf({ trade }) {
        if (!hasChain) return tradeText(trade)
        const chain = chainStateOf(trade, history.receiptOf(trade.id), nowMs)
        isOpen ||= chain === 'pending'
        return tradeText(trade, chain)
      },
      positionOf: ({ at }) => at,
    })
    return { ...textPage(end, rows), isOpen }
  },
  table: TradeList,
  membersOf: (_, history) =>
    history.nextCheckedId() === undefined ? Object.keys(AnnouncedTrade.properties) : undefined,
})

export const tradeRoutes = (api: Api, deps: HistoryListDeps) =>
  new Elysia({ name: 'trades' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/trades',
      ({ reply, request, market, query }) =>
        reply(request, trades.data(deps, { request, market, query })),
      {
        access: 'prices',
        market: true,
        query: tableQuery(TradeQuery),
        isCovered: true,
        caching: 'digest',
        response: { 200: TradeList },
        answers: {
          description: 'A page of trades.',
          resume: 'Cursor after the last row, even if `nextCursor` is null.',
        },
        detail: {
          operationId: 'listTrades',
          summary: 'List trades of a market',
          description:
            'Every trade that the venue announced while the market was recorded. Imported last-trade prices are not trades: see `lastTrade` of prices. Trades during a gap are missing, because the venue announces each trade only once.',
          tags: ['prices'],
        },
      },
    )

/** The trades of a range. */
function* tradesOf(
  read: ReadTrades,
  { market, range }: HistoryRequest<HistoryFilters>,
): Generator<PlacedTrade> {
  const { order, outcome, fromMs, toMs, after = startOf(range) } = range
  const blocks =
    order === 'asc'
      ? tradesAfter(read, { market, after, toMs })
      : tradesBefore(read, { market, after, fromMs })
  for (const block of blocks) {
    for (const placed of block)
      if (outcome === undefined || placed.trade.outcome === outcome) yield placed
  }
}

type ReadTrades = MarketHistory['trades']

/** Trades in one read, about a millisecond of work. */
const BLOCK = 500

/** Trades after a position, in blocks that end with a whole millisecond. */
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

/** Trades before a position, newest first, in blocks that end with a whole millisecond. */
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
    // The first millisecond of a block may be incomplete; the next block reads it again.
    const rest = isFirst ? last : last.filter((trade) => trade.timestampMs > firstMs)
    const block = rest.length > 0 ? rest : read({ market, fromMs: firstMs, toMs: firstMs + 1 })
    yield placeTrades(block).reverse()
    if (isFirst) return
    toMs = block[0]?.timestampMs ?? firstMs
  }
}
