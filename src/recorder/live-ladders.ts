import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Ladder, Levels } from '#src/domain/snapshot.ts'
import type { LevelChange } from '#src/venue/feed.ts'

/** One side of a book. Shared arrays are copied before they change. */
type Side = { ladder: { prices: Millionths[]; sizes: Millionths[] }; isShared: boolean }

/** The two sides of a book that is changed level by level. */
export class LiveLadders {
  readonly #sides: Record<keyof Levels, Side> = {
    bids: { ladder: { prices: [], sizes: [] }, isShared: false },
    asks: { ladder: { prices: [], sizes: [] }, isShared: false },
  }

  /** Replaces both sides with arrays that the caller must not change afterwards. */
  replace({ bids, asks }: Levels): void {
    this.#sides.bids = { ladder: bids as Side['ladder'], isShared: true }
    this.#sides.asks = { ladder: asks as Side['ladder'], isShared: true }
  }

  /** Sets the total size at a price; 0 removes the level. */
  set(key: keyof Levels, price: Millionths, size: Millionths): void {
    const side = this.#sides[key]
    const { prices, sizes } = side.ladder
    const index = findIndex(prices, price, key === 'asks')
    const isHeld = prices[index] === price
    if (isHeld ? sizes[index] === size : size === 0) return
    if (side.isShared) {
      side.ladder = { prices: prices.slice(), sizes: sizes.slice() }
      side.isShared = false
    }
    const { ladder } = side
    if (isHeld && size !== 0) ladder.sizes[index] = size
    else if (isHeld) {
      ladder.prices.splice(index, 1)
      ladder.sizes.splice(index, 1)
    } else {
      ladder.prices.splice(index, 0, price)
      ladder.sizes.splice(index, 0, size)
    }
  }

  /** The current sides as immutable arrays; an unchanged side is the same array as before. */
  share(): Levels {
    const { bids, asks } = this.#sides
    bids.isShared = true
    asks.isShared = true
    return { bids: bids.ladder, asks: asks.ladder }
  }
}

/** Finds the index of a price, or its insertion point, by bisection; best prices come first. */
function findIndex(prices: readonly Millionths[], price: Millionths, isAscending: boolean): number {
  let low = 0
  let high = prices.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const held = prices[middle] ?? 0
    if (isAscending ? held < price : held > price) low = middle + 1
    else high = middle
  }
  return low
}

/** The best bid; 0 for an empty side. */
const bestBid = ({ bids }: Levels): Millionths => bids.prices[0] ?? 0
const bestAsk = ({ asks }: Levels): Millionths => asks.prices[0] ?? 0

/** True if the best bid is at or above the best ask. */
export const isCrossed = (levels: Levels): boolean =>
  bestAsk(levels) !== 0 && bestBid(levels) >= bestAsk(levels)

/**
 * True if the books mirror each other like the outcomes of a market: a bid in one is an ask in the
 * other.
 */
export const areMirrored = (a: Levels, b: Levels): boolean =>
  isReflection(a.bids, b.asks) && isReflection(a.asks, b.bids)

const isReflection = (a: Ladder, b: Ladder): boolean =>
  a.prices.length === b.prices.length &&
  a.prices.every(
    (price, index) =>
      price + (b.prices[index] ?? 0) === MILLIONTHS_PER_UNIT && a.sizes[index] === b.sizes[index],
  )

/**
 * True if the best prices are those named by the venue. If it named none, a crossed book does not
 * agree.
 */
export function agrees(named: Pick<LevelChange, 'bestBid' | 'bestAsk'>, levels: Levels): boolean {
  if (named.bestBid === undefined && named.bestAsk === undefined) return !isCrossed(levels)
  return (
    (named.bestBid ?? bestBid(levels)) === bestBid(levels) &&
    (named.bestAsk ?? bestAsk(levels)) === bestAsk(levels)
  )
}
