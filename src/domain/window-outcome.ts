/**
 * A window's outcome from tables of outcomes. The tables name no market, so an outcome applies to
 * every market of the window, whether it was known earlier or later.
 */

import {
  finalPriceFacts,
  type Market,
  type MarketFacts,
  type Outcome,
  type PriceSource,
  priceSources,
  strikeFacts,
  type WinnerSource,
  winnerSources,
} from './market.ts'

export type MarketWindow = Pick<MarketFacts, 'coin' | 'timeframe' | 'source'> & {
  windowStartMs: number
}

export type WindowOutcome = MarketWindow & { winner: Outcome } & Pick<
    MarketFacts,
    'strike' | 'finalPrice'
  >

type Facts = MarketFacts & Pick<Market, 'assetIds'>

const SOURCE = 'dataset'

/** Merges two outcomes of a window; of prices that differ, the first in text order counts. */
export function joinOutcomes(held: WindowOutcome | undefined, row: WindowOutcome): WindowOutcome {
  return {
    ...row,
    strike: firstOf(held?.strike, row.strike),
    finalPrice: firstOf(held?.finalPrice, row.finalPrice),
  }
}

function firstOf(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a < b ? a : b
}

/**
 * Adds the outcomes of a market's window to its facts; the first one names the winner. They replace
 * only derived facts; the prices of an outcome whose winner did not win do not count.
 */
export function withOutcomes<T extends Facts>(facts: T, outcomes: readonly WindowOutcome[]): T {
  const isUndecided = isOutranked(winnerSources, facts.winnerSource)
  const winner = isUndecided ? (outcomes[0]?.winner ?? facts.winner) : facts.winner
  const outcome = outcomes.find((each) => each.winner === winner)
  if (outcome === undefined) return facts
  const origin = { ...facts, source: SOURCE } as const
  return {
    ...facts,
    ...(isUndecided ? { winner, winnerSource: SOURCE } : {}),
    ...(isOutranked(priceSources, facts.strikeSource) ? strikeFacts(outcome.strike, origin) : {}),
    ...(isOutranked(priceSources, facts.finalPriceSource)
      ? finalPriceFacts(outcome.finalPrice, origin)
      : {}),
  }
}

/** The facts of a market without those that its window's outcomes added. */
export function withoutOutcomes<T extends Facts>(known: T, outcomes: readonly WindowOutcome[]): T {
  const outcome = outcomes.find((each) => each.winner === known.winner)
  if (outcome === undefined) return known
  const isWinner = known.winnerSource === SOURCE && outcome === outcomes[0]
  const isStrike = known.strikeSource === SOURCE && known.strike === outcome.strike
  const isFinal = known.finalPriceSource === SOURCE && known.finalPrice === outcome.finalPrice
  return {
    ...known,
    ...(isWinner ? { winner: undefined, winnerSource: undefined } : {}),
    ...(isStrike ? { strike: undefined, strikeSource: undefined, strikeMs: undefined } : {}),
    ...(isFinal
      ? { finalPrice: undefined, finalPriceSource: undefined, finalPriceMs: undefined }
      : {}),
  }
}

/** True if a data set replaces the facts of this source. */
const isOutranked = <S extends WinnerSource | PriceSource>(
  ranks: readonly S[],
  source: S | undefined,
): boolean => source === undefined || ranks.indexOf(source) > ranks.indexOf(SOURCE as S)
