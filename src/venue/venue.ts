import type { Span } from '#src/domain/coverage.ts'
import type { Millionths } from '#src/domain/decimal.ts'
import type { SettlementRule, Source, Timeframe } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'

import type { Catalogue, CataloguePorts, KnownFacts, MarketWindow, MoreFacts } from './catalogue.ts'
import type { PricePage, SpotFeed, VenueFeed } from './feed.ts'
import type { JsonObject, Reading } from './json-fields.ts'

/** A venue. Each one has a folder beside this file, and a line in `venues.ts`. */
export type Venue = {
  name: string
  /** Host and path of its page of a market, up to the slug: our pages link to no other address. */
  marketPage: string
  /** Kinds of objects, besides snapshots, in its catalogue and in recordings. */
  kinds: readonly RecordKind[]
  /** Prints a snapshot in the form of recordings: decimals quoted, a side's best level last. */
  toRecordedLine(snapshot: Snapshot): string
  /** `limits` cap the searches through every recipe per second, so that live books never wait. */
  createBookVerifier(limits?: { searchesMax: number; clock: Clock }): BookVerifier
  /** The slug of a market in the venue's URLs, which `kinds` parse. */
  slugOf(window: Omit<MarketWindow, 'endMs'>): string
  titleOf(window: Omit<MarketWindow, 'endMs'>): string
  /** The settlement rule of windows of a length that end at a given time; undefined if unknown. */
  settlementRuleOf(window: Pick<MarketWindow, 'timeframe' | 'endMs'>): SettlementRule | undefined
  /** The reason why a market of this slug is not recorded; undefined if it is. */
  whyNotKept(slug: string): string | undefined
  /**
   * Starts of the window that is open at `nowMs` and of the next `ahead` windows, in ascending Unix
   * milliseconds.
   */
  windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[]
  /** True if a gap is due to the venue's scheduled restart. */
  isRestart(span: Span): boolean
  /** URL of the catalogue, unless another one is configured. */
  catalogueUrl: string
  /** URL of the order book API, unless another one is configured. */
  orderBookUrl: string
  createCatalogue(ports: CataloguePorts): Catalogue
  feed: VenueFeed
  /** Its sources of reference prices, by their names in the configuration. */
  spotFeeds: Readonly<Record<'live' | 'rtds', SpotFeed>>
  /** The page with prices of open windows. */
  pricePage: PricePage
}

/** A kind of object, recognised by its members. Members that no kind names are ignored. */
export type RecordKind = {
  /** With its article: `a token`. */
  name: string
  /** Lists of members; the object has at least one member of each list. */
  required: readonly (readonly string[])[]
  /** Members that make an object another kind, even if it has all the others, too. */
  forbidden: readonly string[]
  /** Throws a `record` fault for an invalid object. */
  read(value: JsonObject, reading: Reading): MarketRecord[]
}

/** An object that is left out; `conditionId` is set if the object names it. */
export type LeftOut = { kind: 'left_out'; reason: string; conditionId?: string | undefined }

export type MarketRecord =
  /**
   * `leftOut` says which facts could not be read, and why; `source` is taken from the object.
   * `hasNoVersion`: its ids are only assumed to be those of the first version of the protocol.
   */
  | {
      kind: 'facts'
      facts: KnownFacts
      leftOut?: readonly string[]
      hasNoVersion?: boolean
      source?: Source
    }
  /** Facts of a market that the object names only by its condition id, so it must be known. */
  | { kind: 'more'; conditionId: string; facts: MoreFacts }
  /** The trade's market is created from `facts` if it is not known yet. */
  | { kind: 'trade'; facts: KnownFacts; trade: Trade }
  /** One of several records of an object that could not be read. */
  | { kind: 'fault'; reason: string }
  | LeftOut

/** Terms beside the book that its hash covers, as the stream states them. */
export type BookTerms = {
  tickSize?: Millionths | undefined
  minOrderSize?: string | undefined
  isNegRisk?: boolean | undefined
  /**
   * The market's last trade prices, the newest first, as printed by the venue; empty text if
   * nothing was traded. There are several, because a book may be older than the last trade.
   */
  tradePrices?: readonly string[] | undefined
  /** The version of the venue's protocol, as the book states it. */
  version?: string | undefined
  /** Tries only likely guesses: a correct book may get no verdict. */
  isQuick?: boolean | undefined
  /** Books of the market fitted their hashes before, perhaps in another process. */
  isProved?: boolean | undefined
}

export type BookVerifier = {
  /**
   * Returns true if the levels reproduce `sourceHash`. Returns false if they do not, by the
   * market's known recipe and any trade price; a recipe is known once a book has fitted. Returns
   * undefined without a hash, or if the recipe is unknown, which says nothing about the book. The
   * other terms, and what is cached from other books, only speed it up.
   */
  verify(snapshot: Snapshot, said?: BookTerms): boolean | undefined
}
