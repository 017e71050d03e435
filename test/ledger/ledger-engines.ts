/** The engines of a ledger, for tests of what each of them does for itself. */
import type { Database } from '#src/database/database.ts'
import { ledgerFormat, openDatabase } from '#src/database/sqlite/database.ts'
import { openPostgres } from '#src/extensions/postgres/database.ts'
import { postgresLedger } from '#src/extensions/postgres/formats.ts'

import { onEachEngine as onEngines } from '../support/engines/each.ts'
import '../support/stores.ts'

export type Column = { table: string; name: string; isNumber: boolean; isBytes: boolean }

export type LedgerEngine = {
  isFile: boolean
  /** A file, or a schema of a PostgreSQL, that nobody has opened. */
  newPlace(): string
  /** What is in it, past the ledger: as somebody else has it. */
  openDatabase(place: string): Database
  columnsOf(db: Database, table: string): Column[]
  /** Bytes as a statement writes them. */
  bytes(hex: string): string
  /** Takes away what keeps rows of the audit chain from being changed. */
  dropTriggers(db: Database): void
}

/** Runs tests on a file, and where there is one on a PostgreSQL with a standby. */
export function onEachEngine(body: (engine: LedgerEngine) => void): void {
  onEngines(({ engine, placeOf }) => {
    let places = 0
    const own = engine === 'SQLite' ? ofFiles : ofPostgres
    body({ ...own, newPlace: () => placeOf(`ledger_${++places}`) })
  })
}

const ofFiles: Omit<LedgerEngine, 'newPlace'> = {
  isFile: true,
  openDatabase: (place) => openDatabase(place, { format: ledgerFormat }),
  columnsOf: (db, table) =>
    db
      .prepare<{ name: string; type: string }, []>(
        `SELECT name, lower(type) AS type FROM pragma_table_info('${table}')`,
      )
      .all()
      .map(({ name, type }) => toColumn({ table, name, type })),
  bytes: (hex) => `x'${hex}'`,
  dropTriggers(db) {
    for (const verb of ['update', 'delete']) db.run(`DROP TRIGGER audit_no_${verb}`)
  },
}

const ofPostgres: Omit<LedgerEngine, 'newPlace'> = {
  isFile: false,
  openDatabase: (place) => openPostgres(place, postgresLedger),
  columnsOf: (db, table) =>
    db
      .prepare<{ name: string; type: string }, []>(
        `SELECT column_name AS name, data_type AS type FROM information_schema.columns
         WHERE table_schema = current_schema() AND table_name = '${table}'`,
      )
      .all()
      .map(({ name, type }) => toColumn({ table, name, type })),
  bytes: (hex) => `decode('${hex}', 'hex')`,
  dropTriggers(db) {
    for (const what of ['change', 'truncate']) db.run(`DROP TRIGGER audit_no_${what} ON audit`)
  },
}

const toColumn = ({ type, ...column }: { table: string; name: string; type: string }): Column => ({
  ...column,
  isNumber: type === 'integer' || type === 'bigint',
  isBytes: type === 'blob' || type === 'bytea',
})
