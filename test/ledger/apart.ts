/** A ledger as one in a database is: bodies run later, in turn, on a handle that nothing else reads. */
import { transact } from '#src/database/database.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { handlesOf, type Transact } from '#src/database/transact.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { prepareLedger } from '#src/ledger/prepare.ts'
import { createSqliteLedger } from '#src/ledger/sqlite-ledger.ts'

export function openApart(path: string, nowMs: number): Ledger {
  const writing = openDatabase(path, { format: ledgerFormat })
  transact(writing, () => prepareLedger(writing, nowMs))
  const reading = openDatabase(path, { format: ledgerFormat, isReadOnly: true })
  let last: Promise<unknown> = Promise.resolve()
  const inTurn: Transact = (body) => {
    const done = last.then(() => transact(writing, body))
    last = done.catch(() => undefined)
    return done
  }
  return createSqliteLedger({ ...handlesOf(writing), reading, transact: inTurn })
}
