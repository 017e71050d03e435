/** Rows of the evidence table: the statements of imports about a market's books. */
import { evidence } from '#db/history/schema.ts'
import { assertSealed, checksumOf, SUM_END } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import { type Evidence, noEvidence } from '#src/domain/evidence.ts'
import type { Outcome } from '#src/domain/market.ts'

import { type LogMeta, verifyLog } from './meta-table.ts'

type EvidenceRow = typeof evidence.$inferSelect

export type MarketEvidence = Record<Outcome, Evidence> & {
  /** The number of snapshots of the market after the last import, and the time of the last one. */
  rows: number
  lastMs: number
}

const nothingSaid: MarketEvidence = { up: noEvidence, down: noEvidence, rows: 0, lastMs: -1 }

/** Creates the table; the verbs that write need the transaction of the change. */
export function createEvidenceTable(db: Database, meta: LogMeta) {
  const sql = sqlOf(evidence)
  const find = db.prepare<EvidenceRow, [number]>(
    `SELECT ${sql.columns()} FROM evidence WHERE market_id = $1`,
  )
  const upsert = db.prepare<unknown, [EvidenceRow]>(
    `${sql.insert()} ON CONFLICT (market_id) DO UPDATE SET ${sql.setExcluded(['said', 'checksum'])}`,
  )
  const all = db.prepare<EvidenceRow, []>(`SELECT ${sql.columns()} FROM evidence`)
  const remove = db.prepare<EvidenceRow, [number]>(
    `DELETE FROM evidence WHERE market_id = $1 RETURNING ${sql.columns()}`,
  )
  return {
    /** Throws a `damage` fault. */
    find(marketId: number): MarketEvidence {
      const row = find.get(marketId)
      if (row === null) return nothingSaid
      assertSealed(row, `the evidence of market ${marketId}`)
      return JSON.parse(row.said) as MarketEvidence
    },

    put(marketId: number, said: MarketEvidence): void {
      const row: EvidenceRow = { marketId, said: JSON.stringify(said), checksum: 0 }
      row.checksum = checksumOf(row)
      const before = find.get(marketId)?.checksum ?? 0
      upsert.run(row)
      meta.addToSum('evidence', SUM_END + row.checksum - before)
    },

    /** Returns true if there was any. */
    remove(marketId: number): boolean {
      const row = remove.get(marketId)
      if (row !== null) meta.addToSum('evidence', SUM_END - row.checksum)
      return row !== null
    },

    /** Faults, each a sentence. */
    verify: (): string[] => verifyLog(all.iterate(), 'evidence', meta),
  }
}
