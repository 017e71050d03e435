/** The log of the changes of a history. */
import type { ManifestBody, SignedStatement } from '#src/domain/manifest.ts'
import type { Coin } from '#src/domain/market.ts'
import type { FactChange, Revision } from '#src/domain/revision.ts'

export type LastChangeQuery = { coin: Coin; fromMs: number; toMs: number; sinceMs: number }

export type RevisionLog = {
  /** The start of the log, Unix milliseconds; earlier changes are unknown. */
  sinceMs(): number
  /** The greatest id of a change before a moment; 0 if there is none. */
  lastIdBefore(atMs: number): number
  /** The last change, since `sinceMs`, of markets of a coin within a range of `orderMs`. */
  lastChangeMs(query: LastChangeQuery): number | undefined
  /** Changes in order. Throws `damaged`. */
  list(afterId: number, limit: number): Revision[]
  /** Changes of the facts of a market after a moment, in order. Throws `damaged`. */
  factsOf(conditionId: string, afterMs: number): (readonly FactChange[])[]
}

export type ManifestHead = SignedStatement & { madeMs: number }
/** `body` is the canonical JSON of a `ManifestBody`. */
export type StoredManifest = ManifestHead & { body: string }

/** Reads of manifests; all throw `damaged`. */
export type ManifestReads = {
  /** The public key of the current signing key, in base64. */
  publicKey(): string
  newest(): ManifestHead | undefined
  find(sequence: number): StoredManifest | undefined
  /** The newest manifest of a day. */
  ofDay(day: string): StoredManifest | undefined
  /** Sequence numbers of all manifests of a day, oldest first. */
  sequencesOf(day: string): number[]
  list(afterSequence: number, limit: number): ManifestHead[]
  /** Days in which windows of markets with snapshots begin. */
  days(): string[]
}

/** `after` is the revision of the day that it follows; undefined for the first. */
export type NewManifest = Pick<ManifestBody, 'day' | 'series' | 'files'> & {
  madeMs: number
  after?: number | undefined
}

export type ManifestStore = ManifestReads & {
  /**
   * Adds a signed manifest to the chain in one transaction. Undefined if the day already has
   * another one.
   */
  add(made: NewManifest): Promise<StoredManifest | undefined>
}
