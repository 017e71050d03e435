/** What a history says of its own changes. */
import type { ManifestBody, SignedStatement } from '#src/domain/manifest.ts'
import type { Revision } from '#src/domain/revision.ts'

export type RevisionLog = {
  /** Changes since then are noted; what was before is not known. Unix milliseconds. */
  sinceMs(): number
  /** The greatest id of a change before a moment; 0 where there is none. */
  lastIdBefore(atMs: number): number
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
