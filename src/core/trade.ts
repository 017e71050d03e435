import type { Millionths } from './decimal.ts'
import type { Outcome } from './market.ts'

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
