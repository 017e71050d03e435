/** Prices of coins as they are recorded, in the order of their ids, for whoever follows them. */
import type { Coin } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { seriesOf, type StoredTick } from '#src/core/spot.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** The table is looked at so often while there are followers. */
const LOOK_MS = 50
/** Sources are not equally late: a price may be recorded so long after one of a later time. */
const LATE_MS = 30_000
const TICKS_MAX = 5000
/** Among so many of the last prices are the last of every series that goes on. */
const LATEST_TICKS = 64

export type SpotFilter = {
  coin: Coin
  source?: string | undefined
  windowSeconds?: number | undefined
}
export type SpotSubscriber = (ticks: readonly StoredTick[]) => void
export type SpotFollowing = { look: () => void; leave: () => void }
type Spot = Pick<MarketHistory, 'spot'>

export function createSpotWatch(history: Spot, timer: Clock) {
  const followers = new Map<string, ReturnType<typeof createSpotFollower>>()
  let lookedMs = Number.NEGATIVE_INFINITY
  return {
    /** Hands on prices that are recorded from now on; `look` those that it was not time for yet. */
    follow(filter: SpotFilter, subscriber: SpotSubscriber): SpotFollowing {
      const key = `${filter.coin} ${filter.source} ${filter.windowSeconds}`
      const follower = followers.get(key) ?? createSpotFollower(history, filter)
      followers.set(key, follower)
      // What is recorded already is new to the others alone.
      follower.look()
      follower.subscribers.add(subscriber)
      return {
        look: follower.look,
        leave() {
          follower.subscribers.delete(subscriber)
          if (follower.subscribers.size === 0) followers.delete(key)
        },
      }
    },

    tick(): void {
      const nowMs = timer()
      if (nowMs - lookedMs < LOOK_MS) return
      lookedMs = nowMs
      for (const follower of followers.values()) follower.look()
    },
  }
}

export type SpotWatch = ReturnType<typeof createSpotWatch>

function createSpotFollower(history: Spot, filter: SpotFilter) {
  const subscribers = new Set<SpotSubscriber>()
  let [newestMs, newestId] = [LATE_MS, 0]

  function readNew(): StoredTick[] {
    const range = { fromMs: newestMs - LATE_MS, order: 'asc', limit: TICKS_MAX } as const
    const found = history.spot({ ...filter, ...range }).filter(({ id }) => id > newestId)
    newestMs = Math.max(newestMs, found.at(-1)?.timestampMs ?? 0)
    found.sort((a, b) => a.id - b.id)
    newestId = found.at(-1)?.id ?? newestId
    return found
  }

  newestMs = history.spot({ ...filter, order: 'desc', limit: 1 })[0]?.timestampMs ?? LATE_MS
  readNew()
  return {
    subscribers,
    look(): void {
      const found = readNew()
      if (found.length > 0) for (const subscriber of [...subscribers]) subscriber(found)
    },
  }
}

/** The last price of each series, before `toMs` if that is given. */
export function latestTicks(
  history: Spot,
  filter: SpotFilter & { toMs?: number | undefined },
): StoredTick[] {
  const latest = new Map<string, StoredTick>()
  for (const tick of history.spot({ ...filter, order: 'desc', limit: LATEST_TICKS })) {
    const series = seriesOf(tick)
    if (!latest.has(series)) latest.set(series, tick)
  }
  return [...latest.values()].reverse()
}

/** Prices after a place, in the order of the route. */
export const ticksAfter = (
  history: Spot,
  filter: SpotFilter & { toMs?: number | undefined },
  { after, limit }: { after: Position; limit: number },
): StoredTick[] => history.spot({ ...filter, after, order: 'asc', limit })
