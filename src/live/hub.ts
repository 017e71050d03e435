/** Everything that is followed, once each, whoever follows it. */
import { type Coin, factsText, type Market, statusOf } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { type Clock, DAY_MS } from '#src/domain/time.ts'
import { placeTrades } from '#src/domain/trade.ts'
import type { MarketHistory, MarketQuery } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'

import { createFollower, type Follower, type Subscriber } from './follower.ts'
import type { RowFilter, RowReader } from './rows.ts'

/** Markets of a coin are looked at so often. */
const MARKETS_MS = 500
/** Markets that are over and not resolved are watched for so long. */
export const UNRESOLVED_MS = 7_200_000
/** Markets that are listed at a time. */
export const BLOCK = 200
/** Reading and sending at one go; everybody else waits that long. */
const SLICE_MS = 1

/** `update`: more is known of a market that opened. */
export type MarketChange = { kind: 'open' | 'update' | 'closed' | 'resolved'; market: Market }
type Watcher = (change: MarketChange) => void

export type HubOptions = {
  history: MarketHistory
  read: RowReader
  clock: Clock
  /** Monotonic milliseconds. */
  timer: Clock
}

/** Makes the hub. `wake` is to be called after commits, and every few milliseconds. */
export function createHub({ history, read, clock, timer }: HubOptions) {
  const followers = new Map<string, Follower>()
  /** Those that are still to be woken. */
  let queue: Follower[] = []
  const coins = createCoinWatch({ history, clock })
  const findMarket = (conditionId: string) => history.findMarket(conditionId)

  /** The place after which everything is new. */
  function endOf(market: Market, filter: RowFilter): Position {
    if (filter.channel === 'trades') {
      const [last] = history.trades({ market, last: 1 })
      if (last === undefined) return { timestampMs: 0, id: 0 }
      const same = history.trades({ market, fromMs: last.timestampMs })
      return placeTrades(same).at(-1)?.at ?? { timestampMs: last.timestampMs, id: 0 }
    }
    const page = history.page({ market, order: 'desc', limit: 1 })
    return page.last ?? { timestampMs: 0, id: 0 }
  }

  return {
    endOf,

    /** The follower of a market, made if there is none. */
    follower(market: Market, filter: RowFilter): Follower {
      const { conditionId } = market
      const key = `${conditionId} ${filter.channel} ${filter.outcome} ${filter.depth}`
      const known = followers.get(key)
      if (known !== undefined) return known
      const options = { ...filter, conditionId, findMarket, read }
      const made = createFollower(options, endOf(market, filter))
      followers.set(key, made)
      return made
    },

    /** Ends one's following; the last one takes the follower along. */
    leave(follower: Follower, subscriber: Subscriber): void {
      if (!follower.leave(subscriber)) return
      for (const [key, each] of followers) if (each === follower) followers.delete(key)
    },

    /**
     * Open markets of a coin now, and what becomes of them, until the returned function is called.
     */
    watch: coins.watch,

    /**
     * Hands on what is new, for a moment; the next call goes on where it stopped. Returns whether
     * something is left to be handed on.
     */
    wake(): boolean {
      coins.tick()
      if (queue.length === 0) queue = [...followers.values()]
      const endMs = timer() + SLICE_MS
      const isOver = () => timer() >= endMs
      for (let follower = queue.pop(); follower !== undefined; follower = queue.pop()) {
        const hasMore = follower.wake(isOver)
        // Rows that some have come first for the others; what is still to be read waits its turn.
        if (follower.isOwing) queue.push(follower)
        else if (hasMore) queue.unshift(follower)
        if (isOver()) break
      }
      return queue.length > 0
    },

    get followers() {
      return followers.size
    },
  }
}

export type Hub = ReturnType<typeof createHub>

const endOf = ({ windowEndMs = Number.POSITIVE_INFINITY }: Market): number => windowEndMs

type CoinState = { watchers: Set<Watcher>; open: Map<string, Market>; over: Map<string, Market> }

/** Notices which markets of coins open, close and are resolved, and what is known of them since. */
function createCoinWatch({ history, clock }: Pick<HubOptions, 'history' | 'clock'>) {
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
    const pages = marketPages(history, { ...query, limit: BLOCK })
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
    watch(coin: Coin, watcher: Watcher): { open: Market[]; stop: () => void } {
      const nowMs = clock()
      const state: CoinState = states.get(coin) ?? {
        ...{ watchers: new Set(), open: listOpen(coin, nowMs), over: listOver(coin, nowMs) },
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
      if (nowMs - lookedMs < MARKETS_MS && nowMs >= lookedMs) return
      lookedMs = nowMs
      for (const [coin, state] of states) look(coin, state, nowMs)
    },
  }
}
