/** The contract of a ledger and its payments on PostgreSQL, with a standby. */
import { describe } from 'bun:test'

import { usePostgres } from '../support/engines/each.ts'
import { postgresPrograms } from '../support/engines/postgres.ts'
import { openLedgerIn } from '../support/stores.ts'
import { conformLedger } from './ledger-conformance.ts'
import { conformPayments } from './payment-conformance.ts'

describe.skipIf(postgresPrograms === undefined)('PostgreSQL', () => {
  const { placeOf } = usePostgres()
  let schemas = 0

  const open = (nowMs: number) => openLedgerIn(placeOf(`ledger_${++schemas}`), { nowMs })
  conformLedger('a ledger on PostgreSQL', open)
  conformPayments('payments on PostgreSQL', open)
})
