/** Prices of coins as they are recorded, for whoever follows them. */
import type { Coin } from '#src/domain/market.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import { seriesOf, type SpotQuery, type StoredTick } from '#src/domain/spot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** The table is looked at so often while there are followers. */
const LOOK_MS = 50
/** Sources are not equally late: a price may be recorded so long after one of a later time. */
const LATE_MS = 30_000
/** Read at one go, and handed on at one look. */
const PAGE_TICKS = 200
const LOOK_TICKS = 5000
/** Among so many of the last prices are the last of every series that goes on. */
const LATEST_TICKS = 64

export type SpotFilter = {
  coin: Coin
  source?: string | undefined
  windowSeconds?: number | undefined
}
/** Who is there has all prices but those after the position, and those with an id above `seen`. */
export type SpotPlace = Position & { seen: number }
export type PlacedTick = { tick: StoredTick; place: SpotPlace }
export type SpotSubscriber = (ticks: readonly PlacedTick[]) => void
export type SpotFollowing = { place: () => SpotPlace; look: () => void; leave: () => void }
export type SpotReads = Pick<MarketHistory, 'spot' | 'lastSpotId'>

/**
 * What somebody at a place has not got of prices with ids up to one that is held: first those that
 * were recorded late, by id, then the others by time. What is recorded meanwhile changes nothing.
 */
export function* ticksSince(
  history: SpotReads,
  filter: SpotFilter,
  { place, uptoId }: { place: SpotPlace; uptoId: number },
): Generator<PlacedTick, void> {
  const { timestampMs, id, seen } = place
  const times = { fromMs: Math.max(0, timestampMs - LATE_MS), toMs: timestampMs + 1 }
  const late = [...ticksIn(history, { ...filter, ...times, aboveId: seen, uptoId })]
  for (const tick of late.sort((a, b) => a.id - b.id))
    if (comparePositions(tick, place) <= 0)
      yield { tick, place: { timestampMs, id, seen: tick.id } }
  for (const tick of ticksIn(history, { ...filter, after: place, uptoId }))
    yield { tick, place: { timestampMs: tick.timestampMs, id: tick.id, seen: uptoId } }
}

/** Ascending, page by page. */
function* ticksIn(
  history: SpotReads,
  query: Omit<SpotQuery, 'order' | 'limit'>,
): Generator<StoredTick, void> {
  for (let { after } = query; ;) {
    const page = history.spot({ ...query, after, order: 'asc', limit: PAGE_TICKS })
    yield* page
    if (page.length < PAGE_TICKS) return
    after = page.at(-1)
  }
}

export function createSpotWatch(history: SpotReads, timer: Clock) {
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
        ...{ place: follower.place, look: follower.look },
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

function createSpotFollower(history: SpotReads, filter: SpotFilter) {
  const subscribers = new Set<SpotSubscriber>()
  const seen = history.lastSpotId()
  const [last] = history.spot({ ...filter, order: 'desc', limit: 1 })
  let place: SpotPlace = { timestampMs: last?.timestampMs ?? 0, id: last?.id ?? 0, seen }
  let hasMore = false

  function readNew(): PlacedTick[] {
    const uptoId = history.lastSpotId()
    if (uptoId === place.seen && !hasMore) return []
    const found = [...ticksSince(history, filter, { place, uptoId }).take(LOOK_TICKS)]
    hasMore = found.length === LOOK_TICKS
    place = found.at(-1)?.place ?? place
    if (!hasMore) place = { ...place, seen: uptoId }
    return found
  }

  return {
    subscribers,
    place: () => place,
    look(): void {
      const found = readNew()
      if (found.length > 0) for (const subscriber of [...subscribers]) subscriber(found)
    },
  }
}

/** The last price of each series, before `toMs` if that is given. */
export function latestTicks(
  history: Pick<SpotReads, 'spot'>,
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
  history: Pick<SpotReads, 'spot'>,
  filter: SpotFilter & { toMs?: number | undefined },
  { after, limit }: { after: Position; limit: number },
): StoredTick[] => history.spot({ ...filter, after, order: 'asc', limit })
