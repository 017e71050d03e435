/** What a history says of its own changes. */
import type { Gap } from '#src/domain/coverage.ts'
import type { ManifestBody, SignedStatement } from '#src/domain/manifest.ts'
import type { Market } from '#src/domain/market.ts'
import type { FactChange, Revision } from '#src/domain/revision.ts'

export type RevisionLog = {
  /** Changes since then are noted; what was before is not known. Unix milliseconds. */
  sinceMs(): number
  /** The greatest id of a change before a moment; 0 where there is none. */
  lastIdBefore(atMs: number): number
  /** When a row of a market was replaced or removed last; 0 where that never was. */
  lastRemovalMs(conditionId: string): number
  /** The first id of a snapshot that was given in a second of Unix time or later. */
  firstIdFrom(second: number): number
  /** When something beside a row of a market changed last, or a row was removed; 0 if never. */
  lastChangeMs(conditionId: string): number
  /** Since then all that follows is noted too. Unix milliseconds. */
  eventsSinceMs(): number
  /** As `firstIdFrom`, of trades and of reference prices. */
  firstTradeIdFrom(second: number): number
  firstSpotIdFrom(second: number): number
  /** Facts of a market that changed at a moment or later, the last change first. */
  factsSince(conditionId: string, atMs: number): FactChange[]
  /** Whether a market was created at a moment or later. */
  isNewSince(market: Pick<Market, 'id'>, atMs: number): boolean
  /** Whether it was closed then or later. */
  isClosedSince(market: Pick<Market, 'id'>, atMs: number): boolean
  /** Gaps of a market as they were before a moment, as `MarketHistory.gaps` lists them. */
  gapsAt(market: Pick<Market, 'id'>, atMs: number): readonly Gap[]
  /** In the order in which they were made. Throws `damaged`. */
  list(afterId: number, limit: number): Revision[]
}

export type ManifestHead = SignedStatement & { madeMs: number }
/** `body` is canonical JSON of a `ManifestBody`. */
export type StoredManifest = ManifestHead & { body: string }

/** All reads throw `damaged`. */
export type ManifestStore = {
  /** That of the key that signs now, in base64. */
  publicKey(): string
  newest(): ManifestHead | undefined
  find(sequence: number): StoredManifest | undefined
  /** The newest of a day. */
  ofDay(day: string): StoredManifest | undefined
  /** Places of all of a day, the oldest first. */
  sequencesOf(day: string): number[]
  list(afterSequence: number, limit: number): ManifestHead[]
  /** Days in which windows of markets with snapshots begin. */
  days(): string[]
  /**
   * Adds one to the chain, signed, in one transaction. `after`: the revision of its day that it
   * follows; undefined for the first. Undefined where the day has another one by now.
   */
  add(
    made: Pick<ManifestBody, 'day' | 'series' | 'files'> & {
      madeMs: number
      after?: number | undefined
    },
  ): StoredManifest | undefined
}
