/** A market of which something is held, for the examples of the documentation. */
import { coins, type Market } from '#src/core/market.ts'
import { DAY_MS, toIso } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { ExampleMarket } from '#src/http/fields.ts'

/** Markets of a coin that are looked at, newest first. */
const LOOKED_AT = 20

/** Finds the newest market with books of both outcomes, of the first coin that has one. */
export function findExample(
  history: Pick<MarketHistory, 'listMarkets'>,
): ExampleMarket | undefined {
  for (const coin of coins) {
    const markets = history.listMarkets({ coin, order: 'desc', limit: LOOKED_AT })
    for (const market of markets) {
      const example = toExample(market)
      if (example !== undefined) return example
    }
  }
  return undefined
}

function toExample({ coin, conditionId, spans, orderMs }: Market): ExampleMarket | undefined {
  const { up, down } = spans
  if (up === undefined || down === undefined) return undefined
  const day = toIso(orderMs - (orderMs % DAY_MS)).slice(0, 'YYYY-MM-DD'.length)
  return { coin, conditionId, tsMs: Math.max(up.firstMs, down.firstMs), day }
}
