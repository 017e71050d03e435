/** Rows of the revision table: changes with their times. */
import { revision } from '#db/history/schema.ts'
import { assertSealed, checksumOf } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import type { Database } from '#src/database/database.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { FactChange, MarketChange, Revision } from '#src/domain/revision.ts'
import type { Clock } from '#src/domain/time.ts'

import type { LastChangeQuery, RevisionLog } from '../revisions.ts'
import { type LogMeta, verifyLog } from './meta-table.ts'

type Texts = Pick<Revision, 'coin' | 'timeframe' | 'why'>
type RevisionRow = Omit<typeof revision.$inferSelect, keyof Texts> & Texts

/** Logs changes; the verbs that write need the transaction of the change. */
export function createRevisionTable(db: Database, meta: LogMeta, clock: Clock) {
  const sql = sqlOf(revision)
  const insert = db.prepare<unknown, [RevisionRow]>(sql.insert())
  const newest = db.prepare<Pick<RevisionRow, 'id' | 'atMs'>, []>(
    `SELECT ${sql.columns(['id', 'atMs'])} FROM revision ORDER BY id DESC LIMIT 1`,
  )
  const all = db.prepare<RevisionRow, []>(`SELECT ${sql.columns()} FROM revision ORDER BY id`)

  return {
    /** Logs the change that led to the market's current revision. */
    note(
      market: Pick<Market, 'conditionId' | 'coin' | 'timeframe' | 'orderMs' | 'revision'>,
      change: MarketChange,
    ): void {
      const { conditionId, coin, timeframe, orderMs } = market
      const { why, added = 0, changed = 0, removed = 0, fromMs = null, toMs = null } = change
      const last = newest.get() ?? { id: 0, atMs: 0 }
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
      meta.addToSum('revision', row.checksum)
    },

    /** Begins the log in a file without one. */
    begin: (): void => meta.begin(clock),

    /** Faults, each a sentence. */
    verify: (): string[] => [...meta.verify(), ...verifyLog(all.iterate(), 'revision', meta)],
  }
}

/** Reads the log of `createRevisionTable`. */
export function createRevisionReads(db: Database, meta: LogMeta): RevisionLog {
  const sql = sqlOf(revision)
  const list = db.prepare<RevisionRow, [number, number]>(
    `SELECT ${sql.columns()} FROM revision WHERE id > $1 ORDER BY id LIMIT $2`,
  )
  const first = db.prepare<{ id: number }, [number]>(
    'SELECT id FROM revision WHERE at_ms >= $1 ORDER BY at_ms, id LIMIT 1',
  )
  const ofMarket = db.prepare<RevisionRow, [string, number]>(
    `SELECT ${sql.columns()} FROM revision
     WHERE condition_id = $1 AND at_ms > $2 AND facts IS NOT NULL ORDER BY id`,
  )
  const last = db.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM revision')
  const lastChange = db.prepare<Pick<RevisionRow, 'atMs'>, [LastChangeQuery]>(
    `SELECT ${sql.columns(['atMs'])} FROM revision INDEXED BY revision_time
     WHERE at_ms >= $sinceMs AND coin = $coin AND order_ms >= $fromMs AND order_ms < $toMs
     ORDER BY at_ms DESC LIMIT 1`,
  )
  return {
    sinceMs: meta.sinceMs,
    lastIdBefore: (atMs) => (first.get(atMs)?.id ?? (last.get()?.id ?? 0) + 1) - 1,
    lastChangeMs: (query) => lastChange.get(query)?.atMs,
    list: (afterId, limit) => list.all(afterId, limit).map(toRevision),
    factsOf: (conditionId, afterMs) =>
      ofMarket.all(conditionId, afterMs).map((row) => toRevision(row).facts),
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
