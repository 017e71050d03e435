/** What a venue plays: its markets, and what happens in each of them, in order of time. */
import type { Change, TokenIndex } from './book.ts'

export type VenueMarket = {
  conditionId: string
  /** The id in messages of the sockets, where that is not the catalogue's. */
  socketId?: string | undefined
  /** Of the venue's protocol, as the catalogue says it; undefined where it does not. */
  version?: string | undefined
  /** How it ends: with the winner, as `settled`, or at half each. */
  resolution?: 'resolved' | 'settled' | 'void' | undefined
  /** Whether the catalogue leaves the list of the outcomes' ids out. */
  hidesIds?: boolean | undefined
  assetIds: readonly [up: string, down: string]
  slug: string
  coin: string
  timeframe: string
  /** Unix milliseconds: `startMs` inclusive, `endMs` exclusive. */
  startMs: number
  endMs: number
  /** From when on it is in the catalogue. */
  listedMs: number
  /** Smallest step of prices at its listing, as printed. */
  tick: string
  /** The coin's prices at both ends of the window, decimal. */
  strike: string
  finalPrice: string
  winner: TokenIndex
}

/** All that happens in a market in one millisecond; a market has at most one step in each. */
export type Step = {
  atMs: number
  conditionId: string
  /** Of Up's book; Down's follow by the mirror. */
  changes: readonly Change[]
  trade?: Trade | undefined
  /** The new tick, as printed. */
  tick?: string | undefined
  /** Sent as whole books instead of changes; the first step of a market is. */
  isWhole?: boolean | undefined
  /** The venue's own hash of one token's book after the step. */
  recorded?: { token: TokenIndex; hash: string; atMs: number } | undefined
}

export type Trade = {
  token: TokenIndex
  /** Millionths. */
  price: number
  size: string
  /** Of the taker. */
  side: 'BUY' | 'SELL'
}

export type Playbook = {
  /** The markets that are listed at a moment, ended ones too, by the start of their window. */
  markets(nowMs: number): readonly VenueMarket[]
  /** Takes the earliest step that is left; undefined when none is due. */
  next(nowMs: number): Step | undefined
  /** Whether no step is left at all. */
  isOver(): boolean
  /** When its first step is. */
  startMs: number
  /** The coin's price at a moment, decimal. */
  spot(coin: string, atMs: number): string
}
