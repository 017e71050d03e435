/** Rows of the gap table: times without snapshots, recorded or derived. */
import { gap } from '#db/history/schema.ts'
import { assertSound, checksumOf, SUM_END, SUM_MASK } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, later, withLater } from '#src/database/database.ts'
import { ENDLESS_MS, type Gap, type GapReason, type Span } from '#src/domain/coverage.ts'
import type { OwnGap } from '#src/domain/evidence.ts'
import { type Outcome, outcomes } from '#src/domain/market.ts'
import { cutFrom } from '#src/domain/spans.ts'
import { createCache } from '#src/platform/cache.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { StoredMarket } from './market-table.ts'

export type GapRow = Omit<typeof gap.$inferSelect, 'reason'> & { reason: GapReason }
export type { OwnGap }

/** Rows that a change removed, and those that it added. */
export type GapRows = { went: readonly GapRow[]; came: readonly GapRow[] }

/** Whether gaps were recorded, or what they follow from: evidence of imports, times, verdicts. */
const kinds = { evidence: -1, recorded: 0, time: 1, verdict: 2 } as const
/** Whose gaps: those of a kind and an outcome of a market. */
export type GapOwner = Pick<GapRow, 'marketId' | 'outcome' | 'kind'>

export const ownerOf = (
  { id }: { id: number },
  outcome: Outcome,
  kind: keyof typeof kinds,
): GapOwner => ({ marketId: id, outcome: outcomeCodes[outcome], kind: kinds[kind] })

const recordedOf = (marketId: number, outcome: Outcome): GapOwner =>
  ownerOf({ id: marketId }, outcome, 'recorded')

/** Outcomes whose last gap is kept in memory; one takes some 200 bytes. */
const OWNERS_MAX = 5000

const EVER = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }

function prepareGaps(db: Database) {
  const sql = sqlOf(gap)
  const ofOwner =
    'FROM gap WHERE market_id = $marketId AND outcome = $outcome AND is_derived = $kind'
  const list = db.prepare<GapRow, [{ marketId: number }]>(
    `SELECT ${sql.columns()} FROM gap WHERE market_id = $marketId
     ORDER BY from_ms, outcome, to_ms, is_derived, reason`,
  )
  const derived = db.prepare<OwnGap, [GapOwner & Span]>(
    `SELECT ${sql.columns(['fromMs', 'toMs', 'reason'])} ${ofOwner}
     AND from_ms >= $fromMs AND to_ms <= $toMs ORDER BY from_ms`,
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

/** Reads and writes gaps; every change raises the market's `gap_revision`. */
export function createGapTable(db: Database) {
  const { list, derived, last, longest, insert, remove, endless, revise } = prepareGaps(db)

  const lasts = createCache<string, { gapRevision: number; gap: OwnGap | undefined }>(OWNERS_MAX)

  /** Makes `known` gaps those that are `now`. */
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

  /** Records gaps, of which empty ones are none; returns how many were not there. */
  function record(marketId: number, gaps: readonly Gap[]): number {
    const added = gaps
      .filter(({ fromMs, toMs }) => fromMs < toMs)
      .flatMap(({ outcome, ...each }) => insert.all({ ...recordedOf(marketId, outcome), ...each }))
    if (added.length > 0) revise.run({ sum: sumOf(added), marketId })
    return added.length
  }

  return {
    /**
     * All gaps of a market, ascending by `fromMs`, none twice: what is derived of a time that is
     * recorded as a gap says nothing more. Throws a `damage` fault.
     */
    list({ id, gapSum }: Pick<StoredMarket, 'id' | 'gapSum'>): Gap[] {
      const rows = list.all({ marketId: id })
      assertSound(sumOf(rows) % SUM_END === gapSum, `the gaps of market ${id}`)
      return toGaps(rows)
    },

    /** The sum that `list` compares, of the gaps as they are. */
    sum: (marketId: number): number => sumOf(list.all({ marketId })) % SUM_END,

    derived: withLater((owner: GapOwner) => later(derived, { ...owner, ...EVER })),

    /** The gap that ends last. `gapRevision` is that of the market: while it stays, so does the answer. */
    last: withLater((owner: GapOwner, gapRevision: number) => {
      if (gapRevision === 0) return () => undefined
      const key = `${owner.marketId} ${owner.outcome} ${owner.kind}`
      const kept = lasts.get(key)
      if (kept?.gapRevision === gapRevision) return () => kept.gap
      const found = later(last, owner)
      return (): OwnGap | undefined => {
        const [gap] = found()
        lasts.set(key, { gapRevision, gap }, { size: 1 })
        return gap
      }
    }),

    /** Longest time between two snapshots with a derived gap between them. */
    longestDerived: (owner: GapOwner): number | undefined => longest.get(owner)?.ms ?? undefined,

    /** Returns the rows that came or went. */
    replaceDerived: replace,

    record,

    /** Ends the recorded gaps of an outcome that have no end yet; returns how many there were. */
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

    /** Takes a recorded gap back; returns how many there were. */
    withdraw: (marketId: number, { outcome, ...gap }: Gap): number =>
      replace(recordedOf(marketId, outcome), [gap], []).went.length,

    /** Records the part of a gap after `heldMs`, unless it is in one that is over. */
    recordAfter(marketId: number, gap: Gap, heldMs: number): number {
      const fromMs = Math.max(gap.fromMs, heldMs + 1)
      const isNoted = derived
        .all({ ...recordedOf(marketId, gap.outcome), ...EVER })
        .some((each) => each.fromMs <= fromMs && gap.toMs <= each.toMs && each.toMs < ENDLESS_MS)
      return isNoted ? 0 : record(marketId, [{ ...gap, fromMs }])
    },

    /** Takes a time out of recorded gaps, and all of those without an end; returns how many changed. */
    cut(marketId: number, outcome: Outcome, known: Span): number {
      const owner = recordedOf(marketId, outcome)
      const hit = derived
        .all({ ...owner, ...EVER })
        .filter(({ fromMs, toMs }) => fromMs < known.toMs && known.fromMs < toMs)
      const parts = hit.flatMap((gap) => cutFrom(gap, [known]))
      replace(
        owner,
        hit,
        parts.filter(({ toMs }) => toMs < ENDLESS_MS),
      )
      return hit.length
    },

    /** Takes recorded gaps out that are over, or all of them; returns these. */
    takeRecorded(marketId: number, outcome: Outcome, isClosed: boolean): readonly GapRow[] {
      const owner = recordedOf(marketId, outcome)
      const recorded = derived.all({ ...owner, ...EVER })
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

/** As `list`, of the rows of a market in any order. */
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
