/**
 * What makes the stores and brings them up to date, embedded, so that a compiled binary carries it.
 * The SQL of SQLite is drizzle-kit's. Only added to: a file is never edited once it was merged.
 */

import historySqlite from './history/migrations/0000_initial.sql' with { type: 'text' }
import historyWindowOutcomes from './history/migrations/0001_window_outcomes.sql' with { type: 'text' }
import historyNoMoments from './history/migrations/0002_no_moments.sql' with { type: 'text' }
import historyPostgres from './history/postgres/0000_initial.sql' with { type: 'text' }
import postgresWindowOutcomes from './history/postgres/0001_window_outcomes.sql' with { type: 'text' }
import postgresHistoryLog from './history/postgres/0002_logged_tables.sql' with { type: 'text' }
import postgresNoMoments from './history/postgres/0003_no_moments.sql' with { type: 'text' }
import ledgerSqlite from './ledger/migrations/0000_initial.sql' with { type: 'text' }
import ledgerActivity from './ledger/migrations/0001_activity.sql' with { type: 'text' }
import ledgerChecksums from './ledger/migrations/0002_checksums.sql' with { type: 'text' }
import ledgerPostgres from './ledger/postgres/0000_initial.sql' with { type: 'text' }
import postgresLedgerLog from './ledger/postgres/0001_logged_tables.sql' with { type: 'text' }
import postgresLedgerActivity from './ledger/postgres/0002_activity.sql' with { type: 'text' }
import postgresLedgerChecksums from './ledger/postgres/0003_checksums.sql' with { type: 'text' }
import changeLog from './postgres/change_log.sql' with { type: 'text' }

export type Migrations = {
  /** The format that the first makes. Each other raises it by one. */
  firstFormat: number
  sql: readonly string[]
}

export const historyMigrations: Migrations = {
  firstFormat: 21,
  sql: [historySqlite, historyWindowOutcomes, historyNoMoments],
}
export const ledgerMigrations: Migrations = {
  firstFormat: 12,
  sql: [ledgerSqlite, ledgerActivity, ledgerChecksums],
}
export const postgresHistoryMigrations: Migrations = {
  firstFormat: 5,
  sql: [historyPostgres, postgresWindowOutcomes, changeLog + postgresHistoryLog, postgresNoMoments],
}
export const postgresLedgerMigrations: Migrations = {
  firstFormat: 5,
  sql: [
    ledgerPostgres,
    changeLog + postgresLedgerLog,
    postgresLedgerActivity,
    postgresLedgerChecksums,
  ],
}
