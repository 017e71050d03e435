/** The engines of a ledger, for tests of what each of them does for itself. */
import type { Database } from '#src/database/database.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'

import { onEachEngine as onEngines, onFile as onOneFile } from '../support/engines/each.ts'
import { askServer } from '../support/server-sql.ts'

export type Column = { table: string; name: string; isNumber: boolean; isBytes: boolean }

export type LedgerEngine = {
  isFile: boolean
  /** A file, or a schema of a PostgreSQL, that nobody has opened. */
  newPlace(): string
  /** Statements of somebody else, past the ledger. */
  run(place: string, ...statements: string[]): Promise<void>
  /** Bytes as a statement writes them. */
  bytes(hex: string): string
}

/** Runs tests on a file, and where there is one on a PostgreSQL with a standby. */
export function onEachEngine(body: (engine: LedgerEngine) => void): void {
  onEngines(({ engine, placeOf }) => {
    let places = 0
    const own = engine === 'SQLite' ? ofFiles : ofPostgres
    body({ ...own, newPlace: () => placeOf(`ledger_${++places}`) })
  })
}

/** Runs tests on a file alone: what is changed by hand in PostgreSQL comes to files by copying. */
export const onFiles = (body: (engine: LedgerEngine) => void): void =>
  onOneFile(({ placeOf }) => {
    let places = 0
    body({ ...ofFiles, newPlace: () => placeOf(`ledger_${++places}`) })
  })

/** Takes away what keeps rows of the audit chain from being changed. */
export function dropTriggers(db: Database): void {
  for (const verb of ['update', 'delete']) db.run(`DROP TRIGGER audit_no_${verb}`)
}

export const openLedgerDatabase = (path: string): Database =>
  openDatabase(path, { format: ledgerFormat })

const ofFiles: Omit<LedgerEngine, 'newPlace'> = {
  isFile: true,
  async run(place, ...statements) {
    const db = openLedgerDatabase(place)
    for (const sql of statements) db.run(sql)
    db.close()
  },
  bytes: (hex) => `x'${hex}'`,
}

const ofPostgres: Omit<LedgerEngine, 'newPlace'> = {
  isFile: false,
  async run(place, ...statements) {
    await askServer(place, statements.join('; '))
  },
  bytes: (hex) => `decode('${hex}', 'hex')`,
}

export const columnsOf = (db: Database, table: string): Column[] =>
  db
    .prepare<{ name: string; type: string }, []>(
      `SELECT name, lower(type) AS type FROM pragma_table_info('${table}')`,
    )
    .all()
    .map(({ name, type }) => ({
      table,
      name,
      isNumber: type === 'integer',
      isBytes: type === 'blob',
    }))
