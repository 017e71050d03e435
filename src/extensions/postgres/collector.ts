/** Collects the rows that a transaction on the write handle of a copy changes. */
import type { Database } from '#src/database/database.ts'

import type { Changed } from './sent-rows.ts'
import { sequences, type StoreTable } from './tables.ts'

export type Collector = ReturnType<typeof createCollector>

/** `triggers` are those of the store, installed on this handle only. */
export function createCollector(
  db: Database,
  tables: readonly StoreTable[],
  triggers: readonly string[],
) {
  const hasSequences = tables.includes(sequences)
  const keysMax = Math.max(...tables.map(({ keys }) => keys.length))
  const places = Array.from({ length: keysMax }, (_, at) => `k${at}`)
  // A row replaced by another one is collected as deleted.
  db.run('PRAGMA recursive_triggers = ON')
  db.run(
    `CREATE TEMP TABLE changed_row (of INTEGER NOT NULL, ${places
      .map((place) => `${place} NOT NULL DEFAULT 0`)
      .join(', ')}, is_gone INTEGER NOT NULL, PRIMARY KEY (of, ${places})) WITHOUT ROWID`,
  )
  for (const [at, table] of tables.entries())
    if (table !== sequences) for (const sql of collecting(table, at, places)) db.run(sql)
  for (const sql of triggers) db.run(sql.replace(/^CREATE TRIGGER/i, 'CREATE TEMP TRIGGER'))

  const findTables = db.prepare<unknown, []>('SELECT DISTINCT of FROM changed_row')
  const clear = db.prepare<unknown, []>('DELETE FROM changed_row')
  const reads = tables.map(({ name, columns, keys }, at) => {
    const own = places.slice(0, keys.length)
    const isOwn = keys.map((key, place) => `${name}.${key.name} = changed_row.k${place}`)
    return {
      gone: db.prepare<unknown, []>(
        `SELECT ${own} FROM changed_row WHERE of = ${at} AND is_gone = 1`,
      ),
      rows: db.prepare<unknown, []>(
        `SELECT ${columns.map((column) => `${name}.${column}`)} FROM changed_row
         CROSS JOIN ${name} ON ${isOwn.join(' AND ')} WHERE of = ${at}`,
      ),
    }
  })
  const findIds = db.prepare<unknown, []>('SELECT name, seq FROM sqlite_sequence')
  const idsNow = (): string[] =>
    hasSequences ? findIds.values().map((row) => JSON.stringify(row)) : []
  let idsBefore: string[] = []

  return {
    /** Call at the start of each transaction. */
    begin(): void {
      clear.run()
      idsBefore = idsNow()
    },

    /** Returns the rows changed by the transaction, by table. */
    take(): Changed[] {
      const changed = findTables.values().map(([at]): Changed => {
        const table = tables[Number(at)]
        const read = reads[Number(at)]
        if (table === undefined || read === undefined) throw new Error('A table is not known.')
        return { table, gone: read.gone.values(), rows: read.rows.values() }
      })
      const ids = idsNow().filter((row) => !idsBefore.includes(row))
      if (ids.length > 0)
        changed.push({ table: sequences, gone: [], rows: ids.map((row) => JSON.parse(row)) })
      return changed
    },
  }
}

/**
 * Triggers that collect the keys of changed rows. A row whose unique values change counts as
 * deleted first, because another row may have these values now.
 */
function collecting(
  { name, keys, unique }: StoreTable,
  at: number,
  places: readonly string[],
): string[] {
  const note = (row: 'new' | 'old', isGone: 0 | 1): string =>
    `INSERT INTO changed_row (of, ${places.slice(0, keys.length)}, is_gone)
     VALUES (${at}, ${keys.map((key) => `${row}.${key.name}`)}, ${isGone})
     ON CONFLICT DO ${isGone ? 'UPDATE SET is_gone = 1' : 'NOTHING'};`
  const own = [...keys.map((key) => key.name), ...unique]
  const isOther = own.map((column) => `old.${column} IS NOT new.${column}`).join(' OR ')
  const trigger = (event: string, body: string): string =>
    `CREATE TEMP TRIGGER collect_${name}_${event.split(' ')[0]?.toLowerCase()}_${body.includes('old.') ? 'old' : 'new'}
     AFTER ${event.replace(' ON', ` ON main.${name}`)} BEGIN ${body} END`
  return [
    trigger('INSERT ON', note('new', 0)),
    trigger('UPDATE ON', note('new', 0)),
    trigger(`UPDATE ON WHEN ${isOther}`, note('old', 1)),
    trigger('DELETE ON', note('old', 1)),
  ]
}
