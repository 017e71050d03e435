/** A server without a copy listens, and is not ready before it has one. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { findFreePort } from '../../support/free-port.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { openHistoryIn } from '../../support/stores.ts'
import { until } from '../../support/until.ts'

const TEST_MS_MAX = 300_000
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-first-copy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(postgresPrograms === undefined)('a server that makes its first copy', () => {
  const { server, placeOf } = usePostgres()

  test(
    'behavior: it answers that it is not ready, and is once the copy is whole',
    async () => {
      const place = placeOf('first')
      ;(await openHistoryIn(place)).dispose()
      const port = findFreePort()
      const ask = async (path: string) => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`)
        const { status, headers } = response
        return { status, type: headers.get('content-type'), text: await response.text() }
      }
      await using sql = new SQL(server().url, { max: 1 })
      const starting = await sql.begin(async (held) => {
        await held.unsafe('LOCK TABLE first.chunk IN ACCESS EXCLUSIVE MODE')
        const started = startKillableServer({
          BOOKFEED_HISTORY: place,
          BOOKFEED_DATA: folder,
          BOOKFEED_PORT: String(port),
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
        })
        await until(() =>
          ask('/healthz').then(
            () => true,
            () => false,
          ),
        )
        expect(await ask('/healthz')).toMatchObject({ status: 200 })
        for (const path of ['/readyz', '/v1/btc/markets']) {
          const { status, type, text } = await ask(path)
          expect([status, type]).toEqual([503, 'application/problem+json'])
          expect(JSON.parse(text)).toMatchObject({
            code: 'unavailable',
            detail: 'Not ready: history, ledger. The server copies its database first.',
            retryAfterSeconds: 5,
          })
        }
        return { started }
      })
      const ready = await starting.started
      expect(await ask('/readyz')).toMatchObject({ status: 200 })
      expect((await ask('/v1/btc/markets')).status).toBe(401)
      await ready.kill()
    },
    TEST_MS_MAX,
  )
})
