/** Rows of the gap table: periods without snapshots, recorded or derived. */
import { gap } from '#db/history/schema.ts'
import { assertSound, checksumOf, SUM_END, SUM_MASK } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import { ENDLESS_MS, type Gap, type GapReason, type Span } from '#src/domain/coverage.ts'
import type { OwnGap } from '#src/domain/evidence.ts'
import { type Outcome, outcomes } from '#src/domain/market.ts'
import { subtractSpans } from '#src/domain/spans.ts'
import { createCache } from '#src/platform/cache.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { StoredMarket } from './market-table.ts'

export type GapRow = Omit<typeof gap.$inferSelect, 'reason'> & { reason: GapReason }
export type { OwnGap }

/** Rows removed and added by a change. */
export type GapRows = { went: readonly GapRow[]; came: readonly GapRow[] }

/** The origin of gaps: recorded, or derived from evidence of imports, times or verdicts. */
const kinds = { evidence: -1, recorded: 0, time: 1, verdict: 2 } as const
/** The owner of gaps: a kind and an outcome of a market. */
export type GapOwner = Pick<GapRow, 'marketId' | 'outcome' | 'kind'>

export const ownerOf = (
  { id }: { id: number },
  outcome: Outcome,
  kind: keyof typeof kinds,
): GapOwner => ({ marketId: id, outcome: outcomeCodes[outcome], kind: kinds[kind] })

const recordedOf = (marketId: number, outcome: Outcome): GapOwner =>
  ownerOf({ id: marketId }, outcome, 'recorded')

/** Outcomes whose last gap is cached; each takes some 200 bytes. */
const OWNERS_MAX = 5000

function prepareGaps(db: Database) {
  const sql = sqlOf(gap)
  const ofOwner =
    'FROM gap WHERE market_id = $marketId AND outcome = $outcome AND is_derived = $kind'
  const list = db.prepare<GapRow, [{ marketId: number }]>(
    `SELECT ${sql.columns()} FROM gap WHERE market_id = $marketId
     ORDER BY from_ms, outcome, to_ms, is_derived, reason`,
  )
  const derived = db.prepare<OwnGap, [GapOwner]>(
    `SELECT ${sql.columns(['fromMs', 'toMs', 'reason'])} ${ofOwner} ORDER BY from_ms`,
  )
  const last = db.prepare<OwnGap, [GapOwner]>(
    `SELECT ${sql.columns(['fromMs', 'toMs', 'reason'])} ${ofOwner} ORDER BY to_ms DESC LIMIT 1`,
  )
  const longest = db.prepare<{ ms: number | null }, [GapOwner]>(
    `SELECT max(to_ms - from_ms) + 1 AS ms ${ofOwner}`,
  )
  const insert = db.prepare<GapRow, [GapRow]>(
    `${sql.insert()} ON CONFLICT DO NOTHING RETURNING ${sql.columns()}`,
  )
  const remove = db.prepare<GapRow, [GapOwner & OwnGap]>(
    `DELETE ${ofOwner} AND from_ms = $fromMs AND to_ms = $toMs AND reason = $reason RETURNING ${sql.columns()}`,
  )
  const endless = db.prepare<OwnGap, [GapOwner]>(
    `SELECT ${sql.columns(['fromMs', 'toMs', 'reason'])} ${ofOwner} AND to_ms = ${ENDLESS_MS}`,
  )
  const revise = db.prepare<unknown, [{ sum: number; marketId: number }]>(
    `UPDATE market SET gap_revision = gap_revision + 1, gap_sum = (gap_sum + $sum) & ${SUM_MASK}
     WHERE id = $marketId`,
  )
  return { list, derived, last, longest, insert, remove, endless, revise }
}

