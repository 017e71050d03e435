import { Elysia } from 'elysia'

import { hasWindow } from '#src/domain/coverage.ts'
import { type CursorList, type MarketPosition, marketPosition } from '#src/domain/cursor.ts'
import { exactNumber } from '#src/domain/decimal.ts'
import type { Coin, Market, SourceChoice, Timeframe } from '#src/domain/market.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import { readRange, type TimeRange, toIso, toIsoOrNull } from '#src/domain/time.ts'
import { marketPages, readSource } from '#src/history/reads/market-pages.ts'
import {
  type Agreement,
  settle,
  type Settlement,
  withRule,
} from '#src/history/reads/settlement-read.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { marketValues } from '#src/http/fields.ts'
import { type TableForm, tableOf, tableQuery, tableTask } from '#src/http/table.ts'
import type { TaskPorts, Tasks } from '#src/http/tasks.ts'

import { SettlementBody, SettlementList, SettlementQuery } from './schema.ts'

type Given = { coin: Coin; query: SettlementQuery; table: TableForm }

export const settlementsTask = tableTask('settlements', SettlementList, listPage)

export const settlementRoutes = (
  api: Api,
  { history, clock, tasks }: TaskPorts & { tasks: Tasks },
) =>
  new Elysia({ name: 'settlement' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/settlement',
      ({ reply, request, market }) =>
        reply(request, { body: settlementText(market, settle(history, market, clock())) }),
      {
        access: 'markets',
        market: true,
        caching: 'digest',
        response: { 200: SettlementBody },
        answers: { description: 'Its settlement.' },
        detail: {
          operationId: 'getSettlement',
          summary: 'Get the settlement of a market',
          description:
            "The settlement rule, the recorded prices at both ends of the window, the winner by these prices, and whether the market's result agrees. If a price is missing, there is no proof, and `reason` says why.",
          tags: ['markets'],
        },
      },
    )
    .get(
      '/v1/:coin/settlements',
      ({ reply, request, coin, query }) => {
        const given = { coin, query, table: tableOf(request, query) }
        return reply(request, tasks.data(request, settlementsTask, given, 'long'))
      },
      {
        access: 'markets',
        coin: true,
        query: tableQuery(SettlementQuery),
        caching: 'digest',
        response: { 200: SettlementList },
        answers: { description: 'A page of windows.' },
        detail: {
          operationId: 'listSettlements',
          summary: 'List settlements of a coin',
          description:
            'Ended windows of a coin, newest first, each as in GET …/{conditionId}/settlement. `agreement=disagrees` lists those whose result contradicts recorded prices.',
          tags: ['markets'],
        },
      },
    )

type SettlementFilters = TimeRange & {
  coin: Coin
  timeframe: Timeframe | undefined
  source: SourceChoice | undefined
  agreement: Agreement | undefined
  order: 'asc' | 'desc'
}

/** Windows do not end in the order in which they begin, so the list cannot be followed. */
const settlementList: CursorList<SettlementFilters, MarketPosition> = {
  name: 'settlements',
  filters: ({ coin, timeframe, source, agreement, order, fromMs, toMs }) => [
    coin,
    [timeframe, source, agreement, order, fromMs, toMs].join('.'),
  ],
  position: marketPosition,
}

/** Windows in one read. */
const BLOCK = 100

/** Rejects with `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
async function listPage(
  { history, cursors, clock }: TaskPorts,
  { coin, query }: Given,
): Promise<DataAnswer> {
  const { timeframe, source, agreement, order, limit, cursor } = query
  const filters = { coin, timeframe, source, agreement, order, ...readRange(query) }
  const nowMs = clock()

  function* settled(after: MarketPosition | undefined): Generator<[Market, Settlement]> {
    const held = readSource(history, coin, source)
    const { fromMs, toMs } = filters
    const asked = { coin, timeframe, source: held, order, fromMs, toMs, after, limit: BLOCK }
    for (const page of marketPages(history, asked)) {
      for (const market of page) {
        if (!hasWindow(market) || market.windowEndMs > nowMs) continue
        const settlement = settle(history, market, nowMs)
        if ((agreement ?? settlement.agreement) === settlement.agreement) yield [market, settlement]
      }
    }
  }

  return readList(cursors, {
    list: settlementList,
    filters,
    cursor,
    read: (after) =>
      takeRows(settled(after), limit, {
        textOf: ([market, settlement]) => settlementText(market, settlement),
        positionOf: ([market]) => market,
      }),
  })
}

function settlementText(market: Market, settlement: Settlement): string {
  const { windowStartMs = 0, windowEndMs = 0 } = market
  const { agreement, reason = null, proof, estimate } = settlement
  return JSON.stringify({
    ...marketValues(market),
    slug: market.slug ?? null,
    windowStart: toIsoOrNull(market.windowStartMs),
    windowEnd: toIsoOrNull(market.windowEndMs),
    settlementRule: withRule(market).settlementRule ?? null,
    agreement,
    reason,
    proof: proof
      ? {
          ...describePrices(proof),
          ticks: [describeTick(proof.start, windowStartMs), describeTick(proof.end, windowEndMs)],
        }
      : null,
    estimate: estimate ? { ...describePrices(estimate), source: estimate.source } : null,
    strike: exactNumber(market.strike),
    strikeSource: market.strikeSource ?? null,
    finalPrice: exactNumber(market.finalPrice),
    finalPriceSource: market.finalPriceSource ?? null,
    result: market.winner ?? null,
    winnerSource: market.winnerSource ?? null,
  })
}

type Prices = Pick<NonNullable<Settlement['proof']>, 'strike' | 'finalPrice' | 'winner'>

const describePrices = ({ strike, finalPrice, winner }: Prices) => ({
  strike: exactNumber(strike),
  finalPrice: exactNumber(finalPrice),
  winner,
})

const describeTick = (tick: StoredTick, boundaryMs: number) => ({
  source: tick.source,
  windowSeconds: tick.windowSeconds,
  timestamp: toIso(tick.timestampMs),
  price: exactNumber(tick.price),
  receivedAt: toIsoOrNull(tick.receivedMs),
  lateMs: tick.timestampMs - boundaryMs,
})
