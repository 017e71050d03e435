/** Servers on one PostgreSQL, of which the clock of one is wrong. */
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { byOperator } from '#src/ledger/actor.ts'

import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { clockSetBy, hasFaketime } from '../../support/faketime.ts'
import { findFreePort } from '../../support/free-port.ts'
import { makeKey } from '../../support/harness.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { bookfeed } from '../../support/program.ts'
import { runCommand } from '../../support/run-command.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'
import { systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 240_000
const MINUTE_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-clocks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(postgresPrograms === undefined || !hasFaketime)(
  'a server with a wrong clock',
  () => {
    test(
      'behavior: one that is ten minutes ahead does not set the clock of the next server',
      async () => {
        await using stack = new AsyncDisposableStack()
        const postgres = stack.use(await startPostgres())
        ;(await openHistoryIn(postgres.url)).dispose()
        using ledger = await openLedgerIn(postgres.url, { nowMs: systemClock() })
        const key = await makeKey(ledger, 'pro')
        const id = ledger.listKeys().at(-1)?.id ?? ''
        const nowMs = systemClock()
        await ledger.expireKey(id, nowMs + 5 * MINUTE_MS, byOperator(nowMs))

        /** The status of a request with the key, to a server in a folder. */
        const statusAt = async (name: string, clock: Record<string, string> = {}) => {
          const data = join(folder, name)
          if (!existsSync(data)) mkdirSync(data)
          const server = await startKillableServer({
            BOOKFEED_HISTORY: postgres.url,
            BOOKFEED_LEDGER: postgres.url,
            BOOKFEED_DATA: data,
            BOOKFEED_PORT: '0',
            BOOKFEED_LOG: 'off',
            BOOKFEED_SAMPLE: 'off',
            ...clock,
          })
          const headers = { authorization: `Bearer ${key}` }
          const { status } = await fetch(`${server.origin}/v1/btc/markets`, { headers })
          await server.kill()
          return status
        }
        expect(await statusAt('ahead', clockSetBy('+10m'))).toBe(401)
        expect(await statusAt('right')).toBe(200)
        // The folder of the first one keeps its time, also when its clock is right again.
        expect(await statusAt('ahead')).toBe(401)
      },
      MS_MAX,
    )

    test(
      'error: it is not ready and says by how much its clock differs, as doctor does',
      async () => {
        await using stack = new AsyncDisposableStack()
        const postgres = stack.use(await startPostgres())
        ;(await openHistoryIn(postgres.url)).dispose()
        ;(await openLedgerIn(postgres.url, { nowMs: systemClock() })).dispose()
        const env = {
          BOOKFEED_HISTORY: postgres.url,
          BOOKFEED_LEDGER: postgres.url,
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
        }
        const readiness = async (clock: Record<string, string>) => {
          const data = mkdtempSync(join(folder, 'apart-'))
          const server = await startKillableServer({ ...env, ...clock, BOOKFEED_DATA: data })
          const response = await fetch(`${server.origin}/readyz`)
          await server.kill()
          return [response.status, await response.text()]
        }
        expect(await readiness({})).toEqual([200, expect.any(String)])
        expect(await readiness(clockSetBy('+1'))).toEqual([200, expect.any(String)])
        for (const [offset, text] of [
          ['+10m', /Not ready: clock. The clock of this machine is (600|599)\.\d s ahead of/],
          ['-3', /Not ready: clock. The clock of this machine is [23]\.\d s behind/],
        ] as const)
          expect(await readiness(clockSetBy(offset))).toEqual([503, expect.stringMatching(text)])

        const port = await findFreePort()
        const recorder = Bun.spawn(bookfeed('record'), {
          env: {
            ...env,
            ...clockSetBy('+5m'),
            BOOKFEED_DATA: mkdtempSync(join(folder, 'recorder-')),
            BOOKFEED_RECORD_METRICS: `127.0.0.1:${port}`,
            BOOKFEED_FEED_URL: 'ws://127.0.0.1:1',
            BOOKFEED_CATALOGUE_URL: 'http://127.0.0.1:1',
          },
          stdout: 'ignore',
          stderr: 'ignore',
        })
        try {
          const ask = () => fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
          let told = await ask()
          while (told === undefined) {
            await Bun.sleep(50)
            told = await ask()
          }
          expect([told.status, await told.json()]).toEqual([
            503,
            { ready: false, reason: expect.stringMatching(/(300|299)\.\d s ahead of/) },
          ])
        } finally {
          recorder.kill('SIGKILL')
          await recorder.exited
        }

        const data = mkdtempSync(join(folder, 'doctor-'))
        const doctor = await runCommand(
          { ...env, ...clockSetBy('+10m'), BOOKFEED_DATA: data },
          'doctor',
        )
        expect(doctor.printed).toMatch(
          /wrong +clock: The clock of this machine is (600|599)\.\d s ahead of the clock of the database/,
        )
        const right = await runCommand({ ...env, BOOKFEED_DATA: data }, 'doctor')
        for (const { printed } of [doctor, right]) expect(printed).not.toContain('no other clock')
        expect(right.printed).toMatch(/ok +clock: It agrees with the clock of the database/)
      },
      MS_MAX,
    )
  },
)
