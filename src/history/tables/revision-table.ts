/** Rows of the revision and moment tables: what changed, and what was known when. */
import { moment, revision, spotMoment, tradeMoment } from '#db/history/schema.ts'
import { assertSealed, checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, readOnce, type StoreClock } from '#src/database/database.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { FactChange, MarketChange, Revision } from '#src/domain/revision.ts'

import type { RevisionLog } from '../revisions.ts'
import type { ChangeReads } from './event-table.ts'
import { type LogMeta, type MomentLog, verifyLog } from './meta-table.ts'

type Texts = Pick<Revision, 'coin' | 'timeframe' | 'why'>
type RevisionRow = Omit<typeof revision.$inferSelect, keyof Texts> & Texts
type MomentRow = typeof moment.$inferSelect

const SECOND_MS = 1000

/** Notes changes; the verbs that write need the transaction of the change around them. */
export function createRevisionTable(db: Database, meta: LogMeta, clock: StoreClock) {
  const sql = sqlOf(revision)
  const insert = db.prepare<unknown, [RevisionRow]>(sql.insert())
  const newest = readOnce(
    db,
    db.prepare<Pick<RevisionRow, 'id' | 'atMs'>, []>(
      `SELECT ${sql.columns(['id', 'atMs'])} FROM revision ORDER BY id DESC LIMIT 1`,
    ),
    ([row]) => row ?? { id: 0, atMs: 0 },
  )
  const all = db.prepare<RevisionRow, []>(`SELECT ${sql.columns()} FROM revision ORDER BY id`)

  return {
    /** Asks for what `note` needs. */
    later(): void {
      clock.later()
      newest.later()
      meta.later()
    },

    /** Says that a market has become what it is at its revision. */
    note(
      market: Pick<Market, 'conditionId' | 'coin' | 'timeframe' | 'orderMs' | 'revision'>,
      change: MarketChange,
    ): void {
      const { conditionId, coin, timeframe, orderMs } = market
      const { why, added = 0, changed = 0, removed = 0, fromMs = null, toMs = null } = change
      const last = newest()
      const facts = change.facts?.map(({ fact, before, after }) => [fact, before, after])
      const row: RevisionRow = {
        id: last.id + 1,
        atMs: Math.max(clock(), last.atMs),
        why,
        conditionId,
        coin,
        timeframe,
        orderMs,
        revision: market.revision,
        added,
        changed,
        removed,
        fromMs,
        toMs,
        facts: facts === undefined ? null : JSON.stringify(facts),
        checksum: 0,
      }
      row.checksum = checksumOf(row)
      insert.run(row)
      newest.put(row)
      meta.addToSum('revision', row.checksum)
    },

    /** Begins to note, in a file that does not yet. */
    begin: (): void => meta.begin(clock),

    /** A sentence a fault. */
    verify: (): string[] => [...meta.verify(), ...verifyLog(all.iterate(), 'revision', meta)],
  }
}

/** Reads what `createRevisionTable` noted. */
export function createRevisionReads(
  db: Database,
  meta: LogMeta,
): Omit<RevisionLog, keyof ChangeReads> {
  const sql = sqlOf(revision)
  const list = db.prepare<RevisionRow, [number, number]>(
    `SELECT ${sql.columns()} FROM revision WHERE id > $1 ORDER BY id LIMIT $2`,
  )
  const first = db.prepare<{ id: number }, [number]>(
    'SELECT id FROM revision WHERE at_ms >= $1 ORDER BY at_ms, id LIMIT 1',
  )
  const last = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM revision')
  const removal = db.prepare<Pick<RevisionRow, 'atMs'>, [string]>(
    `SELECT ${sql.columns(['atMs'])} FROM revision WHERE condition_id = $1 AND removed > 0
     ORDER BY id DESC LIMIT 1`,
  )
  const change = db.prepare<Pick<RevisionRow, 'atMs'>, [string]>(
    `SELECT ${sql.columns(['atMs'])} FROM revision
     WHERE condition_id = $1 AND (removed > 0 OR changed > 0) ORDER BY id DESC LIMIT 1`,
  )
  const facts = db.prepare<RevisionRow, [string, number]>(
    `SELECT ${sql.columns()} FROM revision
     WHERE condition_id = $1 AND at_ms >= $2 AND facts IS NOT NULL ORDER BY id DESC`,
  )
  return {
    sinceMs: meta.sinceMs,
    lastIdBefore: (atMs) => (first.get(atMs)?.id ?? (last.get()?.id ?? 0) + 1) - 1,
    lastRemovalMs: (conditionId) => removal.get(conditionId)?.atMs ?? 0,
    lastChangeMs: (conditionId) => change.get(conditionId)?.atMs ?? 0,
    eventsSinceMs: meta.eventsSinceMs,
    firstIdFrom: createFirstId(db, 'moment'),
    firstTradeIdFrom: createFirstId(db, 'trade_moment'),
    firstSpotIdFrom: createFirstId(db, 'spot_moment'),
    factsSince: (conditionId, atMs) =>
      facts.all(conditionId, atMs).flatMap((row) => toRevision(row).facts),
    list: (afterId, limit) => list.all(afterId, limit).map(toRevision),
  }
}

