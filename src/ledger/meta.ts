/** Facts about the ledger itself: its key, and the place that it was moved to. */
import { type Database, storageError } from '#src/database/database.ts'

import { unsealKey } from './checksums.ts'
import type { LedgerVerbs } from './ledger.ts'

/** The challenge key of a ledger. With `isAsItIs` a missing key is read as an empty one. */
export function readChallengeKey(db: Database, isAsItIs: boolean): Uint8Array {
  const find = db.prepare<{ value: unknown }, []>(
    "SELECT value FROM meta WHERE key = 'challenge_key'",
  )
  const value = find.get()?.value
  if (value instanceof Uint8Array) return unsealKey(value)
  if (value === undefined && isAsItIs) return new Uint8Array()
  throw new Error('The challenge key of the ledger is not bytes.')
}

export function createMeta(db: Database) {
  const findTimeFloor = db.prepare<{ value: number | Uint8Array }, []>(
    "SELECT value FROM meta WHERE key = 'time_floor'",
  )
  const removeTimeFloor = db.prepare<unknown, []>("DELETE FROM meta WHERE key = 'time_floor'")
  return {
    takeTimeFloor(keep) {
      const row = findTimeFloor.get()
      if (row === null) return
      const floorMs = row.value
      if (typeof floorMs === 'number') keep(floorMs)
      removeTimeFloor.run()
    },
  } satisfies Partial<LedgerVerbs>
}

/**
 * The row of a ledger that was copied elsewhere; copies omit it, so that only one of the two sells.
 */
export const MOVED = 'moved_to'

export function createMoved(db: Database) {
  const find = db.prepare<{ value: Uint8Array }, [string]>('SELECT value FROM meta WHERE key = $1')
  const put = db.prepare<unknown, [string, Uint8Array]>(
    `INSERT INTO meta (key, value) VALUES ($1, $2)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  const remove = db.prepare<unknown, [string]>('DELETE FROM meta WHERE key = $1')
  const get = (): string | undefined => {
    const row = find.get(MOVED)
    return row === null ? undefined : new TextDecoder().decode(row.value)
  }
  return {
    /** The place to show; undefined for a ledger in use. */
    get,
    /** Undefined removes the mark. */
    put(place: string | undefined): void {
      if (place === undefined) remove.run(MOVED)
      else put.run(MOVED, new TextEncoder().encode(place))
    },
    /** Throws `storage_unavailable` if the ledger was copied elsewhere. */
    assertInUse(): void {
      const place = get()
      if (place === undefined) return
      throw movedError(place)
    },
  }
}

/** The error of a ledger that was copied to `place` and is no longer in use. */
export const movedError = (place: string): Error =>
  storageError(
    `This ledger was copied to ${place}, which is used in its place: a sale here would be missing there. Set BOOKFEED_LEDGER or BOOKFEED_DATA to the copy. To use this ledger again, copy it to the same place once more with bookfeed copy --only ledger --keep-source.`,
  )
