/** The mark of a ledger that was copied elsewhere: nobody may sell from two of them. */

import { type Database, storageError } from '#src/database/database.ts'

/** Its row in the meta table, which is no part of a copy. */
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
    /** Where to, to be shown; undefined of a ledger that is in use. */
    get,
    /** Undefined takes the mark away. */
    put(place: string | undefined): void {
      if (place === undefined) remove.run(MOVED)
      else put.run(MOVED, new TextEncoder().encode(place))
    },
    /** Throws `storage_unavailable` if it was copied elsewhere. */
    assertInUse(): void {
      const place = get()
      if (place === undefined) return
      throw storageError(
        `This ledger was copied to ${place}, which goes on in its place: what is sold here would be missing there. Set BOOKFEED_LEDGER or BOOKFEED_DATA to that one. To go on with this one after all, copy it to the same place again, with bookfeed copy --only ledger --keep-source.`,
      )
    },
  }
}
