/** Prices of a coin now: its open markets with the last state of each outcome. */
import { exactMillionths, exactNumber, formatMillionths } from '#src/core/decimal.ts'
import type { Coin, Market, Outcome, Timeframe } from '#src/core/market.ts'
import { formatMid } from '#src/core/quote.ts'
import { toIso } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import type { Steps } from '#src/lib/scheduler.ts'

type History = Pick<MarketHistory, 'listMarkets' | 'tops' | 'trades' | 'spot'>
type Question = { coin: Coin; timeframe?: Timeframe | undefined; nowMs: number }

/** Open markets read at once. */
const BLOCK = 200
/** Each series has a price a second: among so many are all that go on. */
const SERIES_MAX = 8

/** The JSON of every open market, newest window first. */
export function* pricesNow(history: History, question: Question): Steps<{ body: string }> {
  const data: ReturnType<typeof toBody>[] = []
  for (const page of marketPages(history, { ...question, status: 'open', limit: BLOCK })) {
    for (const market of page) {
      data.push(toBody(history, market, question.nowMs))
      yield
    }
  }
  return { body: JSON.stringify({ data, nextCursor: null, spot: spotNow(history, question) }) }
}

/** The newest price of the coin, of the shortest average where there are several. */
function spotNow(history: History, { coin, nowMs }: Question) {
  const newest = history.spot({ coin, toMs: nowMs + 1, order: 'desc', limit: SERIES_MAX })
  const [tick] = newest.toSorted((a, b) => a.windowSeconds - b.windowSeconds)
  if (tick === undefined) return null
  const { price, source, windowSeconds, timestampMs } = tick
  return { price: exactNumber(price), source, windowSeconds, timestamp: toIso(timestampMs) }
}

function toBody(history: History, market: Market, nowMs: number) {
  const { conditionId, timeframe, slug, windowStartMs, windowEndMs } = market
  const [trade] = history.trades({ market, last: 1 })
  return {
    conditionId,
    timeframe,
    slug: slug ?? null,
    windowStart: windowStartMs === undefined ? null : toIso(windowStartMs),
    windowEnd: windowEndMs === undefined ? null : toIso(windowEndMs),
    up: toPrice(history, { market, outcome: 'up', nowMs }),
    down: toPrice(history, { market, outcome: 'down', nowMs }),
    lastTrade:
      trade === undefined
        ? null
        : {
            price: exactMillionths(trade.price),
            outcome: trade.outcome ?? null,
            timestamp: toIso(trade.timestampMs),
          },
  }
}

type Book = { market: Market; outcome: Outcome; nowMs: number }

function toPrice(history: History, { market, outcome, nowMs }: Book) {
  const [top] = history.tops({ market, outcome, toMs: nowMs + 1, order: 'desc', limit: 1 })
  if (top === undefined) return null
  const { bidPrice, bidSize, askPrice, askSize, timestampMs } = top
  const [hasBid, hasAsk] = [bidSize > 0, askSize > 0]
  return {
    bid: hasBid ? exactNumber(formatMillionths(bidPrice)) : null,
    ask: hasAsk ? exactNumber(formatMillionths(askPrice)) : null,
    mid: hasBid && hasAsk ? exactNumber(formatMid(bidPrice, askPrice)) : null,
    timestamp: toIso(timestampMs),
  }
}
