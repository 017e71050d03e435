import type { Coin, MarketFacts, Timeframe } from '#src/core/market.ts'
import type { Snapshot } from '#src/core/snapshot.ts'
import type { Trade } from '#src/core/trade.ts'

import type { JsonObject, Reading } from './json-fields.ts'

/** What is asked of a venue. Each is a folder beside this file, and a line in `venues.ts`. */
export type Venue = {
  /** The kinds of objects, beside snapshots, that its catalogue and recordings of it hold. */
  kinds: readonly RecordKind[]
  createBookVerifier(): BookVerifier
  /** What it calls a market: the slug in its addresses, which `kinds` read, and the title. */
  slugOf(window: MarketWindow): string
  titleOf(window: MarketWindow): string
}

export type MarketWindow = { coin: Coin; timeframe: Timeframe; startMs: number }

/** An object is of a kind by its members alone; members that no kind names are ignored. */
export type RecordKind = {
  /** With its article: `a token`. */
  name: string
  /** Members that it has: of each of these lists at least one. */
  required: readonly (readonly string[])[]
  /** Members that it never has: they make it another kind, which may have all the others too. */
  forbidden: readonly string[]
  /** Throws `RecordFault` for what is not sound. */
  read(value: JsonObject, reading: Reading): MarketRecord[]
}

/** What a file says of a market; whether it is recorded or simulated is said by who imports it. */
export type KnownFacts = Omit<MarketFacts, 'source'>

export type LeftOut = { kind: 'left_out'; reason: string }

export type MarketRecord =
  /** `leftOut` names facts that could not be read, and why. */
  | { kind: 'facts'; facts: KnownFacts; leftOut?: readonly string[] }
  /** `facts` is what the trade's market is made from, if it is not known yet. */
  | { kind: 'trade'; facts: KnownFacts; trade: Trade }
  /** One of several records of an object that could not be read. */
  | { kind: 'fault'; reason: string }
  | LeftOut

export type BookVerifier = {
  /** Undefined where there is no `sourceHash`. What is remembered only makes it quicker. */
  verify(snapshot: Snapshot): boolean | undefined
}
