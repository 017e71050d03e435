import { Database } from 'bun:sqlite'
import { copyFileSync, rmSync } from 'node:fs'

type Row = Record<string, unknown>

/** All rows of all tables of a closed file, as texts; the file stays unchanged. */
export function tableRows(
  path: string,
  isWanted: (row: Row) => boolean = () => true,
): Record<string, string[]> {
  const copy = `${path}.looked-at`
  copyFileSync(path, copy)
  using db = new Database(copy)
  const tables = db.query<{ name: string }, []>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  )
  const listed = tables.all().map(({ name }): [string, string[]] => {
    const rows = db.query<Row, []>(`SELECT * FROM "${name}"`).all()
    return [
      name,
      rows
        .filter(isWanted)
        .map((row) => JSON.stringify(row))
        .sort(),
    ]
  })
  for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
  return Object.fromEntries(listed)
}
