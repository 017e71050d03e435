import { type Database, transact, withoutWaiting } from '#src/sqlite/database.ts'

/** Reads and keeps the time that the ledger was last used at. */
export function createTimeFloor(db: Database) {
  const get = db.prepare<{ value: number }, []>("SELECT value FROM meta WHERE key = 'time_floor'")
  const put = db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('time_floor', ?)")
  return {
    timeFloor: (): number | undefined => get.get()?.value,
    putTimeFloor: (nowMs: number): void =>
      withoutWaiting(db, () => transact(db, () => void put.run(nowMs))),
  }
}
