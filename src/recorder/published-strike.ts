import type { Market } from '#src/domain/market.ts'
import { averageSeconds, averageSources, PRICE_HOLD_MS } from '#src/domain/settlement.ts'
import type { MarketHistory } from '#src/history/history.ts'

/**
 * The strike of a window that settles on an average: the first that the source of the settlement
 * published at or after the start. Undefined for other windows, and where none was published then;
 * the average of single prices is not exact enough to take its place.
 */
export function findPublishedStrike(
  history: Pick<MarketHistory, 'spot'>,
  { coin, source, settlementRule, windowStartMs }: Market,
): string | undefined {
  const windowSeconds = settlementRule && averageSeconds[settlementRule]
  if (windowSeconds === undefined || windowStartMs === undefined) return undefined
  const range = { fromMs: windowStartMs, toMs: windowStartMs + PRICE_HOLD_MS }
  return averageSources[source]
    .flatMap((publisher) =>
      history.spot({ coin, source: publisher, windowSeconds, ...range, order: 'asc', limit: 1 }),
    )
    .at(0)?.price
}