/** Reads and writes gaps; every change raises the `gap_revision` of the market. */
export function createGapTable(db: Database) {
  const { list, derived, last, longest, insert, remove, endless, revise } = prepareGaps(db)

  const lasts = createCache<string, { gapRevision: number; gap: OwnGap | undefined }>(OWNERS_MAX)

  const derivedOf = (owner: GapOwner): OwnGap[] => derived.all(owner)

  /** Replaces the `known` gaps by those of `now`. */
  function replace(owner: GapOwner, known: readonly OwnGap[], now: readonly OwnGap[]): GapRows {
    if (known.length + now.length === 0) return { went: [], came: [] }
    const removed = without(known, now).flatMap(({ fromMs, toMs, reason }) =>
      remove.all({ ...owner, fromMs, toMs, reason }),
    )
    const added = without(now, known).flatMap((each) => insert.all({ ...owner, ...each }))
    if (removed.length + added.length > 0)
      revise.run({ sum: sumOf(added) - sumOf(removed), marketId: owner.marketId })
    return { went: removed, came: added }
  }

  /** Records gaps, ignoring empty ones; returns the number of new ones. */
  function record(marketId: number, gaps: readonly Gap[]): number {
    const added = gaps
      .filter(({ fromMs, toMs }) => fromMs < toMs)
      .flatMap(({ outcome, ...each }) => insert.all({ ...recordedOf(marketId, outcome), ...each }))
    if (added.length > 0) revise.run({ sum: sumOf(added), marketId })
    return added.length
  }

  return {
    /**
     * All gaps of a market by `fromMs`, without duplicates: derived gaps are omitted where a
     * recorded gap covers them. Throws a `damage` fault.
     */
    list({ id, gapSum }: Pick<StoredMarket, 'id' | 'gapSum'>): Gap[] {
      const rows = list.all({ marketId: id })
      assertSound(sumOf(rows) % SUM_END === gapSum, `the gaps of market ${id}`)
      return toGaps(rows)
    },

    /** The sum that `list` compares, computed from the current gaps. */
    sum: (marketId: number): number => sumOf(list.all({ marketId })) % SUM_END,

    derived: derivedOf,

    /** The gap that ends last. The result is valid for one `gapRevision` of the market. */
    last(owner: GapOwner, gapRevision: number): OwnGap | undefined {
      if (gapRevision === 0) return undefined
      const key = `${owner.marketId} ${owner.outcome} ${owner.kind}`
      const kept = lasts.get(key)
      if (kept?.gapRevision === gapRevision) return kept.gap
      const gap = last.get(owner) ?? undefined
      lasts.set(key, { gapRevision, gap }, { size: 1 })
      return gap
    },

    /** The longest time between two snapshots with a derived gap between them. */
    longestDerived: (owner: GapOwner): number | undefined => longest.get(owner)?.ms ?? undefined,

    /** Returns the removed and added rows. */
    replaceDerived: replace,

    record,

    /** Ends the open recorded gaps of an outcome; returns their number. */
    end(marketId: number, outcome: Outcome, atMs: number): number {
      const owner = recordedOf(marketId, outcome)
      const open = endless.all(owner)
      replace(
        owner,
        open,
        open.flatMap((each) => (each.fromMs < atMs ? { ...each, toMs: atMs } : [])),
      )
      return open.length
    },

    /** Withdraws a recorded gap; returns the number of removed rows. */
    withdraw: (marketId: number, { outcome, ...gap }: Gap): number =>
      replace(recordedOf(marketId, outcome), [gap], []).went.length,

    /** Records the part of a gap after `heldMs`, unless an ended gap contains it. */
    recordAfter(marketId: number, gap: Gap, heldMs: number): number {
      const fromMs = Math.max(gap.fromMs, heldMs + 1)
      const isNoted = derivedOf(recordedOf(marketId, gap.outcome)).some(
        (each) => each.fromMs <= fromMs && gap.toMs <= each.toMs && each.toMs < ENDLESS_MS,
      )
      return isNoted ? 0 : record(marketId, [{ ...gap, fromMs }])
    },

    /**
     * Removes a period from recorded gaps, and all gaps without an end; returns the number of
     * changes.
     */
    cut(marketId: number, outcome: Outcome, known: Span): number {
      const owner = recordedOf(marketId, outcome)
      const hit = derivedOf(owner).filter(
        ({ fromMs, toMs }) => fromMs < known.toMs && known.fromMs < toMs,
      )
      const parts = hit.flatMap((gap) => subtractSpans(gap, [known]))
      replace(
        owner,
        hit,
        parts.filter(({ toMs }) => toMs < ENDLESS_MS),
      )
      return hit.length
    },

    /** Removes and returns recorded gaps: the ended ones, or all. */
    takeRecorded(marketId: number, outcome: Outcome, isClosed: boolean): readonly GapRow[] {
      const owner = recordedOf(marketId, outcome)
      const recorded = derivedOf(owner)
      const taken = isClosed ? recorded : recorded.filter(({ toMs }) => toMs < ENDLESS_MS)
      return replace(owner, taken, []).went
    },
  }
}

export type GapTable = ReturnType<typeof createGapTable>

export const sumOf = (rows: readonly GapRow[]): number =>
  rows.reduce((sum, row) => sum + checksumOf(row), 0)

function without(gaps: readonly OwnGap[], others: readonly OwnGap[]): OwnGap[] {
  const textOf = ({ fromMs, toMs, reason }: OwnGap): string => `${fromMs} ${toMs} ${reason}`
  const known = new Set(others.map(textOf))
  return gaps.filter((gap) => !known.has(textOf(gap)))
}

/** Like `list`, for the rows of a market in any order. */
export const listOf = (rows: readonly GapRow[]): Gap[] => toGaps(rows.toSorted(compareRows))

const compareRows = (a: GapRow, b: GapRow): number =>
  a.fromMs - b.fromMs ||
  a.outcome - b.outcome ||
  a.toMs - b.toMs ||
  a.kind - b.kind ||
  Number(a.reason > b.reason) - Number(a.reason < b.reason)

const toGaps = (rows: readonly GapRow[]): Gap[] =>
  rows.filter((row, at) => !isAgain(row, rows[at - 1])).map(toGap)

const isAgain = (row: GapRow, before: GapRow | undefined): boolean =>
  before !== undefined &&
  (row.kind > 0 || row.reason === before.reason) &&
  row.outcome === before.outcome &&
  row.fromMs === before.fromMs &&
  row.toMs === before.toMs

const toGap = ({ outcome, fromMs, toMs, reason }: GapRow): Gap => ({
  outcome: outcomes[outcome] ?? 'up',
  fromMs,
  toMs,
  reason,
})
