/** A key that another process has just made: a server on PostgreSQL knows it at once. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openLedger } from '#src/ledger/open.ts'

import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { addKey } from '../../support/harness.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 120_000
const KEYS = 30

describe.skipIf(postgresPrograms === undefined)('a key that was made by another process', () => {
  const { placeOf } = usePostgres()

  test.each([
    ['the first thread', '/v1/keys'],
    ['a thread for data', '/v1/btc/markets'],
  ])(
    'behavior: is known to %s from its first request on',
    async (_, path) => {
      await using stack = new AsyncDisposableStack()
      const folder = mkdtempSync(join(tmpdir(), 'bookfeed-new-keys-'))
      stack.defer(() => rmSync(folder, { recursive: true, force: true }))
      const place = placeOf(`new_keys${path.replaceAll('/', '_')}`)
      const server = await startKillableServer({
        BOOKFEED_DATA: folder,
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_LEDGER: place,
      })
      stack.defer(server.kill)
      const ledger = stack.use(openLedger(place, { nowMs: systemClock() }))
      const statuses: number[] = []
      for (let made = 0; made < KEYS; made++) {
        const headers = { authorization: `Bearer ${addKey(ledger, undefined)}` }
        statuses.push((await fetch(server.origin + path, { headers })).status)
      }
      expect(statuses.filter((status) => status === 401)).toEqual([])
    },
    MS_MAX,
  )
})
