/**
 * Two books as one: an order to sell "down" at p is an order to buy "up" at 1 - p. An outcome's own
 * book and the mirror of the other book therefore show the same orders, and sizes are never added.
 * Of two states, the newer one decides which levels exist and their sizes. The older one only marks
 * the levels that both show, and is ignored if it is older by more than `SKEW_MS_MAX`.
 * Levels are united only if both states are of the same millisecond: a level that the own book
 * lacks is kept unless it would cross that book. So the result is crossed only where one of the
 * books is crossed by itself.
 */
import { type Millionths, MILLIONTHS_PER_UNIT } from './decimal.ts'
import type { Ladder, Position, Snapshot, StoredSnapshot } from './snapshot.ts'

/** The book in which a level was seen; `both` if both show it with the same size. */
export type LevelSource = 'own' | 'mirror' | 'both'

/** A `Ladder`, best level first, in prices of the requested outcome. */
export type TaggedLadder = {
  prices: readonly Millionths[]
  sizes: readonly Millionths[]
  sources: readonly LevelSource[]
}

export type ConsolidatedBook = {
  bids: TaggedLadder
  asks: TaggedLadder
  own?: Position
  mirror?: Position
  /** Milliseconds between the two states, from 0 to `SKEW_MS_MAX`; absent unless both count. */
  skewMs?: number
}

/** States that are further apart do not describe the same ladder: only the newer one counts. */
export const SKEW_MS_MAX = 1_000

/**
 * Builds one ladder from the prevailing states of both outcomes; if their times are equal, `own`
 * counts as the newer.
 */
export function consolidate(
  own: StoredSnapshot | undefined,
  mirror: StoredSnapshot | undefined,
): ConsolidatedBook | undefined {
  const seen = own === undefined ? undefined : tag(own, 'own')
  const mirrored = mirror === undefined ? undefined : tag(mirrorOf(mirror), 'mirror')
  if (seen === undefined) return mirrored
  if (mirrored === undefined || own === undefined || mirror === undefined) return seen
  const skewMs = Math.abs(own.timestampMs - mirror.timestampMs)
  const isOwnNewer = own.timestampMs >= mirror.timestampMs
  const [newer, older] = isOwnNewer ? [seen, mirrored] : [mirrored, seen]
  if (skewMs > SKEW_MS_MAX) return newer
  const isSameMoment = skewMs === 0
  const [bestBid = 0] = newer.bids.prices
  const [bestAsk = MILLIONTHS_PER_UNIT] = newer.asks.prices
  return {
    bids: merge(newer.bids, older.bids, {
      direction: -1,
      isKept: (price) => isSameMoment && price < bestAsk,
    }),
    asks: merge(newer.asks, older.asks, {
      direction: 1,
      isKept: (price) => isSameMoment && price > bestBid,
    }),
    own: positionOf(own),
    mirror: positionOf(mirror),
    skewMs,
  }
}

export const mirrorOf = <S extends Snapshot>(snapshot: S): S => ({
  ...snapshot,
  bids: mirrorLadder(snapshot.asks),
  asks: mirrorLadder(snapshot.bids),
})

const mirrorLadder = ({ prices, sizes }: Ladder): Ladder => ({
  prices: prices.map((price) => MILLIONTHS_PER_UNIT - price),
  sizes,
})

const positionOf = ({ timestampMs, id }: StoredSnapshot): Position => ({ timestampMs, id })

const tag = (snapshot: StoredSnapshot, source: 'own' | 'mirror'): ConsolidatedBook => ({
  bids: tagLadder(snapshot.bids, source),
  asks: tagLadder(snapshot.asks, source),
  [source]: positionOf(snapshot),
})

const tagLadder = ({ prices, sizes }: Ladder, source: LevelSource): TaggedLadder => ({
  prices,
  sizes,
  sources: prices.map(() => source),
})

/** `direction` is 1 for asks, -1 for bids; `isKept` filters prices only in the older ladder. */
type Side = { direction: 1 | -1; isKept: (price: Millionths) => boolean }

function merge(newer: TaggedLadder, older: TaggedLadder, side: Side): TaggedLadder {
  const prices: Millionths[] = []
  const sizes: Millionths[] = []
  const sources: LevelSource[] = []
  const keep = (ladder: TaggedLadder, index: number, source = ladder.sources[index]): void => {
    prices.push(ladder.prices[index] ?? 0)
    sizes.push(ladder.sizes[index] ?? 0)
    sources.push(source ?? 'own')
  }
  // Every price is better than the one after the last level.
  const worst = side.direction * Number.POSITIVE_INFINITY
  let fresh = 0
  let old = 0
  while (fresh < newer.prices.length || old < older.prices.length) {
    const freshPrice = newer.prices[fresh] ?? worst
    const oldPrice = older.prices[old] ?? worst
    const distance = (freshPrice - oldPrice) * side.direction
    if (distance > 0) {
      if (side.isKept(oldPrice)) keep(older, old)
      old++
    } else if (distance < 0) {
      keep(newer, fresh++)
    } else {
      const isAgreed = newer.sizes[fresh] === older.sizes[old]
      keep(newer, fresh, isAgreed ? 'both' : newer.sources[fresh])
      fresh++
      old++
    }
  }
  return { prices, sizes, sources }
}
