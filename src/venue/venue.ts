import type { Millionths } from '#src/domain/decimal.ts'
import type { Coin, MarketFacts, Source, Timeframe } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Trade } from '#src/domain/trade.ts'

import type { Catalogue, CataloguePorts } from './catalogue.ts'
import type { PricePage, SpotFeed, VenueFeed } from './feed.ts'
import type { JsonObject, Reading } from './json-fields.ts'

/** What is asked of a venue. Each is a folder beside this file, and a line in `venues.ts`. */
export type Venue = {
  /** The kinds of objects, beside snapshots, that its catalogue and recordings of it hold. */
  kinds: readonly RecordKind[]
  /** A snapshot as recordings of it hold it: decimals quoted, the best level of a side last. */
  toRecordedLine(snapshot: Snapshot): string
  createBookVerifier(limits?: VerifierLimits): BookVerifier
  /** What it calls a market: the slug in its addresses, which `kinds` read, and the title. */
  slugOf(window: Omit<MarketWindow, 'endMs'>): string
  titleOf(window: Omit<MarketWindow, 'endMs'>): string
  /** Why a market of this slug is not kept; undefined where it may be. */
  whyNotKept(slug: string): string | undefined
  /**
   * Starts of the window that is open at `nowMs` and of the `ahead` ones after it, Unix
   * milliseconds, ascending.
   */
  windowStarts(timeframe: Timeframe, nowMs: number, ahead: number): number[]
  /** Its catalogue, and where that is when no other address is configured. */
  catalogueUrl: string
  createCatalogue(ports: CataloguePorts): Catalogue
  /** Its market data as it happens. */
  feed: VenueFeed
  /** Where it passes reference prices on, by the names of the configuration. */
  spotFeeds: Readonly<Record<'live' | 'rtds', SpotFeed>>
  /** Where it shows prices of windows while they are open. */
  pricePage: PricePage
}

/** `endMs` is exclusive. */
export type MarketWindow = {
  coin: Coin
  timeframe: Timeframe
  startMs: number
  endMs: number
}

/** An object is of a kind by its members alone; members that no kind names are ignored. */
export type RecordKind = {
  /** With its article: `a token`. */
  name: string
  /** Members that it has: of each of these lists at least one. */
  required: readonly (readonly string[])[]
  /** Members that it never has: they make it another kind, which may have all the others too. */
  forbidden: readonly string[]
  /** Throws a `record` fault for what is not sound. */
  read(value: JsonObject, reading: Reading): MarketRecord[]
}

/** What a file says of a market; whether it is recorded or simulated is said by who imports it. */
export type KnownFacts = Omit<MarketFacts, 'source'>

/** `conditionId` where the object names it. */
export type LeftOut = { kind: 'left_out'; reason: string; conditionId?: string | undefined }

export type MarketRecord =
  /**
   * `leftOut` names facts that could not be read, and why; `source` is there where the object says
   * it itself.
   */
  | { kind: 'facts'; facts: KnownFacts; leftOut?: readonly string[]; source?: Source }
  /** `facts` is what the trade's market is made from, if it is not known yet. */
  | { kind: 'trade'; facts: KnownFacts; trade: Trade }
  /** One of several records of an object that could not be read. */
  | { kind: 'fault'; reason: string }
  | LeftOut

/**
 * `searchesMax` bounds the searches through everything that a hash might hold, in a second of the
 * books' own time. A verifier without limits is for books whose verdicts are kept.
 */
export type VerifierLimits = { searchesMax?: number | undefined }

/** What a stream says beside the book that goes into its hash. */
export type BookTerms = {
  tickSize?: Millionths | undefined
  minOrderSize?: string | undefined
  isNegRisk?: boolean | undefined
  /**
   * Of the last trades of the market, the newest first, as the venue prints them; empty when
   * nothing was traded. Several, because a book may be older than the last of them.
   */
  tradePrices?: readonly string[] | undefined
  /** Whether only what is likely is tried: a book that is right may then be called wrong. */
  isQuick?: boolean | undefined
}

export type BookVerifier = {
  /**
   * Returns whether the levels reproduce `sourceHash`; undefined when there is none. What is said
   * of the book, or remembered of others, makes it quicker. A verdict of true follows from the
   * snapshot alone; one of false too, but for quick looks and limits.
   */
  verify(snapshot: Snapshot, said?: BookTerms): boolean | undefined
}
