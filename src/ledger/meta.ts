/** Facts about the ledger itself: its key, the coins that it knows, where it went. */
import { randomBytes } from 'node:crypto'

import { type Database, storageError, transact } from '#src/database/database.ts'
import { packingOf } from '#src/database/packing.ts'
import { coins } from '#src/domain/market.ts'

import { sealKey, unsealKey } from './checksums.ts'
import type { Ledger } from './ledger.ts'
import { change, exists } from './rows.ts'

/**
 * Opens the facts of a ledger, whose challenge key the first opening makes. With `isAsItIs` none is
 * made: a ledger without one then has the empty key.
 */
export function createMeta(db: Database, { isAsItIs = false } = {}) {
  const find = db.prepare<{ value: number | Uint8Array }, [key: string]>(
    'SELECT value FROM meta WHERE key = $1',
  )
  const { unpack } = packingOf(db)
  const removeTimeFloor = db.prepare<unknown, []>("DELETE FROM meta WHERE key = 'time_floor'")

  function readChallengeKey(): Uint8Array {
    const read = () => find.get('challenge_key')?.value
    if (read() === undefined && isAsItIs) return new Uint8Array()
    if (read() === undefined) {
      const key = new Uint8Array(randomBytes(32))
      // Where the key was removed, the one in its place has no checksum: `verifyAudit` finds it.
      const isNew = !exists<[]>(db, 'SELECT 1 FROM audit LIMIT 1')()
      // Another process may be making one: whichever is first stays.
      const sql = `INSERT INTO meta (key, value) VALUES ('challenge_key', $1) ON CONFLICT (key) DO NOTHING`
      change<[Uint8Array]>(db, sql)(isNew ? sealKey(key) : key)
    }
    const value = read()
    if (value instanceof Uint8Array) return unsealKey(value)
    throw new Error('The challenge key of the ledger is not bytes.')
  }

  return {
    challengeKey: readChallengeKey(),
    takeTimeFloor(keep) {
      const row = find.get('time_floor')
      if (row === null) return
      const floorMs = unpack(row.value)
      if (typeof floorMs === 'number') keep(floorMs)
      transact(db, () => void removeTimeFloor.run())
    },
  } satisfies Partial<Ledger>
}

/** What every coin was before a ledger wrote down which coins there are. */
const FIRST_COINS = 'btc,eth,sol,xrp'

/** The coins that the version knew that used the ledger last. */
export function createKnownCoins(db: Database) {
  const find = db.prepare<{ value: unknown }, []>("SELECT value FROM meta WHERE key = 'coins'")
  const store = db.prepare<unknown, [value: Uint8Array]>(
    `INSERT INTO meta (key, value) VALUES ('coins', $1)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  )
  const get = (): string[] => {
    const value = find.get()?.value
    const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : FIRST_COINS
    return text.split(',')
  }
  return {
    get,
    put(): void {
      if (find.get() === null || get().join(',') !== coins.join(','))
        store.run(new TextEncoder().encode(coins.join(',')))
    },
  }
}

/** The row of a ledger that was copied elsewhere, which is no part of a copy: one of two sells. */
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
        `This ledger was copied to ${place}, which is used in its place: a sale here would be missing there. Set BOOKFEED_LEDGER or BOOKFEED_DATA to the copy. To use this ledger again, copy it to the same place once more with bookfeed copy --only ledger --keep-source.`,
      )
    },
  }
}
