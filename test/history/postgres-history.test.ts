/** The contract of a history on PostgreSQL, of which a standby confirms each commit. */
import { afterAll, beforeAll, describe } from 'bun:test'

import { openHistory } from '#src/history/open.ts'

import { type Postgres, postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { conform } from './conformance.ts'

const START_MS_MAX = 120_000

describe.skipIf(postgresPrograms === undefined)('PostgreSQL', () => {
  let postgres: Postgres | undefined
  let schemas = 0
  beforeAll(async () => {
    postgres = await startPostgres()
  }, START_MS_MAX)
  afterAll(() => postgres?.[Symbol.asyncDispose]())

  conform(
    'a history on PostgreSQL',
    () => openHistory(`${postgres?.url}?schema=history_${++schemas}`),
    { seeds: 1, steps: 25 },
  )
})
