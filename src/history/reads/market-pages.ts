import type { Market } from '#src/core/market.ts'

import type { MarketHistory, MarketQuery } from '../history.ts'

/**
 * All markets of a query in pages of its `limit`, none of them empty;
 * each is read when it is asked for.
 */
export function* marketPages(
  history: Pick<MarketHistory, 'listMarkets'>,
  query: MarketQuery,
): Generator<Market[]> {
  let page = history.listMarkets(query)
  while (page.length > 0) {
    yield page
    if (page.length < query.limit) return
    page = history.listMarkets({ ...query, after: page.at(-1) })
  }
}
