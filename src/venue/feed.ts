/** The live side of a venue: what is sent to its market data socket, and what its messages say. */
import type { Millionths } from '#src/domain/decimal.ts'
import type { Coin } from '#src/domain/market.ts'
import type { Ladder } from '#src/domain/snapshot.ts'
import type { SpotTick } from '#src/domain/spot.ts'

/** A venue's socket of order books and trades. */
export type VenueFeed = {
  /** Where it is when no other address is configured. */
  url: string
  /** Tokens that one connection carries at most. */
  tokensMax: number
  ping: Ping
  /** The first message of a connection. With `hasLifecycle` it carries events of all markets. */
  subscription(assetIds: readonly string[], options: { hasLifecycle: boolean }): string
  /** Reads a message. Never throws: what cannot be read is an event of its own. */
  decode(text: string): FeedEvent[]
}

/** A text that is sent every `everyMs`, and the text that answers it. */
export type Ping = { text: string; answer: string; everyMs: number }

/** A source of reference prices over a socket. */
export type SpotFeed = {
  /** Where it is when no other address is configured. */
  url: string
  ping: Ping
  /** What is sent when the connection is open; `key` is what the feed was configured with. */
  hello(coins: readonly Coin[], key: string): readonly string[]
  /** What is to be sent in answer to a message, once. */
  answer(text: string, coins: readonly Coin[]): string | undefined
  /** What a message refuses; undefined for any other message. */
  refusal(text: string): SpotRefusal | undefined
  /** How the feed ends connections: what its close codes say, and how long to stay away then. */
  closes: Readonly<Record<number, { text: string; waitMs: number }>>
  /** Reads a message; never throws. Undefined for what is not of prices, and cannot be read. */
  decode(text: string, receivedMs: number): SpotTick[] | undefined
}

export type SpotRefusal = {
  /** As the feed names it. */
  code: string
  /** How long to stay away, where nothing comes over the connection then. */
  waitMs?: number | undefined
}

/** A page that has prices of coins at the ends of windows, by HTTP. */
export type PricePage = {
  /** Where it is when no other address is configured; without a slash at its end. */
  url: string
  /** Of averages that it has (TWAP), and 0 for prices of the moment. */
  windowsSeconds: readonly number[]
  /** Length of the windows, which begin at multiples of it since 1970. */
  periodMs: number
  path(asked: PageQuestion): string
  /**
   * Reads `{"asked": …, "answer": …}`, the answer as it came; never throws. Undefined for what
   * cannot be read.
   */
  decode(text: string, receivedMs: number): SpotTick[] | undefined
}

export type PageQuestion = { coin: Coin; startMs: number; windowSeconds: number }

/** What one message says. Times are the venue's, Unix milliseconds. */
export type FeedEvent =
  | BookEvent
  | ChangeEvent
  | TradeEvent
  | TickEvent
  | BestEvent
  | ResolvedEvent
  /** A market was announced; what it is is asked of the catalogue. */
  | { kind: 'announced'; slug: string | undefined }
  /** A message of a type that is not known: counted, and kept for inspection. */
  | { kind: 'unknown'; type: string }
  | FaultEvent

/** A message that is of a known type and not sound, or none at all. */
export type FaultEvent = {
  kind: 'fault'
  reason: string
  conditionId?: string | undefined
  /** Whether it may have said something of a book, which is not known without it. */
  isOfBook: boolean
}

type OfToken = { conditionId: string; assetId: string; timestampMs: number }

/** A whole book, which replaces what was known of the token. */
export type BookEvent = OfToken & {
  kind: 'book'
  bids: Ladder
  asks: Ladder
  /** 40 lower-case hex digits. */
  hash?: string | undefined
  tickSize?: Millionths | undefined
  /** As the venue prints it; the hash covers it, and whether the market is one of several. */
  minOrderSize?: string | undefined
  isNegRisk?: boolean | undefined
  /** As the venue prints it, because the hash covers the text; empty when nothing was traded. */
  lastTradePrice?: string | undefined
}

/** Levels that changed, in the order in which they are to be applied; of one or both tokens. */
export type ChangeEvent = {
  kind: 'changes'
  conditionId: string
  timestampMs: number
  changes: readonly LevelChange[]
}

export type LevelChange = {
  assetId: string
  side: 'bids' | 'asks'
  price: Millionths
  /** The whole size at this price; 0 when the level is gone. */
  size: Millionths
  /** Hash of the token's book after the last change of its millisecond. */
  hash?: string | undefined
  /** Top of book after the change; 0 for an empty side; undefined where it is not said. */
  bestBid?: Millionths | undefined
  bestAsk?: Millionths | undefined
}

export type TradeEvent = OfToken & {
  kind: 'trade'
  price: Millionths
  /** As the venue prints it. */
  priceText: string
  size?: Millionths | undefined
  /** Of the taker. */
  side?: 'buy' | 'sell' | undefined
  /** As `Trade` has it. */
  transactionHash?: string | undefined
}

export type TickEvent = OfToken & { kind: 'tick'; tickSize: Millionths }

type BestEvent = OfToken & { kind: 'best'; bestBid: Millionths; bestAsk: Millionths }

/** A hint only: who won is asked of the catalogue. */
type ResolvedEvent = {
  kind: 'resolved'
  conditionId: string
  winningAssetId?: string | undefined
}
