/**
 * The SQL that drizzle-kit generated, embedded, so that a compiled binary
 * carries it. In order; never edited.
 */
import history from './history/migrations/0000_history.sql' with { type: 'text' }
import coverage from './history/migrations/0001_coverage.sql' with { type: 'text' }
import coverageDue from './history/migrations/0002_coverage_due.sql' with { type: 'text' }
import coinTotals from './history/migrations/0003_coin_totals.sql' with { type: 'text' }
import coinTotalTriggers from './history/migrations/0004_coin_total_triggers.sql' with { type: 'text' }
import gapStarts from './history/migrations/0005_gap_starts.sql' with { type: 'text' }
import checksums from './history/migrations/0006_checksums.sql' with { type: 'text' }
import rowNotes from './history/migrations/0007_row_notes.sql' with { type: 'text' }
import rowNotesDue from './history/migrations/0008_row_notes_due.sql' with { type: 'text' }
import coinTotalChecksum from './history/migrations/0009_coin_total_checksum.sql' with { type: 'text' }
import coinTotalSeals from './history/migrations/0010_coin_total_seals.sql' with { type: 'text' }
import assets from './history/migrations/0011_assets.sql' with { type: 'text' }
import spot from './history/migrations/0012_spot.sql' with { type: 'text' }
import settlement from './history/migrations/0013_settlement.sql' with { type: 'text' }
import revisions from './history/migrations/0014_revisions.sql' with { type: 'text' }
import manifests from './history/migrations/0015_manifests.sql' with { type: 'text' }
import knownEvents from './history/migrations/0016_known_events.sql' with { type: 'text' }
import segments from './history/migrations/0017_segments.sql' with { type: 'text' }
import tradeTransactions from './history/migrations/0018_trade_transactions.sql' with { type: 'text' }
import fees from './history/migrations/0019_fees.sql' with { type: 'text' }
import evidence from './history/migrations/0020_evidence.sql' with { type: 'text' }
import postgresHistory from './history/postgres/0000_history.sql' with { type: 'text' }
import postgresSegments from './history/postgres/0001_segments.sql' with { type: 'text' }
import postgresTradeTransactions from './history/postgres/0002_trade_transactions.sql' with { type: 'text' }
import postgresFees from './history/postgres/0003_fees.sql' with { type: 'text' }
import postgresEvidence from './history/postgres/0004_evidence.sql' with { type: 'text' }
import ledger from './ledger/migrations/0000_ledger.sql' with { type: 'text' }
import auditTriggers from './ledger/migrations/0001_audit_triggers.sql' with { type: 'text' }
import payments from './ledger/migrations/0002_payments.sql' with { type: 'text' }
import auditNoReplace from './ledger/migrations/0003_audit_no_replace.sql' with { type: 'text' }
import offerPayers from './ledger/migrations/0004_offer_payers.sql' with { type: 'text' }
import freeAccounts from './ledger/migrations/0005_free_accounts.sql' with { type: 'text' }
import insertionOrder from './ledger/migrations/0006_insertion_order.sql' with { type: 'text' }
import credits from './ledger/migrations/0007_credits.sql' with { type: 'text' }
import paidAnswers from './ledger/migrations/0008_paid_answers.sql' with { type: 'text' }
import seals from './ledger/migrations/0009_seals.sql' with { type: 'text' }
import paidAnswerSeals from './ledger/migrations/0010_paid_answer_seals.sql' with { type: 'text' }
import unsealed from './ledger/migrations/0011_unsealed.sql' with { type: 'text' }
import postgresLedger from './ledger/postgres/0000_ledger.sql' with { type: 'text' }
import postgresPaidAnswers from './ledger/postgres/0001_paid_answers.sql' with { type: 'text' }
import postgresSeals from './ledger/postgres/0002_seals.sql' with { type: 'text' }
import postgresPaidAnswerSeals from './ledger/postgres/0003_paid_answer_seals.sql' with { type: 'text' }
import postgresUnsealed from './ledger/postgres/0004_unsealed.sql' with { type: 'text' }

export const historyMigrations: readonly string[] = [
  history,
  coverage,
  coverageDue,
  coinTotals,
  coinTotalTriggers,
  gapStarts,
  checksums,
  rowNotes,
  rowNotesDue,
  coinTotalChecksum,
  coinTotalSeals,
  assets,
  spot,
  settlement,
  revisions,
  manifests,
  knownEvents,
  segments,
  tradeTransactions,
  fees,
  evidence,
]
/** The same for PostgreSQL. */
export const postgresHistoryMigrations: readonly string[] = [
  postgresHistory,
  postgresSegments,
  postgresTradeTransactions,
  postgresFees,
  postgresEvidence,
]
export const postgresLedgerMigrations: readonly string[] = [
  postgresLedger,
  postgresPaidAnswers,
  postgresSeals,
  postgresPaidAnswerSeals,
  postgresUnsealed,
]
export const ledgerMigrations: readonly string[] = [
  ledger,
  auditTriggers,
  payments,
  auditNoReplace,
  offerPayers,
  freeAccounts,
  insertionOrder,
  credits,
  paidAnswers,
  seals,
  paidAnswerSeals,
  unsealed,
]
