/** Reads pages of a history in tests. */
import type { MarketHistory, RowQuery } from '#src/history/history.ts'

import { conditionIdOf, getMarket } from './books.ts'

export type Query = Omit<RowQuery, 'market'> & { conditionId?: string | undefined }

/** A page of a market as it is now; of market 1 unless another is named. */
export function pageOf(history: MarketHistory, { conditionId, ...query }: Query) {
  const market = getMarket(history, conditionId ?? conditionIdOf(1))
  return history.page({ market, ...query })
}

/** The page's rows as a JSON array. */
export const textOf = (history: MarketHistory, query: Query): string =>
  Buffer.from(pageOf(history, query).encode('identity', '[', ']')).toString()

/** The ids on a page, in its order. */
export const idsOf = (history: MarketHistory, query: Query): number[] =>
  JSON.parse(textOf(history, query)).map(({ id }: { id: string }) => Number(id))
