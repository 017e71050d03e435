/** The live side of a venue: what is sent to its market data socket, and what its messages say. */

import type { Millionths } from '#src/domain/decimal.ts'
import { type Coin, type Market, outcomes } from '#src/domain/market.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'

import type { KnownFacts } from './catalogue.ts'

/** A venue's socket of order books and trades. */
export type VenueFeed = {
  /** Where it is when no other address is configured. */
  url: string
  /** The most tokens that one connection carries. */
  tokensMax: number
  ping: Ping
  /** The first message of a connection. `hasLifecycle` asks for events of all markets. */
  subscription(assetIds: readonly string[], options: { hasLifecycle: boolean }): string
  /** Reads a message. Never throws: what cannot be read is an event of its own. */
  decode(text: string): FeedEvent[]
}

/** A text that is sent every `everyMs`, and the text that answers it. */
type Ping = { text: string; answer: string; everyMs: number }

/** A source of reference prices over a socket. */
export type SpotFeed = {
  /** Where it is when no other address is configured. */
  url: string
  ping: Ping
  /** The messages that are sent when the connection is open; `key` is the configured one. */
  hello(coins: readonly Coin[], key: string): readonly string[]
  /** The answer to a message, if it needs one. */
  answer(text: string, coins: readonly Coin[]): string | undefined
  /**
   * The code with which a message refuses something; undefined for any other message. `waitMs` is
   * how long to stay away, where nothing comes over the connection after that.
   */
  refusal(text: string): { code: string; waitMs?: number | undefined } | undefined
  /** By close code, what it says and how long to stay away. */
  closes: Readonly<Record<number, { text: string; waitMs: number }>>
  /** Reads a message; never throws. Undefined for a message that cannot be read. */
  decode(text: string, receivedMs: number): SpotTick[] | undefined
}

/** A page that has prices of coins at the ends of windows, by HTTP. */
export type PricePage = {
  /** Where it is when no other address is configured; without a slash at its end. */
  url: string
  /** The lengths of its averages (TWAP); 0 is the price of the moment. */
  windowsSeconds: readonly number[]
  /** Length of the windows, which begin at multiples of it since 1970. */
  periodMs: number
  path(asked: { coin: Coin; startMs: number; windowSeconds: number }): string
  /**
   * Reads `{"asked": …, "answer": …}`, with the answer as it came; never throws. Undefined for what
   * cannot be read.
   */
  decode(text: string, receivedMs: number): SpotTick[] | undefined
}

/** An event of a message. Times are the venue's, Unix milliseconds. */
export type FeedEvent =
  | BookEvent
  /** Levels that changed, in the order in which they are applied; of one or both tokens. */
  | { kind: 'changes'; conditionId: string; timestampMs: number; changes: readonly LevelChange[] }
  | (OfToken & {
      kind: 'trade'
      price: Millionths
      /** As the venue prints it. */
      priceText: string
      size?: Millionths | undefined
      /** The taker's side. */
      side?: 'buy' | 'sell' | undefined
      /** As `Trade` has it. */
      transactionHash?: string | undefined
    })
  | (OfToken & { kind: 'tick'; tickSize: Millionths })
  | (OfToken & { kind: 'best'; bestBid: Millionths; bestAsk: Millionths })
  /** The venue has decided which token won; undefined where it does not say so. */
  | { kind: 'resolved'; conditionId: string; winningAssetId?: string | undefined }
  /** A market was announced; the catalogue is asked for it. */
  | { kind: 'announced'; slug: string | undefined }
  /** A message of an unknown type: counted, and kept for inspection. */
  | { kind: 'unknown'; type: string }
  | FaultEvent

/** The winner of a market that was resolved; undefined where no token of it is named. */
export function resolvedFacts(
  { conditionId, coin, timeframe, assetIds }: Market,
  { winningAssetId }: Extract<FeedEvent, { kind: 'resolved' }>,
): KnownFacts | undefined {
  const winner = outcomes.find(
    (outcome) => winningAssetId !== undefined && assetIds[outcome] === winningAssetId,
  )
  return winner && { conditionId, coin, timeframe, winner, winnerSource: 'venue' }
}

/** A message that is not sound. */
export type FaultEvent = {
  kind: 'fault'
  reason: string
  conditionId?: string | undefined
  /** Whether it may have been about a book, which is unknown without it. */
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
  /** As the venue prints it, because the hash covers the text. */
  minOrderSize?: string | undefined
  /** Whether the market is one of several of an event; the hash covers it. */
  isNegRisk?: boolean | undefined
  /** Of the venue's protocol, which the hash of the second one covers. */
  version?: string | undefined
  /** As the venue prints it, because the hash covers the text; empty when nothing was traded. */
  lastTradePrice?: string | undefined
}

export type LevelChange = {
  assetId: string
  side: 'bids' | 'asks'
  price: Millionths
  /** The whole size at this price; 0 when the level is gone. */
  size: Millionths
  /** Hash of the token's book after the last change of its millisecond. */
  hash?: string | undefined
  /** Best price after the change; 0 for an empty side; undefined where the venue names none. */
  bestBid?: Millionths | undefined
  bestAsk?: Millionths | undefined
}
