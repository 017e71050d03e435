/**
 * What was done, by whom, row by row; each carries the hash of all before it:
 *
 *     hash of row n = SHA-256(hash of row n - 1, then the row as JSON in UTF-8)
 *     the row as JSON = [seq, timeMs, actor, action, subject, state]
 *
 * Before the first row are 32 zero bytes. JSON makes it unambiguous where one text ends and the
 * next begins. The head is read at each row, because another process may have written in between.
 */
import { audit } from '#db/ledger/schema.ts'
import type { Verdict } from '#src/selling/screening.ts'
import { sqlOf } from '#src/sqlite/columns.ts'
import type { Database } from '#src/sqlite/database.ts'

import type { RowAction } from './audited-rows.ts'
import type { AuditRow, Deed } from './ledger.ts'

export type AuditAction = RowAction | `screening.${Verdict['verdict']}` | 'sanctions_list.replaced'

type Head = Pick<AuditRow, 'seq' | 'hash'>

const HASH_BYTES = 32

/** What comes before the first row. */
export const chainStart: Readonly<Head> = { seq: 0, hash: new Uint8Array(HASH_BYTES) }

/** Lists and extends the chain. */
export function createAuditChain(db: Database) {
  const sql = sqlOf(audit)
  const select = `SELECT ${sql.columns()} FROM audit`
  const head = db.prepare<Head, []>('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1')
  const list = db.prepare<AuditRow, [{ afterSeq: number; limit: number }]>(
    `${select} WHERE seq > $afterSeq ORDER BY seq LIMIT $limit`,
  )
  const all = db.prepare<AuditRow, []>(`${select} ORDER BY seq`)
  const insert = db.prepare<unknown, [AuditRow]>(sql.insert())
  return {
    head: (): Head | undefined => head.get() ?? undefined,
    list: (afterSeq: number, limit: number): AuditRow[] => list.all({ afterSeq, limit }),
    all: (): Iterable<AuditRow> => all.iterate(),

    /** Needs a transaction around it, the one of the deed itself. */
    append(
      { actor, nowMs: timeMs }: Deed,
      { action, subject, state }: { action: AuditAction; subject: string; state: string },
    ): void {
      const before = head.get() ?? chainStart
      const row = { seq: before.seq + 1, timeMs, actor, action, subject, state }
      insert.run({ ...row, hash: hashOf(before.hash, row) })
    },
  }
}

export type AuditChain = ReturnType<typeof createAuditChain>

/** The hash of a row that follows one with the hash `before`. */
export function hashOf(before: Uint8Array, row: Omit<AuditRow, 'hash'>): Uint8Array {
  const { seq, timeMs, actor, action, subject, state } = row
  const json = JSON.stringify([seq, timeMs, actor, action, subject, state])
  return new Bun.CryptoHasher('sha256').update(before).update(json).digest()
}
