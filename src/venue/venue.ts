import type { Span } from '#src/domain/coverage.ts'
import type { Millionths } from '#src/domain/decimal.ts'
import type { SettlementRule, Source, Timeframe } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'

import type { Catalogue, CataloguePorts, KnownFacts, MarketWindow } from './catalogue.ts'
import type { PricePage, SpotFeed, VenueFeed } from './feed.ts'
import type { JsonObject, Reading } from './json-fields.ts'

/** A venue. Each one is a folder beside this file, and a line in `venues.ts`. */
export type Venue = {
  name: string
  /** Host and path of its page of a market, up to the slug: pages of ours name no other address. */
  marketPage: string
  /** The kinds of objects, beside snapshots, in its catalogue and in recordings of it. */
  kinds: readonly RecordKind[]
  /** Prints a snapshot as recordings hold it: decimals quoted, the best level of a side last. */
  toRecordedLine(snapshot: Snapshot): string
  /**
   * `limits` bound the searches through every recipe of a hash, in a second of the clock: where
   * books come live, they have to wait for nothing.
   */
  createBookVerifier(limits?: { searchesMax: number; clock: Clock }): BookVerifier
  /** The slug of a market in the venue's addresses, which `kinds` read. */
  slugOf(window: Omit<MarketWindow, 'endMs'>): string
  titleOf(window: Omit<MarketWindow, 'endMs'>): string
  /** How it settles windows of a length that end at a time; undefined where that is not known. */
  settlementRuleOf(window: Pick<MarketWindow, 'timeframe' | 'endMs'>): SettlementRule | undefined
  /** Why a market of this slug is not kept; undefined where it is. */
  whyNotKept(slug: string): string | undefined
  /**
   * Starts of the window that is open at `nowMs` and of the `ahead` ones after it, Unix
   * milliseconds, ascending.
   */
  windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[]
  /** Whether nothing is known in a time because the venue restarts then, as it does by a schedule. */
  isRestart(span: Span): boolean
  /** Where the catalogue is when no other address is configured. */
  catalogueUrl: string
  createCatalogue(ports: CataloguePorts): Catalogue
  feed: VenueFeed
  /** Its sources of reference prices, by their names in the configuration. */
  spotFeeds: Readonly<Record<'live' | 'rtds', SpotFeed>>
  /** The page with prices of windows while they are open. */
  pricePage: PricePage
}

/** The members of an object decide its kind. Members that no kind names are ignored. */
export type RecordKind = {
  /** With its article: `a token`. */
  name: string
  /** Lists of members; the object has at least one of each list. */
  required: readonly (readonly string[])[]
  /** Members that make an object another kind, even if it has all the others too. */
  forbidden: readonly string[]
  /** Throws a `record` fault for an object that is not sound. */
  read(value: JsonObject, reading: Reading): MarketRecord[]
}

/** `conditionId` is there if the object names it. */
export type LeftOut = { kind: 'left_out'; reason: string; conditionId?: string | undefined }

export type MarketRecord =
  /**
   * `leftOut` says which facts could not be read, and why; `source` is what the object says.
   * `hasNoVersion`: its ids are those of the first version of the protocol only by assumption.
   */
  | {
      kind: 'facts'
      facts: KnownFacts
      leftOut?: readonly string[]
      hasNoVersion?: boolean
      source?: Source
    }
  /** Facts of a market that the object names by its condition id alone, so it must be known. */
  | { kind: 'more'; conditionId: string; facts: MoreFacts }
  /** The trade's market is made from `facts` if it is not known yet. */
  | { kind: 'trade'; facts: KnownFacts; trade: Trade }
  /** One of several records of an object that could not be read. */
  | { kind: 'fault'; reason: string }
  | LeftOut

export type MoreFacts = Pick<KnownFacts, 'assetIds' | 'tickSize' | 'winner' | 'winnerSource'>

/** What a stream says beside the book that goes into its hash. */
export type BookTerms = {
  tickSize?: Millionths | undefined
  minOrderSize?: string | undefined
  isNegRisk?: boolean | undefined
  /**
   * The market's last trade prices, the newest first, as the venue prints them; empty text when
   * nothing was traded. Several, because a book may be older than the last trade.
   */
  tradePrices?: readonly string[] | undefined
  /** The version of the venue's protocol, as a book says it. */
  version?: string | undefined
  /** Only likely guesses are tried: a book that is right may get no verdict. */
  isQuick?: boolean | undefined
  /** Books of the market fitted their hashes before, perhaps in another process. */
  isProved?: boolean | undefined
}

export type BookVerifier = {
  /**
   * Returns true where the levels reproduce `sourceHash`; false where they do not, in a market whose
   * recipe is known, because a book of it fitted, by that recipe and any trade price. Undefined
   * without a hash, and where the recipe of the market is unknown: that says nothing of the book.
   * The other terms, and what is remembered of other books, only make it quicker.
   */
  verify(snapshot: Snapshot, said?: BookTerms): boolean | undefined
}
