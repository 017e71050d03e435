/** The contract of a history on PostgreSQL, of which a standby confirms each commit. */
import { describe } from 'bun:test'

import { usePostgres } from '../support/engines/each.ts'
import { postgresPrograms } from '../support/engines/postgres.ts'
import { openHistoryIn } from '../support/stores.ts'
import { conform } from './conformance.ts'

describe.skipIf(postgresPrograms === undefined)('PostgreSQL', () => {
  const { placeOf } = usePostgres()
  let schemas = 0

  conform('a history on PostgreSQL', () => openHistoryIn(placeOf(`history_${++schemas}`)), {
    seeds: 1,
    steps: 25,
  })
})
