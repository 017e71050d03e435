import { Elysia } from 'elysia'

import { consolidate, type ConsolidatedBook } from '#src/domain/consolidated.ts'
import { coverageText } from '#src/domain/coverage.ts'
import {
  exactMillionths,
  exactNumber,
  formatMillionths,
  type Millionths,
} from '#src/domain/decimal.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import { costOf, type Exact, type Fill, fill, formatExact, type Order } from '#src/domain/fill.ts'
import { type Market, otherOutcome, type Outcome, outcomes } from '#src/domain/market.ts'
import { type Bound, boundsOf } from '#src/domain/resting.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import { type Clock, DAY_MS, toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { TradeQuery } from '#src/domain/trade.ts'
import { toSources } from '#src/domain/wire/consolidated-text.ts'
import { type MarketHistory, prevailingRange } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { assertEntitled } from '#src/http/rights.ts'
import { dataTask, marketIn, type TaskPorts, type Tasks } from '#src/http/tasks.ts'

import { type Delay, type Fees, feesAsOf, takerDelayAsOf, tickSizeAsOf } from './costs.ts'
import { readOrder, readResting } from './order.ts'
import { type doubts, FillBody, FillQuery, RestingBody, RestingQuery } from './schema.ts'

type Deps = {
  history: MarketHistory
  clock: Clock
  tasks: Tasks
  listTiers: () => readonly Tier[]
}

const MONEY_DECIMALS = 6
const AVERAGE_DECIMALS = 9

export const fillRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'fill' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/fill',
      ({ reply, request, market, query }) => reply(request, answerFill(deps, market, query)),
      {
        access: 'snapshots',
        market: true,
        query: FillQuery,
        isCovered: true,
        caching: 'digest',
        fails: ['no_snapshot', 'stale'],
        response: { 200: FillBody },
        answers: { description: 'The fill.' },
        detail: {
          operationId: 'getFill',
          summary: 'Simulate a fill',
          description:
            'Executes a market order, or a limit order with `limitPrice`, against the book at `matchedAt`: `ts`, plus `latencyMs`, plus the delay of the venue for taker orders at that time. A later book is never used. Fees are those of the market at `ts`. `fees=none` and `delay=0` leave them out; the response states the values used. Arithmetic is exact; amounts are rounded only when printed. The impact of the order on the market is not modelled.',
          tags: ['snapshots'],
        },
      },
    )
    .get(
      '/v1/:coin/markets/:conditionId/fill/resting',
      ({ reply, request, coin, market, caller, query }) => {
        const { conditionId } = market
        assertEntitled({ access: 'prices', caller, coin }, deps.listTiers)
        readResting(query)
        assertRange(query, market)
        const given = { conditionId, query }
        return reply(request, deps.tasks.data(request, restingTask, given, 'long'))
      },
      {
        access: 'snapshots',
        coin: true,
        market: true,
        query: RestingQuery,
        isCovered: true,
        caching: 'digest',
        response: { 200: RestingBody },
        answers: { description: 'The bounds.' },
        detail: {
          operationId: 'getRestingFill',
          summary: 'Simulate a resting order',
          description:
            'A lower and an upper bound of the fill of a limit order that rests at `price` between `from` and `until`, with times. Computed from trades through the price, and from trades at the price after the queue ahead; not from shrinking depth, because orders may be cancelled. A trade of the other outcome at p counts as a trade of this outcome at 1 − p with the opposite side. Trades in the millisecond in which the order arrives count in `upper` only. `doubts` lists what the data cannot show. Also needs a tier with `prices`, as trades do.',
          tags: ['snapshots'],
        },
      },
    )

/** Rejects with `invalid_parameter`, `no_snapshot` and `stale`. */
async function answerFill(
  { history, clock }: Pick<Deps, 'history' | 'clock'>,
  market: Market,
  query: FillQuery,
): Promise<DataAnswer> {
  const { outcome, side, view, ts: tsMs, latencyMs = 0 } = query
  const asked = readOrder(query)
  const fees = feesOf(history, market, query, asked.fee)
  const order = { ...asked, fee: fees.terms }
  const delay = delayOf(history, market, query)
  const matchedMs = tsMs + latencyMs + delay.ms
  const read = view === 'own' ? [outcome] : outcomes
  await history.ready(read.map((each) => prevailingRange(market, each, matchedMs)))
  const { book, newestMs } = bookAt(history, market, { ...query, ts: matchedMs })
  const done = fill(side === 'buy' ? book.asks : book.bids, order)
  const body = JSON.stringify({
    conditionId: market.conditionId,
    outcome,
    side,
    view,
    ts: toIso(tsMs),
    matchedAt: toIso(matchedMs),
    delayMs: delay.ms,
    delaySource: delay.source,
    fees: describeFees(fees),
    timestamp: toIso(newestMs),
    ageMs: matchedMs - newestMs,
    sources: toSources(book),
    ...toBody(order, done),
  })
  const coverage = coverageText({
    market,
    gaps: history.gaps(market),
    outcome: view === 'own' ? outcome : undefined,
    fromMs: matchedMs,
    toMs: matchedMs + 1,
    nowMs: clock(),
  })
  return { body, coverage }
}

