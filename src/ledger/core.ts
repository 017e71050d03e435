/** The shared base of all verbs: the handle, the audited rows and the audit chain. */
import type { Database } from '#src/database/database.ts'

import type { AuditContext } from './actor.ts'
import { createAuditChain, createAuditedRows, type RowAction } from './audit.ts'

export type LedgerCore = ReturnType<typeof createLedgerCore>

/** Creates the base. `onAccess` is called by verbs that change access. */
export function createLedgerCore(db: Database, onAccess: () => void) {
  const chain = createAuditChain(db)
  const rows = createAuditedRows(db)

  /** Appends the resulting state to the chain; every change of an audited row ends with it. */
  function note(by: AuditContext, action: RowAction, subject: string): void {
    chain.append(by, { action, subject, state: rows.stateOf(action, subject) })
  }

  return {
    db,
    chain,
    rows,
    note,
    /** Like `note`, for a change of access. */
    record(by: AuditContext, action: RowAction, subject: string): void {
      note(by, action, subject)
      onAccess()
    },
  }
}
