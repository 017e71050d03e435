/** Markets that the visitor opened, and those that were marked. They are kept in this browser alone. */

import type { Market } from './bodies.ts'
import { createStore, type Store } from './store.ts'

export type SavedMarket = Pick<
  Market,
  'conditionId' | 'symbol' | 'timeframe' | 'windowStart' | 'windowEnd' | 'source'
>

const RECENT_MAX = 12
const FAVOURITES_MAX = 50

const isSaved = (entry: Partial<SavedMarket> | null): entry is SavedMarket =>
  typeof entry?.conditionId === 'string' && typeof entry.symbol === 'string'

function read(name: string): SavedMarket[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(name) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isSaved) : []
  } catch {
    return []
  }
}

/** A list that other tabs of the browser have, too. */
function createSavedList(name: string, max: number) {
  const store: Store<readonly SavedMarket[]> = createStore<readonly SavedMarket[]>(read(name))
  window.addEventListener('storage', ({ key }) => {
    if (key === name) store.set(read(name))
  })
  const set = (markets: readonly SavedMarket[]) => {
    const kept = markets.slice(0, max)
    try {
      localStorage.setItem(name, JSON.stringify(kept))
    } catch {
      // A browser without storage keeps it as long as the page.
    }
    store.set(kept)
  }
  return { store, set }
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
