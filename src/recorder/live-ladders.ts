import { type Millionths, MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'

export type Levels = Pick<Snapshot, 'bids' | 'asks'>

/** One side; its arrays are copied before they change when somebody else has them. */
type Side = { ladder: { prices: Millionths[]; sizes: Millionths[] }; isShared: boolean }

/** The two sides of a book that changes level by level. */
export class LiveLadders {
  readonly #sides: Record<keyof Levels, Side> = { bids: emptySide(), asks: emptySide() }

  /** Takes whole sides, which nobody may change from then on. */
  replace({ bids, asks }: Levels): void {
    this.#sides.bids = toSide(bids)
    this.#sides.asks = toSide(asks)
  }

  /** Makes `size` the whole size at a price; 0 takes the level away. */
  set(key: keyof Levels, price: Millionths, size: Millionths): void {
    const side = this.#sides[key]
    const { prices, sizes } = side.ladder
    const at = placeOf(prices, price, key === 'asks')
    const isHeld = prices[at] === price
    if (isHeld ? sizes[at] === size : size === 0) return
    const own = ownLadder(side)
    if (isHeld && size !== 0) own.sizes[at] = size
    else if (isHeld) {
      own.prices.splice(at, 1)
      own.sizes.splice(at, 1)
    } else {
      own.prices.splice(at, 0, price)
      own.sizes.splice(at, 0, size)
    }
  }

  /** Both sides as they are now; they never change, and a side that did not change is the same. */
  share(): Levels {
    const { bids, asks } = this.#sides
    bids.isShared = true
    asks.isShared = true
    return { bids: bids.ladder, asks: asks.ladder }
  }
}

const emptySide = (): Side => ({ ladder: { prices: [], sizes: [] }, isShared: false })

/** What is shared is copied before it changes. */
const toSide = (ladder: Ladder): Side => ({ ladder: ladder as Side['ladder'], isShared: true })

function ownLadder(side: Side): Side['ladder'] {
  if (side.isShared) {
    side.ladder = { prices: side.ladder.prices.slice(), sizes: side.ladder.sizes.slice() }
    side.isShared = false
  }
  return side.ladder
}

/** Index of a price, or of where it belongs, best first, by bisection. */
function placeOf(prices: readonly Millionths[], price: Millionths, isAscending: boolean): number {
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

/** Best prices; 0 for an empty side. */
const bestBidOf = ({ bids }: Levels): Millionths => bids.prices[0] ?? 0
const bestAskOf = ({ asks }: Levels): Millionths => asks.prices[0] ?? 0

/** Whether somebody bids what another asks, or more. */
export const isCrossed = (levels: Levels): boolean =>
  bestAskOf(levels) !== 0 && bestBidOf(levels) >= bestAskOf(levels)

/** Whether two books are those of a market's outcomes: a bid for one is an ask for the other. */
export const areMirrored = (a: Levels, b: Levels): boolean =>
  isReflection(a.bids, b.asks) && isReflection(a.asks, b.bids)

const isReflection = (a: Ladder, b: Ladder): boolean =>
  a.prices.length === b.prices.length &&
  a.prices.every(
    (price, at) =>
      price + (b.prices[at] ?? 0) === MILLIONTHS_PER_UNIT && a.sizes[at] === b.sizes[at],
  )

/** The best prices that the venue names, as far as it does. */
export type Tops = { bestBid: Millionths | undefined; bestAsk: Millionths | undefined }

/** Whether the best prices are those that the venue names. Crossed are only those that it does. */
export function agrees({ bestBid, bestAsk }: Tops, levels: Levels): boolean {
  if (bestBid === undefined && bestAsk === undefined) return !isCrossed(levels)
  return (
    (bestBid ?? bestBidOf(levels)) === bestBidOf(levels) &&
    (bestAsk ?? bestAskOf(levels)) === bestAskOf(levels)
  )
}
