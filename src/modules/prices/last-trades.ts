/** Last trades beside states: of each state the last trade at or before it. */
import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'
import type { Market, Outcome } from '#src/core/market.ts'
import type { Trade } from '#src/core/trade.ts'
import type { MarketHistory } from '#src/history/history.ts'

export type ReadTrades = MarketHistory['trades']

/** Moves forward in time over the trades of a market. */
export type TradeWalk = {
  /** Last trade at or before `timeMs`, which never falls; undefined before the first. */
  upTo(timeMs: number): Trade | undefined
  /** How many have been passed so far, without those before the walk began. */
  readonly passed: number
}

/** Walks the trades of a span: `fromMs` inclusive, `toMs` exclusive. */
export function walkTrades(
  read: ReadTrades,
  market: Market,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): TradeWalk {
  let last = read({ market, toMs: fromMs, last: 1 })[0]
  const trades = read({ market, fromMs, toMs })
  let passed = 0
  return {
    upTo(timeMs) {
      for (let trade = trades[passed]; trade !== undefined && trade.timestampMs <= timeMs;) {
        last = trade
        trade = trades[++passed]
      }
      return last
    },
    get passed() {
      return passed
    },
  }
}

/**
 * The price of a trade for an outcome: of a trade of the other one the rest to 1. Where the source
 * does not tell which was traded, as it was printed.
 */
export const tradePriceOf = ({ price, outcome }: Trade, own: Outcome): Millionths =>
  outcome === undefined || outcome === own ? price : MILLIONTHS_PER_UNIT - price
