/** What the examples of the documentation are about on a server that holds something. */
import { DAY_MS, toIso } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import type { ExampleMarket } from '#src/http/fields.ts'

/** Its moment is the first at which every outcome that is held has a book. */
export function findExample(
  history: Pick<MarketHistory, 'listMarkets' | 'coinTotals'>,
): ExampleMarket | undefined {
  const market = findExampleMarket(history)
  if (market === undefined) return undefined
  const { coin, timeframe, conditionId, spans, orderMs } = market
  const tsMs = Math.max(spans.up?.firstMs ?? 0, spans.down?.firstMs ?? 0)
  const day = toIso(orderMs - (orderMs % DAY_MS)).slice(0, 'YYYY-MM-DD'.length)
  return { coin, timeframe, conditionId, tsMs, day }
}
