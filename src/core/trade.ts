import { formatMillionths, type Millionths } from './decimal.ts'
import type { Market, Outcome } from './market.ts'
import type { Position } from './snapshot.ts'
import { toIso } from './time.ts'

/** A "last trade price" of the venue names no size and no side. */
export type Trade = {
  /** The venue's time, Unix milliseconds. */
  readonly timestampMs: number
  /** Of the outcome traded, between 0 and 1. */
  readonly price: Millionths
  /** The outcome traded; undefined where the source does not say, and never guessed. */
  readonly outcome?: Outcome | undefined
  /** Shares. */
  readonly size?: Millionths | undefined
  readonly side?: 'buy' | 'sell' | undefined
}

/** With its number among all that are held, of any market: later ones have greater numbers. */
export type StoredTrade = Trade & { readonly id: number }

export type TradeQuery = {
  market: Market
  /** Only those that are known to be of it. */
  outcome?: Outcome | undefined
  /** Unix milliseconds, inclusive. */
  fromMs?: number | undefined
  /** Exclusive. */
  toMs?: number | undefined
  /** So many, from either end; all when both are absent. */
  first?: number | undefined
  last?: number | undefined
}

/**
 * A trade's place is its time and its number among those of its millisecond, from 1. The list
 * ascends, and lacks none of its first millisecond.
 */
export function* placeTrades<Each extends Trade>(
  trades: readonly Each[],
): Generator<{ trade: Each; at: Position }> {
  let at: Position = { timestampMs: -1, id: 0 }
  for (const trade of trades) {
    const { timestampMs } = trade
    at = { timestampMs, id: timestampMs === at.timestampMs ? at.id + 1 : 1 }
    yield { trade, at }
  }
}

/** A trade as it is served. */
export function tradeText({ timestampMs, price, outcome, size, side }: Trade): string {
  const text = (value: string | undefined) => (value === undefined ? 'null' : `"${value}"`)
  const shares = size === undefined ? 'null' : formatMillionths(size)
  return `{"timestamp":"${toIso(timestampMs)}","outcome":${text(outcome)},"price":${formatMillionths(price)},"size":${shares},"side":${text(side)}}`
}