const feesOf = (
  history: MarketHistory,
  market: Market,
  { ts, fees }: FillQuery,
  stated: Fees['terms'] | undefined,
): Fees =>
  stated === undefined
    ? feesAsOf(history, market, ts)
    : { terms: stated, schedule: undefined, source: fees === 'none' ? 'none' : 'request' }

const delayOf = (history: MarketHistory, market: Market, { ts, delay }: FillQuery): Delay =>
  delay === undefined ? takerDelayAsOf(history, market, ts) : { ms: delay, source: 'request' }

function describeFees({ terms, schedule, source }: Fees) {
  const stated = source === 'request' && terms.kind === 'rate' ? terms.value : undefined
  return {
    source,
    rate: exactNumber(schedule?.rate) ?? exactMillionths(stated),
    exponent: exactNumber(schedule?.exponent) ?? (stated === undefined ? null : 1),
    takerOnly: schedule?.takerOnly ?? null,
    rebateRate: exactNumber(schedule?.rebateRate),
  }
}

/** Throws `invalid_parameter`. */
function assertRange({ from, until, latencyMs = 0 }: RestingQuery, { windowEndMs }: Market): void {
  if (windowEndMs !== undefined && from + latencyMs >= windowEndMs) {
    const detail = `\`from\` and \`latencyMs\` put the order in the book at ${toIso(from + latencyMs)}, but the window ended at ${toIso(windowEndMs)}. Send an earlier \`from\`.`
    throw parameterError('from', detail)
  }
  if (until <= from + latencyMs) {
    const detail = '`until` must be after the order is in the book, `latencyMs` after `from`.'
    throw parameterError('until', detail)
  }
  if (until - from > RANGE_MS_MAX)
    throw parameterError('until', '`until` is more than a week after `from`.')
}

/** No market trades longer. */
const RANGE_MS_MAX = 7 * DAY_MS

export const restingTask = dataTask('resting', answerResting)

async function answerResting(
  ports: TaskPorts,
  { conditionId, query }: { conditionId: string; query: RestingQuery },
): Promise<DataAnswer> {
  const { history, clock } = ports
  const { outcome, side, from, until, latencyMs = 0 } = query
  const market = marketIn(ports, conditionId)
  const placedMs = from + latencyMs
  const order = { outcome, side, ...readResting(query), placedMs }
  await history.ready(outcomes.map((each) => prevailingRange(market, each, placedMs)))
  const span = { market, gaps: history.gaps(market), outcome, nowMs: clock() }
  const coverage = coverageText({ ...span, fromMs: placedMs, toMs: until })
  const isKnown = coverageText({ ...span, fromMs: placedMs, toMs: placedMs + 1 }) === 'full'
  const [own, mirror] = [outcome, otherOutcome(outcome)].map((each) =>
    history.at({ market, outcome: each, timestampMs: placedMs })?.snapshot(),
  )
  const book = isKnown ? consolidate(own, mirror) : undefined
  assertOnTick(order.price, tickSizeAsOf(history, market, placedMs), book)
  const ladder = side === 'buy' ? book?.bids : book?.asks
  const [best] = (side === 'buy' ? book?.asks : book?.bids)?.prices ?? []
  const isCrossed =
    best !== undefined && (side === 'buy' ? best <= order.price : best >= order.price)
  const at = ladder?.prices.indexOf(order.price) ?? -1
  const ahead = ladder && (ladder.sizes[at] ?? 0)
  // A last trade price does not prove that the trades around it are held.
  const read = (query: Omit<TradeQuery, 'market'>) =>
    history.trades({ market, isTrade: true, ...query })
  const bounds = boundsOf(order, ahead, read({ fromMs: placedMs, toMs: until }))
  const isSurrounded =
    read({ toMs: placedMs + 1, last: 1 }).length > 0 && read({ fromMs: until, first: 1 }).length > 0
  const found = {
    gap: coverage !== 'full',
    trades_unknown: !isSurrounded,
    unclear_trades: bounds.unclear > 0,
    queue_unknown: ahead === undefined,
    crossed: isCrossed,
  } satisfies Record<(typeof doubts)[number], boolean>
  const body = JSON.stringify({
    conditionId,
    outcome,
    side,
    price: exactMillionths(order.price),
    size: exactMillionths(order.size),
    from: toIso(from),
    placedAt: toIso(placedMs),
    until: toIso(until),
    queueAhead: exactMillionths(ahead),
    lower: describeBound(bounds.lower),
    upper: describeBound(bounds.upper),
    tradedThrough: exactMillionths(bounds.through),
    tradedAt: exactMillionths(bounds.at),
    fees: describeFees(feesAsOf(history, market, from)),
    doubts: Object.entries(found).flatMap(([name, isFound]) => (isFound ? [name] : [])),
  })
  return { body, coverage, isClosed: market.isClosed }
}

