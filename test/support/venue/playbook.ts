/** The script of a venue: its markets, and their events in order of time. */
import type { Change, TokenIndex } from './book.ts'

export type VenueMarket = {
  conditionId: string
  /** The id in messages of the sockets, if it differs from the catalogue's. */
  socketId?: string | undefined
  /** The version of the venue's protocol in the catalogue; undefined if none is stated. */
  version?: string | undefined
  /** Its end: with the winner, as `settled`, or at half each. */
  resolution?: 'resolved' | 'settled' | 'void' | undefined
  /** True if the catalogue omits the list of the outcomes' ids. */
  hidesIds?: boolean | undefined
  assetIds: readonly [up: string, down: string]
  slug: string
  coin: string
  timeframe: string
  /** Unix milliseconds: `startMs` inclusive, `endMs` exclusive. */
  startMs: number
  endMs: number
  /** The time of its listing in the catalogue. */
  listedMs: number
  /** Smallest price step at its listing, as printed. */
  tick: string
  /** The coin's prices at both ends of the window, decimal. */
  strike: string
  finalPrice: string
  winner: TokenIndex
}

/** All events of a market in one millisecond; a market has at most one step in each. */
export type Step = {
  atMs: number
  conditionId: string
  /** Changes of Up's book; Down's mirror them. */
  changes: readonly Change[]
  trade?: Trade | undefined
  /** The new tick, as printed. */
  tick?: string | undefined
  /** Sent as whole books instead of changes, like the first step of a market. */
  isWhole?: boolean | undefined
  /** The venue's own hash of one token's book after the step. */
  recorded?: { token: TokenIndex; hash: string; atMs: number } | undefined
}

export type Trade = {
  token: TokenIndex
  /** In millionths. */
  price: number
  size: string
  /** The side of the taker. */
  side: 'BUY' | 'SELL'
}

export type Playbook = {
  /** The listed markets at a moment, including ended ones, by the start of their window. */
  markets(nowMs: number): readonly VenueMarket[]
  /** Takes the earliest remaining step; undefined if none is due. */
  next(nowMs: number): Step | undefined
  /** True if no step remains. */
  isOver(): boolean
  /** The time of its first step. */
  startMs: number
  /** The coin's price at a moment, decimal. */
  spot(coin: string, atMs: number): string
}
