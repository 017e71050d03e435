/**
 * Rows of the event table: what became of markets besides their rows and facts, so that it is known
 * how they were at a moment.
 */
import { gap, marketEvent } from '#db/history/schema.ts'
import { assertSealed, assertSound, checksumOf, SUM_END } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import {
  type Database,
  readConsistently,
  readOnce,
  type StoreClock,
} from '#src/database/database.ts'
import type { Gap } from '#src/domain/coverage.ts'

import type { RevisionLog } from '../revisions.ts'
import { type GapRow, listOf, sumOf } from './gap-table.ts'
import { type LogMeta, verifyLog } from './meta-table.ts'

type EventRow = typeof marketEvent.$inferSelect
type ById = { id: number }
type Since = { marketId: number; event: number; atMs: number }

const events = { created: 0, closed: 1, gapCame: 2, gapWent: 3 } as const
const NO_GAP = { outcome: null, kind: null, fromMs: null, toMs: null, reason: null }

/** The verbs that write need the transaction of the change around them. */
export function createEventTable(db: Database, meta: LogMeta, clock: StoreClock) {
  const sql = sqlOf(marketEvent)
  const insert = db.prepare<unknown, [EventRow]>(sql.insert())
  const newest = readOnce(
    db,
    db.prepare<Pick<EventRow, 'id' | 'atMs'>, []>(
      `SELECT ${sql.columns(['id', 'atMs'])} FROM market_event ORDER BY id DESC LIMIT 1`,
    ),
    ([row]) => row ?? { id: 0, atMs: 0 },
  )
  const all = db.prepare<EventRow, []>(`SELECT ${sql.columns()} FROM market_event`)
  const remove = db.prepare<Pick<EventRow, 'checksum'>, [{ marketId: number; limit: number }]>(
    `DELETE FROM market_event WHERE id IN (
       SELECT id FROM market_event WHERE market_id = $marketId
         AND id < (SELECT max(id) FROM market_event) LIMIT $limit) RETURNING checksum`,
  )

  function note(marketId: number, event: number, of: typeof NO_GAP | Omit<GapRow, 'marketId'>) {
    const last = newest()
    const { outcome, kind, fromMs, toMs, reason } = of
    const row: EventRow = {
      id: last.id + 1,
      atMs: Math.max(clock(), last.atMs),
      marketId,
      event,
      outcome,
      kind,
      fromMs,
      toMs,
      reason,
      checksum: 0,
    }
    row.checksum = checksumOf(row)
    insert.run(row)
    newest.put(row)
    meta.addToSum('market_event', row.checksum)
  }

  return {
    /** Asks for what the next verbs need. */
    later(): void {
      clock.later()
      newest.later()
      meta.later()
    },

    noteCreated: ({ id }: ById): void => note(id, events.created, NO_GAP),
    noteClosed: ({ id }: ById): void => note(id, events.closed, NO_GAP),
    noteGaps(went: readonly GapRow[], came: readonly GapRow[]): void {
      for (const row of went) note(row.marketId, events.gapWent, row)
      for (const row of came) note(row.marketId, events.gapCame, row)
    },

    /** Removes some of a deleted market; how many. The newest stays: no id is given twice. */
    remove(marketId: number, limit: number): number {
      const gone = remove.all({ marketId, limit })
      const sum = gone.reduce((total, { checksum }) => total + checksum, 0) % SUM_END
      if (gone.length > 0) meta.addToSum('market_event', SUM_END - sum)
      return gone.length
    },

    /** A sentence a fault. */
    verify: (): string[] => verifyLog(all.iterate(), 'market_event', meta),
  }
}

export type ChangeReads = Pick<RevisionLog, 'isNewSince' | 'isClosedSince' | 'gapsAt'>

/** Reads what `createEventTable` noted; all throw a `damage` fault. */
export function createChangeReads(db: Database): ChangeReads {
  const sql = sqlOf(marketEvent)
  const ofMarket = `SELECT ${sql.columns()} FROM market_event
    WHERE market_id = $marketId AND at_ms >= $atMs`
  const since = db.prepare<EventRow, [Since]>(`${ofMarket} AND event = $event`)
  const gapsSince = db.prepare<EventRow, [Omit<Since, 'event'>]>(
    `${ofMarket} AND event >= ${events.gapCame} ORDER BY id DESC`,
  )
  const rows = db.prepare<GapRow, [number]>(
    `SELECT ${sqlOf(gap).columns()} FROM gap WHERE market_id = $1`,
  )
  const gapSum = db.prepare<{ sum: number }, [number]>(
    'SELECT gap_sum AS sum FROM market WHERE id = $1',
  )
  const hasSince =
    (event: number) =>
    ({ id }: ById, atMs: number): boolean =>
      sealed(since.all({ marketId: id, event, atMs })).length > 0

  return {
    isNewSince: hasSince(events.created),
    isClosedSince: hasSince(events.closed),

    /** Those of now, without what came since, and with what went. */
    gapsAt: ({ id }: ById, atMs: number): Gap[] =>
      readConsistently(db, () => {
        const now = rows.all(id)
        assertSound(sumOf(now) % SUM_END === gapSum.get(id)?.sum, `the gaps of market ${id}`)
        const held = new Map(now.map((row) => [keyOf(row), row]))
        for (const row of sealed(gapsSince.all({ marketId: id, atMs }))) {
          const { event, outcome, kind, fromMs, toMs, reason } = row
          const other = { marketId: id, outcome, kind, fromMs, toMs, reason } as GapRow
          if (event === events.gapCame) held.delete(keyOf(other))
          else held.set(keyOf(other), other)
        }
        return listOf([...held.values()])
      }),
  }
}

const keyOf = ({ outcome, kind, fromMs, toMs, reason }: GapRow): string =>
  `${outcome} ${kind} ${fromMs} ${toMs} ${reason}`

function sealed(rows: EventRow[]): EventRow[] {
  for (const row of rows) assertSealed(row, `event ${row.id} of market ${row.marketId}`)
  return rows
}
