/** What can be told of a whole file by SQL alone. */
import type { Database } from './database.ts'

/** What holds of each row, by table; a comparison with null, which is not true, is not false either. */
const claims: Readonly<Record<string, string>> = {
  gap: 'outcome IN (0, 1) AND is_derived IN (0, 1) AND from_ms < to_ms',
  trade: 'price BETWEEN 0 AND 1000000 AND outcome IN (0, 1) AND side IN (0, 1) AND size >= 0',
}

/** Functions that return a sentence a fault. */
export const fileChecks = [checkPages, findOrphans, findOddRows] as const

function checkPages(db: Database): string[] {
  const answers = db.prepare<unknown, []>('PRAGMA quick_check').values().flat()
  return answers.filter((answer) => answer !== 'ok').map((answer) => `SQLite: ${answer}`)
}

function findOrphans(db: Database): string[] {
  return ['chunk', 'tail', 'trade', 'gap'].flatMap((table) => {
    const sql = `SELECT DISTINCT market_id FROM ${table} WHERE market_id NOT IN (SELECT id FROM market)`
    const ids = db.prepare<unknown, []>(sql).values().flat()
    return ids.map((id) => `${table} table: rows of a market ${id} that is not there`)
  })
}

/** Rows that no writer of ours makes. */
function findOddRows(db: Database): string[] {
  return Object.entries(claims).flatMap(([table, claim]) => {
    const sql = `SELECT DISTINCT market_id FROM ${table} WHERE NOT (${claim})`
    const ids = db.prepare<unknown, []>(sql).values().flat()
    return ids.map((id) => `${table} table: rows of market ${id} that nobody wrote so`)
  })
}
