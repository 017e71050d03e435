/** Which markets of coins open, close and are resolved, and what is known of them since. */
import { type Coin, factsText, type Market, statusOf } from '#src/domain/market.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory, MarketQuery } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'

/** Markets of a coin are looked at so often. */
const LOOK_MS = 500
/** Markets that are over and not resolved are watched for so long. */
export const UNRESOLVED_MS = 7_200_000
/** Markets that are listed at a time. */
export const MARKETS_A_READ = 200

/** `update`: more is known of a market that opened. */
export type MarketChange = { kind: 'open' | 'update' | 'closed' | 'resolved'; market: Market }
type Watcher = (change: MarketChange) => void

const endOf = ({ windowEndMs = Number.POSITIVE_INFINITY }: Market): number => windowEndMs

type CoinState = { watchers: Set<Watcher>; open: Map<string, Market>; over: Map<string, Market> }

/** `tick` is to be called every few milliseconds. */
export function createMarketWatch(
  history: Pick<MarketHistory, 'findMarket' | 'listMarkets'>,
  clock: Clock,
) {
  const states = new Map<Coin, CoinState>()
  let lookedMs = 0

  const listOpen = (coin: Coin, nowMs: number) => list({ coin, nowMs, status: 'open' })

  /** Those that closed before anybody watched, and whose winner may still be announced. */
  function listOver(coin: Coin, nowMs: number): Map<string, Market> {
    // The longest window is a day.
    const fromMs = Math.max(0, nowMs - UNRESOLVED_MS - DAY_MS)
    const closed = [...list({ coin, nowMs, status: 'closed', fromMs })]
    return new Map(closed.filter(([, market]) => nowMs - endOf(market) <= UNRESOLVED_MS))
  }

  function list(query: Omit<MarketQuery, 'limit'>): Map<string, Market> {
    const pages = marketPages(history, { ...query, limit: MARKETS_A_READ })
    return new Map([...pages].flat().map((market) => [market.conditionId, market]))
  }

  /** What became of a market that was open; undefined while that is not known. */
  function becomeOf(known: Market, nowMs: number, { over }: CoinState): MarketChange | undefined {
    const market = history.findMarket(known.conditionId) ?? known
    if (statusOf(market, nowMs) === 'resolved') return { kind: 'resolved', market }
    if (!over.has(market.conditionId)) return { kind: 'closed', market }
    return factsText(market) === factsText(known) ? undefined : { kind: 'update', market }
  }

  /** Of markets that were open before `now`. */
  function* endings(state: CoinState, now: CoinState['open'], nowMs: number) {
    const { open, over } = state
    for (const [id, known] of [...open, ...over]) {
      if (now.has(id)) continue
      const change = becomeOf(known, nowMs, state)
      if (change) over.set(id, change.market)
      if (change?.kind === 'resolved' || nowMs - endOf(known) > UNRESOLVED_MS) over.delete(id)
      if (change) yield change
    }
  }

  function look(coin: Coin, state: CoinState, nowMs: number): void {
    const now = listOpen(coin, nowMs)
    const changes = [...now.values()].flatMap((market): MarketChange[] => {
      const known = state.open.get(market.conditionId)
      if (known === undefined) return [{ kind: 'open', market }]
      return factsText(market) === factsText(known) ? [] : [{ kind: 'update', market }]
    })
    changes.push(...endings(state, now, nowMs))
    state.open = now
    for (const watcher of [...state.watchers]) changes.forEach(watcher)
  }

  return {
    /** Open markets of a coin now, and what becomes of them from now on, until `stop`. */
    watch(coin: Coin, watcher: Watcher): { open: Market[]; stop: () => void } {
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
