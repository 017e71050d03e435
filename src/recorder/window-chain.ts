/**
 * For 5m, 15m and 4h, the strike of a window is exactly the final price of the previous one. Each
 * supplies the other, and a difference shows that the venue contradicts itself.
 */

import {
  finalPriceFacts,
  type Market,
  type MarketFacts,
  strikeFacts,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'

import type { Reporter } from './ports.ts'

const chained: ReadonlySet<Timeframe> = new Set(['5m', '15m', '4h'])
/** The maximum number of markets of a coin and timeframe that can begin at the same time. */
const NEIGHBOURS_MAX = 10

/** Creates the chain; call `check` for each market whose facts were stored. */
export function createWindowChain(
  history: Pick<MarketHistory, 'putMarket' | 'findMarket' | 'listMarkets'>,
  reporter: Reporter,
) {
  const contradictions = new Set<string>()

  /** Fills missing values; replaces only values from a price feed. */
  async function link(before: Market, after: Market): Promise<void> {
    const { finalPrice } = before
    const { strike } = after
    if (finalPrice === undefined && strike === undefined) return
    const isSame =
      strike !== undefined && finalPrice !== undefined && plain(strike) === plain(finalPrice)
    if (
      strike === undefined ||
      (finalPrice !== undefined && after.strikeSource === 'feed' && !isSame)
    )
      await put(after, strikeFacts(finalPrice, { ...after, source: 'chain' }))
    else if (finalPrice === undefined)
      await put(before, finalPriceFacts(strike, { ...before, source: 'chain' }))
    else if (!isSame) {
      contradictions.add(after.conditionId)
      const name = after.slug ?? after.conditionId
      const text = `The strike of ${name} is ${strike}, but the final price of the window before is ${finalPrice}. Both are kept.`
      reporter.report(`chain ${after.conditionId}`, text)
    }
  }

  function put(market: Market, facts: Partial<MarketFacts>): Promise<void> {
    const { conditionId, coin, timeframe, source } = market
    return history.putMarket({ conditionId, coin, timeframe, source, ...facts })
  }

  function findAt({ coin, timeframe, source }: Market, startMs: number): Market | undefined {
    const range = { fromMs: startMs, toMs: startMs + 1, limit: NEIGHBOURS_MAX }
    return history
      .listMarkets({ coin, timeframe, ...range })
      .find((each) => each.source === source && each.windowStartMs === startMs)
  }

  return {
    /** Rejects if the history does. */
    async check(conditionId: string): Promise<void> {
      const market = history.findMarket(conditionId)
      if (market?.windowStartMs === undefined || !chained.has(market.timeframe)) return
      const lengthMs = timeframeMs[market.timeframe]
      const before = findAt(market, market.windowStartMs - lengthMs)
      const after = findAt(market, market.windowStartMs + lengthMs)
      if (before !== undefined) await link(before, market)
      if (after !== undefined) await link(history.findMarket(conditionId) ?? market, after)
    },

    /** The number of windows whose strike differs from the final price of the previous window. */
    contradictions: () => contradictions.size,
  }
}

/** Normalizes a price: `64000.50` equals `64000.5`. */
const plain = (digits: string): string =>
  digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
