/** Rows of the gap table: times without snapshots, recorded by somebody or derived from the snapshots. */
import type { Gap, GapReason } from '#src/core/coverage.ts'
import { outcomes } from '#src/core/market.ts'
import { assertSound, checksumOf, SUM_END, SUM_MASK } from '#src/sqlite/checksum.ts'
import type { Database } from '#src/sqlite/database.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { StoredMarket } from './market-row.ts'

/** A gap of one outcome, which its list says. */
export type Silence = { readonly fromMs: number; readonly toMs: number; readonly reason: GapReason }

type GapRow = {
  market_id: number
  outcome: number
  is_derived: number
  from_ms: number
  to_ms: number
  reason: GapReason
}
type SilenceRow = Pick<GapRow, 'from_ms' | 'to_ms' | 'reason'>
type GapValues = [number, number, number, number, number, GapReason]
/** What gaps follow from, as `is_derived` holds it: 0 is what was recorded. */
export const gapKinds = { silence: 1, contradiction: 2 } as const
/** Whose gaps: of an outcome's code in a market, and what they follow from. */
export type GapOwner = {
  marketId: number
  outcome: number
  kind: (typeof gapKinds)[keyof typeof gapKinds]
}

/** Reads and writes gaps; every change raises the market's `gap_revision`. */
export function createGapTable(db: Database) {
  const list = db.prepare<GapRow, [number]>(
    'SELECT * FROM gap WHERE market_id = ? ORDER BY from_ms, outcome, to_ms, reason',
  )
  const derived = db.prepare<SilenceRow, [number, number, number, number, number]>(
    `SELECT from_ms, to_ms, reason FROM gap
     WHERE market_id = ? AND outcome = ? AND is_derived = ? AND from_ms >= ? AND to_ms <= ?
     ORDER BY from_ms`,
  )
  const last = db.prepare<SilenceRow, [number, number, number]>(
    `SELECT from_ms, to_ms, reason FROM gap WHERE market_id = ? AND outcome = ? AND is_derived = ?
     ORDER BY from_ms DESC LIMIT 1`,
  )
  const longest = db.prepare<{ ms: number | null }, [number, number]>(
    `SELECT max(to_ms - from_ms) + 1 AS ms FROM gap WHERE market_id = ? AND outcome = ? AND is_derived = 1`,
  )
  const insert = db.prepare<GapRow, GapValues>(
    `INSERT OR IGNORE INTO gap (market_id, outcome, is_derived, from_ms, to_ms, reason)
     VALUES (?, ?, ?, ?, ?, ?) RETURNING *`,
  )
  const remove = db.prepare<GapRow, [number, number, number, number, number]>(
    `DELETE FROM gap WHERE market_id = ? AND outcome = ? AND is_derived = ? AND from_ms = ? AND to_ms = ?
     RETURNING *`,
  )
  const revise = db.prepare(
    `UPDATE market SET gap_revision = gap_revision + 1, gap_sum = (gap_sum + ?) & ${SUM_MASK} WHERE id = ?`,
  )

  return {
    /** All gaps of a market, ascending by `fromMs`, none twice. Throws `Damage`. */
    list({ id, gapSum }: Pick<StoredMarket, 'id' | 'gapSum'>): Gap[] {
      const rows = list.all(id)
      assertSound(sumOf(rows) % SUM_END === gapSum, `the gaps of market ${id}`)
      return rows.map(toGap).filter((gap, at, all) => !Bun.deepEquals(gap, all[at - 1]))
    },

    /** The sum that `list` compares, of the gaps as they are. */
    sum: (marketId: number): number => sumOf(list.all(marketId)) % SUM_END,

    /** Derived gaps that lie between two moments, ascending. */
    derived: ({ marketId, outcome, kind }: GapOwner, { fromMs, toMs } = EVER): Silence[] =>
      derived.all(marketId, outcome, kind, fromMs, toMs).map(toSilence),

    /** The last of the derived gaps. */
    lastDerived: ({ marketId, outcome, kind }: GapOwner): Silence | undefined =>
      last.all(marketId, outcome, kind).map(toSilence)[0],

    /** Longest time between two snapshots with a derived gap between them; undefined when there is none. */
    longestDerived: ({ marketId, outcome }: GapOwner): number | undefined =>
      longest.get(marketId, outcome)?.ms ?? undefined,

    /** Takes out derived gaps and puts in others. */
    replaceDerived(owner: GapOwner, gone: readonly Silence[], made: readonly Silence[]): void {
      const { marketId, outcome, kind } = owner
      let sum = 0
      for (const { fromMs, toMs } of gone)
        sum -= sumOf(remove.all(marketId, outcome, kind, fromMs, toMs))
      for (const { fromMs, toMs, reason } of made)
        sum += sumOf(insert.all(marketId, outcome, kind, fromMs, toMs, reason))
      if (gone.length + made.length > 0) revise.run(sum, marketId)
    },

    /** Records gaps, of which empty ones are none; returns how many were not there. */
    record(marketId: number, gaps: readonly Gap[]): number {
      const added = gaps
        .filter(({ fromMs, toMs }) => fromMs < toMs)
        .flatMap(({ outcome, fromMs, toMs, reason }) =>
          insert.all(marketId, outcomeCodes[outcome], 0, fromMs, toMs, reason),
        )
      if (added.length > 0) revise.run(sumOf(added), marketId)
      return added.length
    },
  }
}

export type GapTable = ReturnType<typeof createGapTable>

const sumOf = (rows: readonly GapRow[]): number =>
  rows.reduce((sum, row) => sum + checksumOf(row), 0)

const EVER = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

const toSilence = ({ from_ms, to_ms, reason }: SilenceRow): Silence => ({
  fromMs: from_ms,
  toMs: to_ms,
  reason,
})

const toGap = ({ outcome, from_ms, to_ms, reason }: GapRow): Gap => ({
  outcome: outcomes[outcome] ?? 'up',
  fromMs: from_ms,
  toMs: to_ms,
  reason,
})
