/** Prices over time: a row wherever the mid or the last trade is another than before. */
import { doubleMidOf } from '#src/core/bars.ts'
import { readChanges } from '#src/core/changes.ts'
import type { Market } from '#src/core/market.ts'
import type { ReadStates, SeriesPage, SeriesRequest, State } from '#src/core/series.ts'
import type { Trade } from '#src/core/trade.ts'
import type { MarketHistory, Top } from '#src/history/history.ts'
import type { Steps } from '#src/lib/scheduler.ts'
import { putMid, putPlace } from '#src/wire/quote-bytes.ts'
import { createTimePut, piecesOf, putMillionths, putPiece } from '#src/wire/row-bytes.ts'

import { tradePriceOf, walkTrades } from './last-trades.ts'

type History = Pick<MarketHistory, 'tops' | 'trades'>
type PriceState = State & { top: Top; trade: Trade | undefined }

/** Reads a page of changes. */
export function* readPriceChanges(
  history: History,
  { market, range }: SeriesRequest,
): Steps<SeriesPage> {
  const putState = createPut()
  const { rows, last, hasMore } = yield* readChanges({
    read: createReader(history, market),
    isSame,
    range,
  })
  const put: SeriesPage['put'] = (row, bytes, start) => {
    const state = rows[row]
    return state ? putState(bytes, start, state) : start
  }
  return { count: rows.length, put, last, hasMore }
}

/** Reads states with the last trade at or before each. */
const createReader =
  (history: History, market: Market): ReadStates<PriceState> =>
  (part) => {
    const tops = history.tops({ market, ...part })
    const ascending = part.order === 'asc' ? tops : tops.toReversed()
    const [first, last] = [ascending[0], ascending.at(-1)]
    if (first === undefined || last === undefined) return []
    const span = { fromMs: first.timestampMs, toMs: last.timestampMs + 1 }
    const walk = walkTrades(history.trades, market, span)
    const states = ascending.map((top): PriceState => {
      const { timestampMs, id, outcome } = top
      return { timestampMs, id, outcome, top, trade: walk.upTo(timestampMs) }
    })
    return part.order === 'asc' ? states : states.reverse()
  }

const isSame = (before: PriceState, state: PriceState): boolean =>
  doubleMidOf(before.top) === doubleMidOf(state.top) && isSameTrade(before.trade, state.trade)

/** Only as far as a row shows a trade. */
const isSameTrade = (a: Trade | undefined, b: Trade | undefined): boolean =>
  a === b ||
  (a?.timestampMs === b?.timestampMs && a?.price === b?.price && a?.outcome === b?.outcome)

const pieces = piecesOf({
  open: '{',
  timestamp: ',"timestamp":"',
  next: '",',
  lastTrade: ',"lastTrade":',
  time: ',"lastTradeTime":"',
  outcome: '","lastTradeOutcome":',
  noOutcome: '","lastTradeOutcome":null}',
  noTrade: ',"lastTrade":null,"lastTradeTime":null,"lastTradeOutcome":null}',
  up: '"up"}',
  down: '"down"}',
})

function createPut(): (bytes: Uint8Array, start: number, state: PriceState) => number {
  const putTime = createTimePut()
  const putTradeTime = createTimePut()
  return (bytes, start, { top, trade, outcome }) => {
    let at = putPlace(bytes, putPiece(bytes, start, pieces.open), top)
    at = putTime(bytes, putPiece(bytes, at, pieces.timestamp), top.timestampMs)
    at = putMid(bytes, putPiece(bytes, at, pieces.next), top)
    if (trade === undefined) return putPiece(bytes, at, pieces.noTrade)
    at = putPiece(bytes, at, pieces.lastTrade)
    at = putMillionths(bytes, at, tradePriceOf(trade, outcome))
    at = putTradeTime(bytes, putPiece(bytes, at, pieces.time), trade.timestampMs)
    if (trade.outcome === undefined) return putPiece(bytes, at, pieces.noOutcome)
    return putPiece(bytes, putPiece(bytes, at, pieces.outcome), pieces[trade.outcome])
  }
}
