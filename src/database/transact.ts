/** Transactions of the verbs of a store. */
import { type Database, transact } from './database.ts'
import { probeWrite, withoutWaiting } from './sqlite/database.ts'

/**
 * Runs the body of a verb in one write transaction: everything it writes is kept, or nothing. With
 * `waits: false` a file waits neither for the disk nor for another process: see `withoutWaiting`.
 */
export type Transact = <T>(body: () => T, options?: { waits: boolean }) => Promise<T>

/** Over a file: the body runs at once, so the promise is settled when the call returns. */
export const transactOn =
  (db: Database): Transact =>
  async (body, { waits } = { waits: true }) => {
    const run = () => transact(db, body)
    return waits ? run() : withoutWaiting(db, run)
  }

/**
 * The handles of a store: `reading` for its reads, `writing` for the bodies of its verbs, which
 * `transact` surrounds. Over a file both handles are the same.
 */
export type StoreHandles = {
  reading: Database
  writing: Database
  transact: Transact
  /** The time of the database in the body of a verb, in whole Unix milliseconds. */
  clock: () => number
}

/** The handles of a store that is one file. */
export const handlesOf = (db: Database): StoreHandles => ({
  reading: db,
  writing: db,
  transact: transactOn(db),
  clock: createClock(db),
})

function createClock(db: Database): () => number {
  const now = db.prepare<{ ms: number }, []>(
    "SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS ms",
  )
  return () => now.get()?.ms ?? 0
}

/**
 * Writes what changes nothing: `touch` where a transaction is surrounded. Rejects as `transact`;
 * another process's lock on a file is no fault.
 */
export async function probe(
  { reading, writing, transact: surround }: Omit<StoreHandles, 'clock'>,
  touch: string,
): Promise<void> {
  if (reading === writing) probeWrite(writing)
  else await surround(() => void writing.run(touch))
}
