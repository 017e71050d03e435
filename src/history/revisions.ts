/** What a history says of its own changes. */
import type { Revision } from '#src/core/revision.ts'

export type RevisionLog = {
  /** Changes since then are noted; what was before is not known. Unix milliseconds. */
  sinceMs(): number
  /** The greatest id of a change before a moment; 0 where there is none. */
  lastIdBefore(atMs: number): number
  /** In the order in which they were made. Throws `damaged`. */
  list(afterId: number, limit: number): Revision[]
}