/**
 * Throws `invalid_parameter` for a price that the venue would have refused. The book may show that
 * the increment was smaller than the one that is known.
 */
function assertOnTick(
  price: Millionths,
  tickSize: Millionths | undefined,
  book: ConsolidatedBook | undefined,
): void {
  if (tickSize === undefined || price % tickSize === 0) return
  const shown = [book?.bids.prices, book?.asks.prices].flatMap((prices) => prices ?? [])
  if (shown.some((each) => each % tickSize !== 0)) return
  const below = Math.max(tickSize, price - (price % tickSize))
  const detail = `\`price\` is ${formatMillionths(price)}, but orders of this market had to be at multiples of ${formatMillionths(tickSize)} then. Send one of them, such as ${formatMillionths(below)}.`
  throw parameterError('price', detail)
}

const describeBound = ({ filled, firstMs, completeMs }: Bound) => ({
  filled: exactMillionths(filled),
  firstAt: toIsoOrNull(firstMs),
  completeAt: toIsoOrNull(completeMs),
})

/** The prevailing ladders, and the time of the newest state. Throws `no_snapshot`, `stale`. */
function bookAt(history: MarketHistory, market: Market, query: FillQuery) {
  const { outcome, view, ts: tsMs, maxAgeMs = Number.POSITIVE_INFINITY } = query
  const find = (which: Outcome): StoredSnapshot | undefined =>
    history.at({ market, outcome: which, timestampMs: tsMs })?.snapshot()
  const own = find(outcome)
  const mirror = view === 'own' ? undefined : find(otherOutcome(outcome))
  const book = consolidate(own, mirror)
  if (book === undefined) throw nothingBy(market, query)
  const newestMs = Math.max(book.own?.timestampMs ?? 0, book.mirror?.timestampMs ?? 0)
  if (tsMs - newestMs <= maxAgeMs) return { book, newestMs }
  throw new AppError(
    'stale',
    `The last state by \`ts\` is ${tsMs - newestMs} ms old, from ${toIso(newestMs)}, and \`maxAgeMs\` is ${maxAgeMs}. Send a larger \`maxAgeMs\` to use that state.`,
    { param: 'maxAgeMs' },
  )
}

function nothingBy({ spans }: Market, { outcome, view, ts: tsMs }: FillQuery): AppError {
  const others = view === 'own' ? [] : [spans[otherOutcome(outcome)]]
  const firsts = [spans[outcome], ...others].flatMap((span) => span?.firstMs ?? [])
  const what = view === 'own' ? `of "${outcome}"` : 'of either outcome'
  const first =
    firsts.length === 0
      ? 'None is recorded.'
      : `The first state is from ${toIso(Math.min(...firsts))}.`
  return new AppError('no_snapshot', `No state ${what} is recorded by ${toIso(tsMs)}. ${first}`, {
    param: 'ts',
  })
}

function toBody({ asked }: Order, done: Fill) {
  const { unit, amount } = asked
  return {
    asked: { [unit === 'shares' ? 'size' : 'usdc']: exactMillionths(amount) },
    filled: money(done.filled),
    notional: money(done.notional),
    fee: money(done.fee),
    total: money(done.total),
    averagePrice: average(done.averagePrice),
    bestPrice: exactMillionths(done.bestPrice),
    worstPrice: exactMillionths(done.worstPrice),
    slippage: average(done.slippage),
    levelsUsed: done.levels.length,
    unfilled: money(done.unfilled),
    levels: done.levels.map((level) => ({
      price: exactMillionths(level.price),
      size: exactMillionths(level.shares),
      source: level.source,
      cost: money({ value: costOf(level), decimals: 2 * MONEY_DECIMALS }),
    })),
  }
}

const money = (amount: Exact): unknown => exactNumber(formatExact(amount, MONEY_DECIMALS))

const average = (amount: Exact | undefined): unknown =>
  exactNumber(amount && formatExact(amount, AVERAGE_DECIMALS))
