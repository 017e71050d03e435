/**
 * Carries a history from one database to another, of any engine: every row as it is, so that ids,
 * cursors and tags stay what they were. Nothing may write to either meanwhile.
 */
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'

import {
  batch,
  chunk,
  gap,
  manifest,
  manifestBody,
  market,
  marketEvent,
  moment,
  revision,
  segment,
  spot,
  spotMoment,
  tail,
  trade,
  tradeMoment,
} from '#db/history/schema.ts'
import { assertSound } from '#src/database/checksum.ts'
import { sqlOf } from '#src/database/columns.ts'
import { type Database, readConsistently, StoreFault, transact } from '#src/database/database.ts'

import { COPYING, createMeta } from './tables/meta-table.ts'

/** Totals of coins follow from the markets; `meta`, without which a history is none, is last. */
const tables: readonly SQLiteTable[] = [
  ...[market, chunk, tail, trade, gap, spot, batch],
  ...[segment, revision, moment, tradeMoment, spotMoment, marketEvent, manifest, manifestBody],
]

/** Some megabytes of chunks. */
const ROWS_AT_ONCE = 500

type Row = Record<string, string | number | Uint8Array | null>
type CopyStep = { table: string; rows: number }

/**
 * Copies a step at a time; goes on where an earlier call was interrupted. Throws `StoreFault` where
 * `to` holds another history, and `Damage` where not all of it arrived.
 */
export function* copyHistory(from: Database, to: Database): Generator<CopyStep> {
  const [source, target] = [createMeta(from, 'meta'), createMeta(to, 'meta')]
  assertSound(source.isSound(), 'the meta table')
  const { cursor_key: key } = source.list()
  if (!(key instanceof Uint8Array)) throw new StoreFault('There is no history to copy.')
  const begun = target.list()[COPYING]
  if (begun === undefined) {
    if (Object.keys(target.list()).length > 0)
      throw new StoreFault('The target holds a history already. Name an empty one.')
    target.begin({ [COPYING]: key })
  } else if (!(begun instanceof Uint8Array) || begun.toHex() !== key.toHex()) {
    throw new StoreFault('The target holds an unfinished copy of another history. Empty it first.')
  }
  for (const table of tables) yield* copyTable(from, to, table)
  transact(to, () => {
    for (const name of ['chunk', 'segment']) to.engine.continueIds(to, name)
    for (const name of ['log_meta', 'meta'] as const) {
      const { checksum: _, ...rows } = createMeta(from, name).list()
      const there = createMeta(to, name)
      if (name === 'meta') there.remove(COPYING)
      there.begin(rows)
    }
  })
}

function* copyTable(from: Database, to: Database, table: SQLiteTable): Generator<CopyStep> {
  const { name, columns, primaryKeys } = getTableConfig(table)
  const sql = sqlOf(table)
  const keys = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)
  const names = new Map(Object.entries(table).map(([own, column]) => [column, own]))
  const ownNames = keys.map((column) => names.get(column) ?? column.name)
  const order = keys.map((column) => column.name).join(', ')
  const select = (rest: string) => `SELECT ${sql.columns()} FROM ${name} ${rest}`
  const last = to.prepare<Row, []>(
    select(`ORDER BY ${keys.map((column) => `${column.name} DESC`).join(', ')} LIMIT 1`),
  )
  const first = from.prepare<Row, []>(select(`ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`))
  const next = from.prepare<Row, [Row]>(
    select(
      `WHERE (${order}) > (${ownNames.map((own) => `$${own}`).join(', ')}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`,
    ),
  )
  const insert = to.prepare<unknown, [Row]>(sql.insert())
  for (let at = last.get(); ;) {
    const rows = at === null ? first.all() : next.all(at)
    at = rows.at(-1) ?? null
    if (at === null) break
    transact(to, () => {
      for (const row of rows) insert.run(row)
    })
    yield { table: name, rows: rows.length }
  }
  const countOf = (db: Database): number =>
    readConsistently(
      db,
      () =>
        db.prepare<{ count: number }, []>(`SELECT count(*) AS count FROM ${name}`).get()?.count ??
        0,
    )
  assertSound(countOf(from) === countOf(to), `the copy of ${name}`)
}
