/** A history as one in a database is: bodies run later, in turn, on a handle that nothing else reads. */
import { transact } from '#src/database/database.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { handlesOf, type Transact } from '#src/database/transact.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { beginHistory, createSqliteHistory } from '#src/history/sqlite-history.ts'

export function openApart(path: string, chunkCacheBytes: number): MarketHistory {
  const writing = openDatabase(path)
  const { clock } = handlesOf(writing)
  transact(writing, () => beginHistory({ writing, clock }))
  const reading = openDatabase(path, { isReadOnly: true })
  let last: Promise<unknown> = Promise.resolve()
  const inTurn: Transact = (body) => {
    const done = last.then(() => transact(writing, body))
    last = done.catch(() => undefined)
    return done
  }
  const handles = { reading, writing, transact: inTurn, clock }
  return createSqliteHistory(handles, { chunkCacheBytes, lagMs: 0 })
}
