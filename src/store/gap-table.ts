/** Rows of the gap table: times without snapshots, recorded by somebody or derived from the snapshots. */
import type { Gap, GapReason } from '#src/core/coverage.ts'
import { outcomes } from '#src/core/market.ts'

import { outcomeCodes } from './codec/chunk.ts'
import type { Database } from './database.ts'

/** A gap of one outcome, which its list says. */
export type Silence = { readonly fromMs: number; readonly toMs: number; readonly reason: GapReason }

type GapRow = { outcome: number; from_ms: number; to_ms: number; reason: GapReason }
type SilenceRow = Omit<GapRow, 'outcome'>
/** Whose gaps: of an outcome's code in a market. */
export type GapOwner = { marketId: number; outcome: number }

/** Reads and writes gaps; every change raises the market's `gap_revision`. */
export function createGapTable(db: Database) {
  const list = db.prepare<GapRow, [number]>(
    `SELECT DISTINCT outcome, from_ms, to_ms, reason FROM gap WHERE market_id = ?
     ORDER BY from_ms, outcome, to_ms, reason`,
  )
  const derived = db.prepare<SilenceRow, [number, number, number, number]>(
    `SELECT from_ms, to_ms, reason FROM gap
     WHERE market_id = ? AND outcome = ? AND is_derived = 1 AND from_ms >= ? AND to_ms <= ?
     ORDER BY from_ms`,
  )
  const longest = db.prepare<{ ms: number | null }, [number, number]>(
    `SELECT max(to_ms - from_ms) + 1 AS ms FROM gap WHERE market_id = ? AND outcome = ? AND is_derived = 1`,
  )
  const insert = db.prepare(
    `INSERT OR IGNORE INTO gap (market_id, outcome, is_derived, from_ms, to_ms, reason)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const remove = db.prepare(
    `DELETE FROM gap WHERE market_id = ? AND outcome = ? AND is_derived = 1 AND from_ms = ? AND to_ms = ?`,
  )
  const revise = db.prepare('UPDATE market SET gap_revision = gap_revision + 1 WHERE id = ?')

  return {
    /** All gaps of a market, ascending by `fromMs`, none twice. */
    list: (marketId: number): Gap[] => list.all(marketId).map(toGap),

    /** Derived gaps that lie between two moments, ascending. */
    derived: ({ marketId, outcome }: GapOwner, { fromMs, toMs } = EVER): Silence[] =>
      derived
        .all(marketId, outcome, fromMs, toMs)
        .map((row) => ({ fromMs: row.from_ms, toMs: row.to_ms, reason: row.reason })),

    /** Longest time between two snapshots with a derived gap between them; undefined when there is none. */
    longestDerived: ({ marketId, outcome }: GapOwner): number | undefined =>
      longest.get(marketId, outcome)?.ms ?? undefined,

    /** Takes out derived gaps and puts in others. */
    replaceDerived(owner: GapOwner, gone: readonly Silence[], made: readonly Silence[]): void {
      const { marketId, outcome } = owner
      for (const { fromMs, toMs } of gone) remove.run(marketId, outcome, fromMs, toMs)
      for (const { fromMs, toMs, reason } of made)
        insert.run(marketId, outcome, 1, fromMs, toMs, reason)
      if (gone.length + made.length > 0) revise.run(marketId)
    },

    /** Records gaps, of which empty ones are none; returns how many were not there. */
    record(marketId: number, gaps: readonly Gap[]): number {
      let added = 0
      for (const { outcome, fromMs, toMs, reason } of gaps) {
        if (toMs <= fromMs) continue
        const code = outcomeCodes[outcome]
        added += insert.run(marketId, code, 0, fromMs, toMs, reason).changes
      }
      if (added > 0) revise.run(marketId)
      return added
    },
  }
}

export type GapTable = ReturnType<typeof createGapTable>

const EVER = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

const toGap = ({ outcome, from_ms, to_ms, reason }: GapRow): Gap => ({
  outcome: outcomes[outcome] ?? 'up',
  fromMs: from_ms,
  toMs: to_ms,
  reason,
})
