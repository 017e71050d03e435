/**
 * Bounds of the fill of a resting order, from trades through its price and trades at its price.
 * Shrinking depth proves nothing, because orders may be cancelled.
 */
import { type Millionths, MILLIONTHS_PER_UNIT } from './decimal.ts'
import { type Outcome, outcomes } from './market.ts'
import type { Trade } from './trade.ts'

export type RestingOrder = {
  outcome: Outcome
  side: 'buy' | 'sell'
  price: Millionths
  /** Shares. */
  size: Millionths
  /** Arrival in the book, Unix milliseconds. */
  placedMs: number
}

export type Bound = {
  /** Shares filled. */
  filled: Millionths
  firstMs: number | undefined
  completeMs: number | undefined
}

export type Bounds = {
  /** The order is behind everything that the book shows at the price. */
  lower: Bound
  /** The order is first in the queue. */
  upper: Bound
  /** Shares traded through the price, and at the price, against the side of the order. */
  through: Millionths
  at: Millionths
  /** Number of trades whose outcome, side or size is unknown, and which may have met the order. */
  unclear: number
}

/** `isClear` is false if the outcome or the side of the trade is unknown. */
type Meeting = { kind: 'through' | 'at'; isClear: boolean } | undefined

/**
 * `ahead` is the size at the price when the order arrives; undefined if the book is unknown. Trades
 * must be in order, none before `placedMs`.
 */
export function boundsOf(
  order: RestingOrder,
  ahead: Millionths | undefined,
  trades: Iterable<Trade>,
): Bounds {
  const lower = createBound(order.size)
  const upper = createBound(order.size)
  let queue = ahead ?? Number.POSITIVE_INFINITY
  let through = 0
  let at = 0
  let unclear = 0
  for (const trade of trades) {
    const meeting = meetingOf(order, trade)
    if (meeting === undefined) continue
    const { timestampMs, size } = trade
    if (!meeting.isClear || size === undefined) {
      unclear++
      // A trade through the price fills the whole order at most.
      upper.fill(size ?? order.size, timestampMs)
      continue
    }
    upper.fill(size, timestampMs)
    if (meeting.kind === 'through') through += size
    else at += size
    // A trade in the same millisecond may precede the order.
    if (timestampMs <= order.placedMs) continue
    if (meeting.kind === 'through') {
      // Nothing was left ahead of the order.
      queue = 0
      lower.fill(size, timestampMs)
    } else {
      const passed = Math.min(queue, size)
      queue -= passed
      lower.fill(size - passed, timestampMs)
    }
  }
  return { lower: lower.bound, upper: upper.bound, through, at, unclear }
}

function createBound(size: Millionths) {
  const bound: Bound = { filled: 0, firstMs: undefined, completeMs: undefined }
  return {
    bound,
    fill(shares: Millionths, atMs: number): void {
      const taken = Math.min(shares, size - bound.filled)
      if (taken <= 0) return
      bound.firstMs ??= atMs
      bound.filled += taken
      if (bound.filled === size) bound.completeMs = atMs
    },
  }
}

/** Undefined if the trade cannot meet the order. A trade of the other outcome counts as its mirror. */
function meetingOf(order: RestingOrder, trade: Trade): Meeting {
  const { outcome, side, price } = trade
  const isClear = outcome !== undefined && side !== undefined
  for (const each of outcome === undefined ? outcomes : [outcome]) {
    const isOwn = each === order.outcome
    // A buyer of the other outcome sells this one.
    const taker = side === undefined || isOwn ? side : opposite[side]
    if (taker === order.side) continue
    const own = isOwn ? price : MILLIONTHS_PER_UNIT - price
    const beyond = order.side === 'buy' ? order.price - own : own - order.price
    if (beyond >= 0) return { kind: beyond > 0 ? 'through' : 'at', isClear }
  }
  return undefined
}

const opposite = { buy: 'sell', sell: 'buy' } as const