/** Notes once a second how far ids have come, so that it is known which rows were there by then. */
export function createMoments(
  db: Database,
  meta: LogMeta,
  { log, clock }: { log: MomentLog; clock: StoreClock },
) {
  const sql = sqlOf(momentTables[log])
  const put = db.prepare<unknown, [MomentRow]>(`${sql.insert()} ON CONFLICT (second) DO NOTHING`)
  const last = readOnce(
    db,
    db.prepare<MomentRow, []>(`SELECT ${sql.columns()} FROM ${log} ORDER BY second DESC LIMIT 1`),
    ([row]) => row,
  )
  const all = db.prepare<MomentRow, []>(`SELECT ${sql.columns()} FROM ${log}`)
  let notedSecond = -1

  return {
    /** Asks for what `noteIds` and `leastId` need. */
    later(): void {
      clock.later()
      last.later()
      meta.later()
    },

    /** To be called before ids are given, with the first of them. */
    noteIds(nextId: number): void {
      const second = Math.floor(clock() / SECOND_MS)
      if (second === notedSecond) return
      notedSecond = second
      // A clock that was set back adds to the second that was noted last.
      if (second <= (last()?.second ?? -1)) return
      const row = { second, nextId, checksum: 0 }
      row.checksum = checksumOf(row)
      put.run(row)
      last.put(row)
      meta.addToSum(log, row.checksum)
    },

    /** No id below was free when the last second was noted: what had one may be deleted since. */
    leastId: (): number => last()?.nextId ?? 1,

    /** A sentence a fault. */
    verify: (): string[] => verifyLog(all.iterate(), log, meta),

    /** A transaction that may have noted something came to nothing. */
    forgetNoted(): void {
      notedSecond = -1
    },
  }
}

export type Moments = ReturnType<typeof createMoments>

const momentTables = { moment, trade_moment: tradeMoment, spot_moment: spotMoment }

/** Finds the first id that was given in a second of Unix time or later. Throws a `damage` fault. */
function createFirstId(db: Database, log: MomentLog): (second: number) => number {
  const from = db.prepare<MomentRow, [number]>(
    `SELECT ${sqlOf(momentTables[log]).columns()} FROM ${log}
     WHERE second >= $1 ORDER BY second LIMIT 1`,
  )
  return (second) => {
    const noted = from.get(second)
    if (noted === null) return Number.MAX_SAFE_INTEGER
    assertSealed(noted, `${log} ${noted.second}`)
    return noted.nextId
  }
}

const nameOf = ({ id }: Pick<RevisionRow, 'id'>): string => `revision ${id}`

function toRevision(row: RevisionRow): Revision {
  assertSealed(row, nameOf(row))
  const { fromMs, toMs, facts, checksum: _, ...rest } = row
  const changes = (facts === null ? [] : JSON.parse(facts)) as [
    FactChange['fact'],
    FactChange['before'],
    FactChange['after'],
  ][]
  return {
    ...rest,
    coin: row.coin as Coin,
    fromMs: fromMs ?? undefined,
    toMs: toMs ?? undefined,
    facts: changes.map(([fact, before, after]) => ({ fact, before, after })),
  }
}
