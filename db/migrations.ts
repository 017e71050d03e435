/**
 * What makes the stores and brings them up to date, embedded, so that a compiled binary carries it.
 * The SQL of SQLite is drizzle-kit's. Only added to: a file is never edited once it was merged.
 */

import historySqlite from './history/migrations/0000_initial.sql' with { type: 'text' }
import historyWindowOutcomes from './history/migrations/0001_window_outcomes.sql' with { type: 'text' }
import historyNoMoments from './history/migrations/0002_no_moments.sql' with { type: 'text' }
import historyRecorders from './history/migrations/0003_recorders.sql' with { type: 'text' }
import historyCosts from './history/migrations/0004_costs.sql' with { type: 'text' }
import historySpotDropped from './history/migrations/0005_spot_dropped.sql' with { type: 'text' }
import historyTradeChain from './history/migrations/0006_trade_chain.sql' with { type: 'text' }
import historyPostgres from './history/postgres/0000_initial.sql' with { type: 'text' }
import postgresWindowOutcomes from './history/postgres/0001_window_outcomes.sql' with { type: 'text' }
import postgresHistoryLog from './history/postgres/0002_logged_tables.sql' with { type: 'text' }
import postgresNoMoments from './history/postgres/0003_no_moments.sql' with { type: 'text' }
import postgresRecorders from './history/postgres/0004_recorders.sql' with { type: 'text' }
import postgresHistoryClocks from './history/postgres/0005_clocks.sql' with { type: 'text' }
import postgresRowsAsSent from './history/postgres/0006_rows_as_sent.sql' with { type: 'text' }
import postgresCosts from './history/postgres/0007_costs.sql' with { type: 'text' }
import postgresSpotDropped from './history/postgres/0008_spot_dropped.sql' with { type: 'text' }
import postgresTradeChain from './history/postgres/0009_trade_chain.sql' with { type: 'text' }
import ledgerSqlite from './ledger/migrations/0000_initial.sql' with { type: 'text' }
import ledgerActivity from './ledger/migrations/0001_activity.sql' with { type: 'text' }
import ledgerChecksums from './ledger/migrations/0002_checksums.sql' with { type: 'text' }
import ledgerPostgres from './ledger/postgres/0000_initial.sql' with { type: 'text' }
import postgresLedgerLog from './ledger/postgres/0001_logged_tables.sql' with { type: 'text' }
import postgresLedgerActivity from './ledger/postgres/0002_activity.sql' with { type: 'text' }
import postgresLedgerChecksums from './ledger/postgres/0003_checksums.sql' with { type: 'text' }
import postgresLedgerClocks from './ledger/postgres/0004_clocks.sql' with { type: 'text' }
import postgresLedgerRowsAsSent from './ledger/postgres/0005_rows_as_sent.sql' with { type: 'text' }
import changeLog from './postgres/change_log.sql' with { type: 'text' }

export type Migrations = {
  /** The format that the first makes. Each other raises it by one. */
  firstFormat: number
  sql: readonly string[]
}

export const historyMigrations: Migrations = {
  firstFormat: 21,
  sql: [
    historySqlite,
    historyWindowOutcomes,
    historyNoMoments,
    historyRecorders,
    historyCosts,
    historySpotDropped,
    historyTradeChain,
  ],
}
export const ledgerMigrations: Migrations = {
  firstFormat: 12,
  sql: [ledgerSqlite, ledgerActivity, ledgerChecksums],
}
export const postgresHistoryMigrations: Migrations = {
  firstFormat: 5,
  sql: [
    historyPostgres,
    postgresWindowOutcomes,
    changeLog + postgresHistoryLog,
    postgresNoMoments,
    postgresRecorders,
    postgresHistoryClocks,
    postgresRowsAsSent,
    postgresCosts,
    postgresSpotDropped,
    postgresTradeChain,
  ],
}
export const postgresLedgerMigrations: Migrations = {
  firstFormat: 5,
  sql: [
    ledgerPostgres,
    changeLog + postgresLedgerLog,
    postgresLedgerActivity,
    postgresLedgerChecksums,
    postgresLedgerClocks,
    postgresLedgerRowsAsSent,
  ],
}
