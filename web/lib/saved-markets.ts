/** Markets that the visitor opened, and those that were marked. They are kept in this browser alone. */

import type { Market } from './bodies.ts'
import { createKept } from './kept.ts'

export type SavedMarket = Pick<
  Market,
  'conditionId' | 'symbol' | 'timeframe' | 'windowStart' | 'windowEnd' | 'source'
> & {
  /** Absent where it was saved by an earlier version. */
  slug?: Market['slug'] | undefined
}

const RECENT_MAX = 12
const FAVOURITES_MAX = 50

const isSaved = (entry: Partial<SavedMarket> | null): entry is SavedMarket =>
  typeof entry?.conditionId === 'string' && typeof entry.symbol === 'string'

/** A list of at most `max` markets. */
function createSavedList(name: string, max: number) {
  const { store, set } = createKept<readonly SavedMarket[]>(name, (stored) =>
    Array.isArray(stored) ? stored.filter(isSaved) : [],
  )
  return { store, set: (markets: readonly SavedMarket[]) => set(markets.slice(0, max)) }
}

const recent = createSavedList('bookfeed.recent', RECENT_MAX)
const favourites = createSavedList('bookfeed.favourites', FAVOURITES_MAX)

/** The market opened last comes first. */
export const recentMarkets = recent.store
/** The market marked last comes first. */
export const favouriteMarkets = favourites.store

const toSaved = (market: SavedMarket): SavedMarket => ({
  conditionId: market.conditionId,
  symbol: market.symbol,
  timeframe: market.timeframe,
  windowStart: market.windowStart,
  windowEnd: market.windowEnd,
  source: market.source,
  slug: market.slug,
})

const without = (list: readonly SavedMarket[], { conditionId }: SavedMarket): SavedMarket[] =>
  list.filter((each) => each.conditionId !== conditionId)

export const noteOpened = (market: SavedMarket): void =>
  recent.set([toSaved(market), ...without(recent.store.get(), market)])

export const isFavourite = (list: readonly SavedMarket[], { conditionId }: SavedMarket): boolean =>
  list.some((each) => each.conditionId === conditionId)

export function toggleFavourite(market: SavedMarket): void {
  const list = favourites.store.get()
  const rest = without(list, market)
  favourites.set(rest.length < list.length ? rest : [toSaved(market), ...list])
}
