/** The live side of a venue: the messages that its market data socket takes and sends. */

import type { Millionths } from '#src/domain/decimal.ts'
import { type Coin, type Market, outcomes } from '#src/domain/market.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'

import type { KnownFacts } from './catalogue.ts'

/** A venue's socket of order books and trades. */
export type VenueFeed = {
  /** URL, unless another one is configured. */
  url: string
  /** Maximum number of tokens per connection. */
  tokensMax: number
  ping: Ping
  /** The first message of a connection. `hasLifecycle` subscribes to events of all markets. */
  subscription(assetIds: readonly string[], options: { hasLifecycle: boolean }): string
  /** Decodes a message. Never throws: a message that cannot be decoded is an event, too. */
  decode(text: string): FeedEvent[]
}

/** A text that is sent every `everyMs`, and the expected answer. */
type Ping = { text: string; answer: string; everyMs: number }

/** A socket with reference prices. */
export type SpotFeed = {
  /** URL, unless another one is configured. */
  url: string
  ping: Ping
  /** The messages to send when the connection opens; `key` is the configured one. */
  hello(coins: readonly Coin[], key: string): readonly string[]
  /** The reply to a message, if it needs one. */
  answer(text: string, coins: readonly Coin[]): string | undefined
  /**
   * The error code of a message that refuses a request; undefined for any other message. `waitMs`
   * is how long to stay disconnected, if the connection is useless after that.
   */
  refusal(text: string): { code: string; waitMs?: number | undefined } | undefined
  /** For each close code, its meaning and how long to stay disconnected. */
  closes: Readonly<Record<number, { text: string; waitMs: number }>>
  /** Decodes a message; never throws. Undefined for a message that cannot be decoded. */
  decode(text: string, receivedMs: number): SpotTick[] | undefined
}

/** An HTTP page with the prices of coins at the ends of windows. */
export type PricePage = {
  /** URL without a trailing slash, unless another one is configured. */
  url: string
  /** Averaging periods (TWAP) in seconds; 0 is the spot price. */
  windowsSeconds: readonly number[]
  /** Length of the windows, which begin at its multiples since 1970. */
  periodMs: number
  path(asked: { coin: Coin; startMs: number; windowSeconds: number }): string
  /**
   * Decodes `{"asked": …, "answer": …}`, with the answer as received; never throws. Undefined if it
   * cannot be decoded.
   */
  decode(text: string, receivedMs: number): SpotTick[] | undefined
}

/** An event of a message. Times are the venue's, in Unix milliseconds. */
export type FeedEvent =
  | BookEvent
  /** Levels that changed, in the order in which they apply; for one or both tokens. */
  | { kind: 'changes'; conditionId: string; timestampMs: number; changes: readonly LevelChange[] }
  | (OfToken & {
      kind: 'trade'
      price: Millionths
      /** As printed by the venue. */
      priceText: string
      size?: Millionths | undefined
      /** The taker's side. */
      side?: 'buy' | 'sell' | undefined
      /** As in `Trade`. */
      transactionHash?: string | undefined
    })
  | (OfToken & { kind: 'tick'; tickSize: Millionths })
  | (OfToken & { kind: 'best'; bestBid: Millionths; bestAsk: Millionths })
  /** The venue has decided which token won; undefined if it does not name one. */
  | { kind: 'resolved'; conditionId: string; winningAssetId?: string | undefined }
  /** A new market; the catalogue has its details. */
  | { kind: 'announced'; slug: string | undefined }
  /** A message of an unknown type: counted, and kept for inspection. */
  | { kind: 'unknown'; type: string }
  | FaultEvent

/** The winner of a resolved market; undefined if none of its tokens is named. */
export function resolvedFacts(
  { conditionId, coin, timeframe, assetIds }: Market,
  { winningAssetId }: Extract<FeedEvent, { kind: 'resolved' }>,
): KnownFacts | undefined {
  const winner = outcomes.find(
    (outcome) => winningAssetId !== undefined && assetIds[outcome] === winningAssetId,
  )
  return winner && { conditionId, coin, timeframe, winner, winnerSource: 'venue' }
}

/** A message that is invalid. */
export type FaultEvent = {
  kind: 'fault'
  reason: string
  conditionId?: string | undefined
  /** True if the message may have been about a book, whose state is then unknown. */
  isOfBook: boolean
}

type OfToken = { conditionId: string; assetId: string; timestampMs: number }

/** A whole book, which replaces the token's levels. */
export type BookEvent = OfToken & {
  kind: 'book'
  bids: Ladder
  asks: Ladder
  /** 40 lower-case hex digits. */
  hash?: string | undefined
  tickSize?: Millionths | undefined
  /** As printed by the venue, because the hash covers the text. */
  minOrderSize?: string | undefined
  /** True if the market is one of several of an event; the hash covers it. */
  isNegRisk?: boolean | undefined
  /** Version of the venue's protocol; in version 2 the hash covers it. */
  version?: string | undefined
  /** As printed by the venue, because the hash covers the text; empty if nothing was traded. */
  lastTradePrice?: string | undefined
}

export type LevelChange = {
  assetId: string
  side: 'bids' | 'asks'
  price: Millionths
  /** The total size at this price; 0 if the level is gone. */
  size: Millionths
  /** Hash of the token's book after the last change of its millisecond. */
  hash?: string | undefined
  /** Best prices after the change; 0 for an empty side; undefined if the venue sends none. */
  bestBid?: Millionths | undefined
  bestAsk?: Millionths | undefined
}
