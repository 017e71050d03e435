/**
 * Fills an order against the book of a moment; knows the history's verbs and the
 * answer's shape, nothing of HTTP.
 */
import { consolidate, type ConsolidatedBook } from '#src/core/consolidated.ts'
import { coverageText } from '#src/core/coverage.ts'
import {
  exactMillionths,
  exactNumber,
  formatMillionths,
  type Millionths,
} from '#src/core/decimal.ts'
import { AppError } from '#src/core/errors.ts'
import { costOf, type Exact, type Fill, fill, formatExact, type Order } from '#src/core/fill.ts'
import { type Market, otherOutcome, type Outcome } from '#src/core/market.ts'
import type { Position, StoredSnapshot } from '#src/core/snapshot.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

import type { FillQuery } from './model.ts'

/** JSON, and how far the moment was recorded. */
export type FillAnswer = { body: string; coverage: string }

const MONEY_DECIMALS = 6
const AVERAGE_DECIMALS = 9

type Deps = { history: MarketHistory; clock: Clock }

/** Makes the service of a history. */
export const createFillService = ({ history, clock }: Deps) => ({
  /** Throws `no_snapshot` and `stale`. */
  fill(market: Market, query: FillQuery, order: Order): FillAnswer {
    const { outcome, side, view, ts: tsMs } = query
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
      ...{ market, gaps: history.gaps(market), outcome: view === 'own' ? outcome : undefined },
      ...{ fromMs: tsMs, toMs: tsMs + 1, nowMs: clock() },
    })
    return { body, coverage }
  },
})

export type FillService = ReturnType<typeof createFillService>

type Moment = Pick<FillQuery, 'outcome' | 'view' | 'maxAgeMs' | 'ts'>

/**
 * The ladders prevailing at a moment, and the time of the newest state in them.
 * Throws `no_snapshot` and `stale`.
 */
function bookAt(history: MarketHistory, market: Market, moment: Moment) {
  const { outcome, view, ts: tsMs, maxAgeMs = Number.POSITIVE_INFINITY } = moment
  const find = (which: Outcome): StoredSnapshot | undefined =>
    history.at({ market, outcome: which, timestampMs: tsMs })?.snapshot()
  const own = find(outcome)
  const mirror = view === 'own' ? undefined : find(otherOutcome(outcome))
  const book = consolidate(own, mirror)
  if (book === undefined) throw nothingBy(market, moment)
  const newestMs = Math.max(book.own?.timestampMs ?? 0, book.mirror?.timestampMs ?? 0)
  if (tsMs - newestMs <= maxAgeMs) return { book, newestMs }
  throw new AppError(
    'stale',
    `The last state by \`ts\` is ${tsMs - newestMs} ms old, of ${toIso(newestMs)}, and \`maxAgeMs\` is ${maxAgeMs}. Raise it to use that state all the same.`,
    { param: 'maxAgeMs' },
  )
}

function nothingBy({ spans }: Market, { outcome, view, ts: tsMs }: Moment): AppError {
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

const toSources = ({ own, mirror, skewMs }: ConsolidatedBook) => ({
  own: toSource(own),
  mirror: toSource(mirror),
  skewMs: skewMs ?? null,
})

const toSource = (place: Position | undefined) =>
  place === undefined ? null : { id: String(place.id), timestamp: toIso(place.timestampMs) }

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
      price: decimal(level.price),
      size: decimal(level.shares),
      source: level.source,
      cost: money({ value: costOf(level), decimals: 2 * MONEY_DECIMALS }),
    })),
  }
}

const decimal = (millionths: Millionths): unknown => exactNumber(formatMillionths(millionths))

const money = (amount: Exact): unknown => exactNumber(formatExact(amount, MONEY_DECIMALS))

const average = (amount: Exact | undefined): unknown =>
  amount === undefined ? null : exactNumber(formatExact(amount, AVERAGE_DECIMALS))
