import { Elysia } from 'elysia'

import { consolidate } from '#src/domain/consolidated.ts'
import { coverageText } from '#src/domain/coverage.ts'
import { exactMillionths, exactNumber } from '#src/domain/decimal.ts'
import { AppError } from '#src/domain/errors.ts'
import { costOf, type Exact, type Fill, fill, formatExact, type Order } from '#src/domain/fill.ts'
import { type Market, otherOutcome, type Outcome, outcomes } from '#src/domain/market.ts'
import type { StoredSnapshot } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { toIso } from '#src/domain/time.ts'
import { toSources } from '#src/domain/wire/consolidated-text.ts'
import { type MarketHistory, prevailingRange } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { readOrder } from './order.ts'
import { FillBody, FillQuery } from './schema.ts'

type Deps = {
  history: MarketHistory
  served: () => ServedMoment
}

const MONEY_DECIMALS = 6
const AVERAGE_DECIMALS = 9

export const fillRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'fill' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/fill',
      ({ reply, request, market, query }) => reply.data(request, answerFill(deps, market, query)),
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
          summary: 'What an order would have filled at a moment',
          description:
            'Walks the ladder prevailing at `ts` (at or before, never after) with a market order, or one that is limited by `limitPrice`. Arithmetic is exact; an amount of money is rounded once, when it is printed. Nothing of the queue, of latency or of the order’s own effect on the market is modelled.',
          tags: ['snapshots'],
        },
      },
    )

/** Throws `invalid_parameter`, `no_snapshot` and `stale`. */
function* answerFill(
  { history, served }: Deps,
  market: Market,
  query: FillQuery,
): Steps<DataAnswer> {
  const { outcome, side, view, ts: tsMs } = query
  const order = readOrder(query)
  const read = view === 'own' ? [outcome] : outcomes
  yield history.ready(read.map((each) => prevailingRange(market, each, tsMs)))
  const { book, newestMs } = bookAt(history, market, query)
  const done = fill(side === 'buy' ? book.asks : book.bids, order)
  const body = JSON.stringify({
    conditionId: market.conditionId,
    outcome,
    side,
    view,
    ts: toIso(tsMs),
    timestamp: toIso(newestMs),
    ageMs: tsMs - newestMs,
    sources: toSources(book),
    ...toBody(order, done),
  })
  const coverage = coverageText({
    market,
    gaps: history.gaps(market),
    outcome: view === 'own' ? outcome : undefined,
    fromMs: tsMs,
    toMs: tsMs + 1,
    ...served(),
  })
  return { body, coverage }
}

/** The prevailing ladders and the time of their newest state. Throws `no_snapshot`, `stale`. */
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
    `The last state by \`ts\` is ${tsMs - newestMs} ms old, of ${toIso(newestMs)}, and \`maxAgeMs\` is ${maxAgeMs}. Raise it to use that state all the same.`,
    { param: 'maxAgeMs' },
  )
}

function nothingBy({ spans }: Market, { outcome, view, ts: tsMs }: FillQuery): AppError {
  const others = view === 'own' ? [] : [spans[otherOutcome(outcome)]]
  const firsts = [spans[outcome], ...others].flatMap((span) => span?.firstMs ?? [])
  const what = view === 'own' ? `of "${outcome}"` : 'of either outcome'
  const first =
    firsts.length === 0
      ? 'Nothing of it is recorded at all.'
      : `The first state is of ${toIso(Math.min(...firsts))}.`
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
