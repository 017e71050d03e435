/** Watches which markets of a coin open, close, resolve and change. */

import { type Coin, factsFingerprint, type Market, statusOf } from '#src/domain/market.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory, MarketQuery } from '#src/history/history.ts'
import { type MarketLists, marketPages } from '#src/history/reads/market-pages.ts'

/** Polling interval for the markets of a coin. */
const LOOK_MS = 500
/** Time for which markets that closed without a result are watched. */
export const UNRESOLVED_MS = 7_200_000
/** Number of markets listed at a time. */
export const MARKETS_A_READ = 200

/** `update`: more facts are known of a market that opened. */
export type MarketChange = { kind: 'open' | 'update' | 'closed' | 'resolved'; market: Market }

const sinceEnd = ({ windowEndMs = Number.POSITIVE_INFINITY }: Market, nowMs: number): number =>
  nowMs - windowEndMs

/** `over` are markets that closed and are not resolved. */
type CoinState = {
  watchers: Set<(change: MarketChange) => void>
  open: Map<string, Market>
  over: Map<string, Market>
}

/** `tick` must be called every few milliseconds. */
export function createMarketWatch(
  history: MarketLists & Pick<MarketHistory, 'findMarket'>,
  clock: Clock,
) {
  const states = new Map<Coin, CoinState>()
  let lookedMs = 0

  const listOpen = (coin: Coin, nowMs: number) => list({ coin, nowMs, status: 'open' })

  /** Markets that closed before the watch began, and whose winner may still be announced. */
  function listOver(coin: Coin, nowMs: number): Map<string, Market> {
    // The longest window is a day.
    const fromMs = Math.max(0, nowMs - UNRESOLVED_MS - DAY_MS)
    const closed = [...list({ coin, nowMs, status: 'closed', fromMs })]
    return new Map(closed.filter(([, market]) => sinceEnd(market, nowMs) <= UNRESOLVED_MS))
  }

  function list(query: Omit<MarketQuery, 'limit'>): Map<string, Market> {
    const pages = marketPages(history, { ...query, limit: MARKETS_A_READ })
    return new Map([...pages].flat().map((market) => [market.conditionId, market]))
  }

  function look(coin: Coin, state: CoinState, nowMs: number): void {
    const { open, over } = state
    const openNow = listOpen(coin, nowMs)
    const changes: MarketChange[] = []
    for (const [id, market] of openNow) {
      const known = open.get(id)
      if (known === undefined) changes.push({ kind: 'open', market })
      else if (factsFingerprint(market) !== factsFingerprint(known))
        changes.push({ kind: 'update', market })
    }
    for (const [id, known] of [...open, ...over]) {
      if (openNow.has(id)) continue
      const market = history.findMarket(id) ?? known
      const isResolved = statusOf(market, nowMs) === 'resolved'
      let kind: MarketChange['kind'] = over.has(id) ? 'update' : 'closed'
      if (isResolved) kind = 'resolved'
      if (kind !== 'update' || factsFingerprint(market) !== factsFingerprint(known)) {
        over.set(id, market)
        changes.push({ kind, market })
      }
      if (isResolved || sinceEnd(known, nowMs) > UNRESOLVED_MS) over.delete(id)
    }
    state.open = openNow
    for (const watcher of [...state.watchers]) changes.forEach(watcher)
  }

  return {
    /** Returns the open markets of a coin, and reports changes from now on, until `stop`. */
    watch(
      coin: Coin,
      watcher: (change: MarketChange) => void,
    ): { open: Market[]; stop: () => void } {
      const nowMs = clock()
      const state: CoinState = states.get(coin) ?? {
        watchers: new Set(),
        open: listOpen(coin, nowMs),
        over: listOver(coin, nowMs),
      }
      states.set(coin, state)
      state.watchers.add(watcher)
      return {
        open: [...state.open.values()],
        stop() {
          state.watchers.delete(watcher)
          if (state.watchers.size === 0) states.delete(coin)
        },
      }
    },

    tick(): void {
      const nowMs = clock()
      if (nowMs - lookedMs < LOOK_MS && nowMs >= lookedMs) return
      lookedMs = nowMs
      for (const [coin, state] of states) look(coin, state, nowMs)
    },
  }
}

export type MarketWatch = ReturnType<typeof createMarketWatch>
