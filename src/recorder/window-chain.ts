/**
 * The strike of a window is the final price of the one before, exactly, for 5m, 15m and 4h: so one
 * gives the other, and a venue that contradicts itself shows.
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
/** Markets of a coin and timeframe that can begin within a window of each other. */
const NEIGHBOURS_MAX = 10

type Ports = {
  history: Pick<MarketHistory, 'putMarket' | 'findMarket' | 'listMarkets'>
  reporter: Reporter
}

/** Makes the chain; `check` is to be called for each market of which facts were put. */
export function createWindowChain({ history, reporter }: Ports) {
  const contradictions = new Set<string>()

  /** Fills what is missing; never replaces what is known. */
  function link(before: Market, after: Market): void {
    const { finalPrice } = before
    const { strike } = after
    if (finalPrice === undefined && strike === undefined) return
    if (strike === undefined) put(after, strikeFacts(finalPrice, { ...after, source: 'chain' }))
    else if (finalPrice === undefined)
      put(before, finalPriceFacts(strike, { ...before, source: 'chain' }))
    else if (plain(strike) !== plain(finalPrice)) {
      contradictions.add(after.conditionId)
      const text = `The strike of ${nameOf(after)} is ${strike}, but the final price of the window before is ${finalPrice}. Both are kept.`
      reporter.report(`chain ${after.conditionId}`, text)
    }
  }

  function put(
    { conditionId, coin, timeframe, source }: Market,
    facts: Partial<MarketFacts>,
  ): void {
    history.putMarket({ conditionId, coin, timeframe, source, ...facts })
  }

  /** Of the window that begins at a moment. */
  function findAt({ coin, timeframe, source }: Market, startMs: number): Market | undefined {
    const range = { fromMs: startMs, toMs: startMs + 1, limit: NEIGHBOURS_MAX }
    return history
      .listMarkets({ coin, timeframe, ...range })
      .find((each) => each.source === source && each.windowStartMs === startMs)
  }

  return {
    /** May throw what the history throws. */
    check(conditionId: string): void {
      const market = history.findMarket(conditionId)
      if (market?.windowStartMs === undefined || !chained.has(market.timeframe)) return
      const lengthMs = timeframeMs[market.timeframe]
      const before = findAt(market, market.windowStartMs - lengthMs)
      const after = findAt(market, market.windowStartMs + lengthMs)
      if (before !== undefined) link(before, market)
      if (after !== undefined) link(history.findMarket(conditionId) ?? market, after)
    },

    /** Windows whose strike is not the final price of the one before. */
    contradictions: () => contradictions.size,
  }
}

const nameOf = ({ slug, conditionId }: Market): string => slug ?? conditionId

/** `64000.50` is the same price as `64000.5`. */
const plain = (digits: string): string =>
  digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits
