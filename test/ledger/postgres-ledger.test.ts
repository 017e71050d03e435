/** The contract of a ledger and its payments on PostgreSQL, with a standby. */
import { afterAll, beforeAll, describe } from 'bun:test'

import { openLedger } from '#src/ledger/open.ts'

import { type Postgres, postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { conformLedger } from './ledger-conformance.ts'
import { conformPayments } from './payment-conformance.ts'

const START_MS_MAX = 120_000

describe.skipIf(postgresPrograms === undefined)('PostgreSQL', () => {
  let postgres: Postgres | undefined
  let schemas = 0
  beforeAll(async () => {
    postgres = await startPostgres()
  }, START_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  const open = (nowMs: number) =>
    openLedger(`${postgres?.url}?schema=ledger_${++schemas}`, { nowMs })
  conformLedger('a ledger on PostgreSQL', open)
  conformPayments('payments on PostgreSQL', open)
})
