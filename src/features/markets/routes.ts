import { Elysia } from 'elysia'

import { type CoverageQuestion, printedShare, spanOf, tallyCoverage } from '#src/domain/coverage.ts'
import {
  type CursorList,
  type MarketPosition,
  marketPosition,
  startOfMarkets,
} from '#src/domain/cursor.ts'
import { exactMillionths, exactNumber } from '#src/domain/decimal.ts'
import { parameterError } from '#src/domain/errors.ts'
import {
  type Coin,
  coins,
  coinTable,
  type FeeSchedule,
  type Market,
  type MarketAsOf,
  type MarketStatus,
  type Outcome,
  outcomes,
  type SourceChoice,
  statusOf,
  type Timeframe,
  timeframes,
  winnerOf,
} from '#src/domain/market.ts'
import { readsPrices } from '#src/domain/selling/caller.ts'
import { type Clock, readRange, type TimeRange, toIsoOrNull } from '#src/domain/time.ts'
import type { CoinTotals, MarketHistory, MarketQuery } from '#src/history/history.ts'
import { type MarketLists, marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { createSpotReader } from '#src/history/reads/spot-read.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { marketValues } from '#src/http/fields.ts'
import { listLane, type TableForm, tableOf, tableQuery, tableTask } from '#src/http/table.ts'
import type { TaskPorts, Tasks } from '#src/http/tasks.ts'

import { type CoinBody, CoinList, ListQuery, MarketBody, MarketList } from './schema.ts'

type History = MarketLists &
  Pick<MarketHistory, 'findMarketBySlug' | 'gaps' | 'coinTotals' | 'sourcesOf' | 'spot'>
type Deps = { history: History; clock: Clock; tasks: Tasks }
type Given = { coin: Coin; query: ListQuery; table: TableForm; isPriced: boolean }

/** Markets in one read: half a usual page, and one to show whether there is another page. */
const BLOCK = 51

export const marketsTask = tableTask('markets', MarketList, listPage)

export const marketRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'markets' })
    .use(api)
    .get(
      '/v1/coins',
      ({ reply, request }) => {
        const totals = Map.groupBy(deps.history.coinTotals(deps.clock()), ({ coin }) => coin)
        const data = coins.map((coin) => describeCoin(coin, totals.get(coin) ?? []))
        return reply(request, { body: JSON.stringify({ data, nextCursor: null }) })
      },
      {
        openTo: 'open',
        caching: 'digest',
        fails: ['damaged'],
        response: { 200: CoinList },
        answers: { description: 'The coins.' },
        detail: {
          operationId: 'listCoins',
          summary: 'The coins',
          description: 'List coins with a summary of their recordings. Needs no key.',
          tags: ['markets'],
        },
      },
    )
    .get(
      '/v1/:coin/markets',
      ({ reply, request, coin, query, caller }) => {
        const table = tableOf(request, query)
        const given = { coin, query, table, isPriced: readsPrices(caller) }
        const lane = listLane(ListQuery, query, table)
        return reply(request, deps.tasks.data(request, marketsTask, given, lane))
      },
      {
        access: 'markets',
        coin: true,
        query: tableQuery(ListQuery),
        caching: 'digest',
        response: { 200: MarketList },
        answers: {
          description: 'A page of markets.',
          resume:
            'Cursor after the last market, even if `nextCursor` is null: with `order=asc`, later markets follow it. Absent with `slug`.',
        },
        detail: {
          operationId: 'listMarkets',
          summary: 'List markets of a coin',
          description:
            'Newest window first. `source` selects recorded markets, simulated markets, or `all`. A market with an unknown window is sorted, and filtered by `from` and `to`, by its first snapshot. With `status`, a market may be missed if its status changes while you page.',
          tags: ['markets'],
        },
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId',
      ({ reply, request, market, caller }) =>
        reply(request, {
          body: createMarketText(deps.history, deps.clock(), readsPrices(caller))(market),
        }),
      {
        access: 'markets',
        market: true,
        caching: 'digest',
        response: { 200: MarketBody },
        answers: { description: 'The market.' },
        detail: {
          operationId: 'getMarket',
          summary: 'One market',
          description:
            "Facts of a market, with the amount and coverage of its recordings. To find a market by the venue's slug, use GET /v1/{coin}/markets?slug=.",
          tags: ['markets'],
        },
      },
    )

type MarketFilters = TimeRange & {
  coin: Coin
  timeframe?: Timeframe | undefined
  status?: MarketStatus | undefined
  winner?: Outcome | undefined
  source?: SourceChoice | undefined
  withBooks?: true | undefined
  order: 'asc' | 'desc'
}

const marketList: CursorList<MarketFilters, MarketPosition> = {
  name: 'markets',
  filters({ coin, timeframe, status, fromMs, toMs, winner, source, withBooks, order }) {
    const named = Object.entries({ timeframe, status, fromMs, toMs, winner, source, withBooks })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${value}`)
    return order === 'asc' ? [coin, ...named, 'asc'] : [coin, ...named]
  },
  position: marketPosition,
  start: startOfMarkets,
}

/** Rejects with `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
async function listPage(
  { history, cursors, clock }: TaskPorts,
  { coin, query, isPriced }: Given,
): Promise<DataAnswer> {
  const nowMs = clock()
  const toText = createMarketText(history, nowMs, isPriced)
  if (query.slug !== undefined) {
    const found = findBySlug(history, coin, query)
    const text = found === undefined ? '' : toText(found)
    return { body: `{"data":[${text}],"nextCursor":null}` }
  }
  const { limit, cursor } = query
  const filters = toFilters(coin, query)
  return readList(cursors, {
    list: marketList,
    filters,
    cursor,
    read(after) {
      const source = readSource(history, coin, query.source)
      const block = { ...filters, source, after, nowMs, limit: Math.min(BLOCK, limit + 1) }
      return takeRows(eachMarket(history, block, query.withBooks), limit, {
        textOf: toText,
        positionOf: (market) => market,
      })
    },
  })
}

/** Yields the markets of a query. */
function* eachMarket(history: History, query: MarketQuery, withBooks = false): Generator<Market> {
  for (const page of marketPages(history, query))
    for (const market of page) if (!withBooks || market.firstSnapshotMs !== undefined) yield market
}

function findBySlug(history: History, coin: Coin, query: ListQuery): Market | undefined {
  const filters = [
    'timeframe',
    'status',
    'source',
    'from',
    'to',
    'outcome',
    'withBooks',
    'cursor',
  ] as const
  for (const filter of filters) {
    if (query[filter] === undefined) continue
    throw parameterError(
      filter,
      `\`slug\` identifies one market, so \`${filter}\` cannot be sent with it. Leave out one of the two.`,
    )
  }
  const market = history.findMarketBySlug(query.slug?.toLowerCase() ?? '')
  return market?.coin === coin ? market : undefined
}

function toFilters(coin: Coin, query: ListQuery): MarketFilters {
  const { timeframe, status, source, outcome: winner, order } = query
  const { fromMs, toMs } = readRange(query)
  // `false` does not filter.
  const withBooks = query.withBooks || undefined
  return { coin, timeframe, status, winner, source, withBooks, order, fromMs, toMs }
}

/**
 * Prints a market for lists and for its own route. The spot price is read once, for the first open
 * market of a source; it is null unless `isPriced`.
 */
export function createMarketText(history: History, nowMs: number, isPriced = true) {
  const spotOf = createSpotReader(history, nowMs)
  return (market: Market | MarketAsOf): string => {
    const status = statusOf(market, nowMs)
    const spot = isPriced && status === 'open' ? spotOf(market) : null
    const held =
      market.revision === undefined ? undefined : { market, nowMs, gaps: history.gaps(market) }
    return JSON.stringify(describeMarket(market, { status, spot, held }))
  }
}

/** Undefined if the market is as of an earlier moment. */
type Held = CoverageQuestion | undefined
type Beside = { status: MarketStatus; spot: object | null; held: Held }

function describeMarket(market: Market | MarketAsOf, { status, spot, held }: Beside) {
  const counts = held?.market.snapshotCounts
  return {
    ...marketValues(market),
    status,
    slug: market.slug ?? null,
    question: market.question ?? null,
    windowStart: toIsoOrNull(market.windowStartMs),
    windowEnd: toIsoOrNull(market.windowEndMs),
    tickSize: exactMillionths(market.tickSize),
    strike: exactNumber(market.strike),
    finalPrice: exactNumber(market.finalPrice),
    winner: winnerOf(market) ?? null,
    winnerSource: market.winnerSource ?? null,
    result: market.winner ?? null,
    settlementRule: market.settlementRule ?? null,
    strikeSource: market.strikeSource ?? null,
    strikeTime: toIsoOrNull(market.strikeMs),
    finalPriceSource: market.finalPriceSource ?? null,
    finalPriceTime: toIsoOrNull(market.finalPriceMs),
    feeSchedule: describeFees(market.feeSchedule),
    takerDelayMs: market.takerDelayMs ?? null,
    orderAgeMs: market.orderAgeMs ?? null,
    spot,
    outcomes: outcomes.map((outcome) => ({
      outcome,
      assetId: market.assetIds[outcome] ?? null,
      ...describeHeld(held, outcome),
    })),
    snapshots: counts ? counts.up + counts.down : null,
    firstSnapshot: toIsoOrNull(held?.market.firstSnapshotMs),
    lastSnapshot: toIsoOrNull(held?.market.lastSnapshotMs),
    revision: market.revision ?? null,
  }
}

function describeFees(text: string | undefined) {
  if (text === undefined) return null
  const { rate, exponent, takerOnly, rebateRate } = JSON.parse(text) as FeeSchedule
  return {
    rate: exactNumber(rate),
    exponent: exactNumber(exponent),
    takerOnly,
    rebateRate: exactNumber(rebateRate),
  }
}

/** Recorded share of the market's trading window. */
function coveredOf(question: CoverageQuestion): { covered: unknown; gaps: number } {
  const { fromMs, toMs } = spanOf(question)
  if (toMs === fromMs) return { covered: null, gaps: 0 }
  const tally = tallyCoverage(question)
  let gaps = 0
  for (const [reason, { count }] of tally.gaps) if (reason !== 'window_unknown') gaps += count
  return { covered: printedShare(tally.coveredMs, tally.totalMs), gaps }
}

function describeHeld(held: Held, outcome: Outcome) {
  const market = held?.market
  const snapshots = market?.snapshotCounts[outcome] ?? null
  const verifiedSnapshots = market?.verifiedCounts[outcome] ?? null
  return {
    snapshots,
    verifiedSnapshots,
    firstSnapshot: toIsoOrNull(market?.spans[outcome]?.firstMs),
    lastSnapshot: toIsoOrNull(market?.spans[outcome]?.lastMs),
    coverage: {
      ...(held ? coveredOf({ ...held, outcome }) : { covered: null, gaps: null }),
      longestSilenceMs: market?.longestSilenceMs[outcome] ?? null,
      verified: printedShare(verifiedSnapshots ?? 0, snapshots ?? 0),
    },
  }
}

function describeCoin(coin: Coin, totals: readonly CoinTotals[]): CoinBody {
  return {
    symbol: coin,
    name: coinTable[coin].name,
    sources: [...new Set(totals.map(({ source }) => source))].sort(),
    ...sumUp(totals),
    timeframes: timeframes.flatMap((timeframe) => {
      const held = totals.filter((each) => each.timeframe === timeframe)
      return held.length === 0 ? [] : [{ timeframe, ...sumUp(held) }]
    }),
  }
}

function sumUp(totals: readonly CoinTotals[]) {
  const firsts = totals.flatMap(({ firstSnapshotMs }) => firstSnapshotMs ?? [])
  const lasts = totals.flatMap(({ lastSnapshotMs }) => lastSnapshotMs ?? [])
  const sum = (pick: (each: CoinTotals) => number) =>
    totals.reduce((total, each) => total + pick(each), 0)
  return {
    markets: sum(({ markets }) => markets),
    openMarkets: sum(({ openMarkets }) => openMarkets),
    snapshots: sum(({ snapshots }) => snapshots),
    firstSnapshot: toIsoOrNull(firsts.length === 0 ? undefined : Math.min(...firsts)),
    lastSnapshot: toIsoOrNull(lasts.length === 0 ? undefined : Math.max(...lasts)),
  }
}
