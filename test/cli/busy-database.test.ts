/** A server that starts while others keep the ledger on a PostgreSQL to themselves. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { openLedgerIn } from '../support/stores.ts'
import { systemClock } from '../support/venue/venue.ts'

const LIMIT_MS = 300_000
/** Longer than a server waits for an answer. */
const BUSY_MS = 2000
const LOOKS_MAX = 1000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-busy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(postgresPrograms === undefined)('serve', () => {
  test(
    'behavior: waits for its turn to write, and ends its start',
    async () => {
      await using postgres = await startPostgres()
      ;(await openLedgerIn(postgres.url, { nowMs: systemClock() })).dispose()
      await using sql = new SQL(postgres.url, { max: 2 })
      const other = await sql.reserve()
      const takeTurn = () =>
        other`SELECT pg_advisory_xact_lock(hashtextextended('bookfeed bookfeed_ledger', 0))`
      await other`BEGIN`
      await takeTurn()
      const starting = startKillableServer({
        BOOKFEED_DATA: folder,
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_LEDGER: postgres.url,
      })
      // It opens the ledger, which it waits for without an end.
      let isWaiting = false
      for (let looks = 0; !isWaiting && looks < LOOKS_MAX; looks++) {
        await Bun.sleep(50)
        const [row] = await sql`SELECT count(*) AS count FROM pg_locks WHERE NOT granted`
        isWaiting = Number(row.count) > 0
      }
      expect(isWaiting).toBe(true)
      await other`COMMIT`
      await other`BEGIN`
      await takeTurn()
      await Bun.sleep(BUSY_MS)
      await other`COMMIT`
      other.release()
      const server = await starting
      const ask = async () => (await fetch(`${server.origin}/v1/coins`)).status
      // A caller is told to come again where PostgreSQL takes longer than 50 ms to answer.
      let status = await ask()
      for (let tries = 0; status === 503 && tries < LOOKS_MAX; tries++) {
        await Bun.sleep(50)
        status = await ask()
      }
      expect(status).toBe(200)
      await server.kill()
    },
    LIMIT_MS,
  )
})
