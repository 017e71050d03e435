/** A server that is cut off from PostgreSQL, while another one and the recorders go on. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { digestOf } from '#src/domain/selling/api-key.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { byOperator } from '#src/ledger/actor.ts'

import { aSnapshot, conditionIdOf } from '../../history/books.ts'
import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { followEvents } from '../../support/event-client.ts'
import { findFreePort } from '../../support/free-port.ts'
import { makeKey } from '../../support/harness.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { openProxy } from '../../support/proxy-thread.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'
import { systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 240_000
const TRIES_MAX = 2_000
const TRY_MS = 50
const HOUR_MS = 3_600_000

const tier: Tier = {
  tierId: 'drill',
  name: 'Drill',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1_000_000,
  coins: ['btc'],
  routes: ['markets', 'snapshots'],
}

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-stale-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await holds()) return
    await Bun.sleep(TRY_MS)
  }
  throw new Error(`${what}: in vain.`)
}

/** Markets of an hour: 1 has just begun, 2 is closed, and 3 is over but not closed yet. */
async function record(place: string) {
  const history = await openHistoryIn(place)
  const startMs = systemClock() - 60_000
  let batches = 0
  const append = async (number: number, timestampMs: number, size: number): Promise<void> => {
    const conditionId = conditionIdOf(number)
    const book = { conditionId, timeframe: '1h', timestampMs } as const
    await history.append({
      id: `stale-${++batches}`,
      source: 'simulated',
      gapReason: 'import',
      snapshots: [aSnapshot(book, size), aSnapshot({ ...book, outcome: 'down' }, size)],
    })
  }
  for (const number of [1, 2, 3]) {
    const windowStartMs = startMs - (number === 1 ? 0 : number * HOUR_MS)
    await history.putMarket({
      conditionId: conditionIdOf(number),
      coin: 'btc',
      timeframe: '1h',
      source: 'simulated',
      windowStartMs,
      windowEndMs: windowStartMs + HOUR_MS,
    })
    for (let row = 0; row < 3; row++)
      await append(
        number,
        number === 1 ? systemClock() : windowStartMs + row * 1000,
        (row + 1) * 1e6,
      )
  }
  await history.close(conditionIdOf(2))
  return { history, append }
}

describe.skipIf(postgresPrograms === undefined)('a server that is cut off', () => {
  test(
    'behavior: it says so, and honours no key for long; afterwards all is there',
    async () => {
      await using stack = new AsyncDisposableStack()
      const postgres = stack.use(await startPostgres())
      const port = Number(new URL(postgres.url).port)
      const proxy = openProxy(port)
      stack.defer(proxy.stop)
      const behind = new URL(postgres.url)
      behind.port = `${proxy.port}`
      const { history, append } = await record(postgres.url)
      stack.defer(() => history.dispose())
      using ledger = await openLedgerIn(postgres.url, { nowMs: systemClock() })
      const key = await makeKey(ledger, tier)
      const revoked = await makeKey(ledger, tier)

      const start = async (name: string, url: string) => {
        const data = join(folder, name)
        mkdirSync(data)
        const server = await startKillableServer({
          BOOKFEED_HISTORY: url,
          BOOKFEED_LEDGER: url,
          BOOKFEED_DATA: data,
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
        })
        stack.defer(server.kill)
        return server
      }
      const cutOff = await start('cut-off', behind.href)
      const other = await start('other', postgres.url)
      const ask = async (server: typeof other, path: string, token = key) => {
        const headers = { authorization: `Bearer ${token}` }
        const response = await fetch(server.origin + path, { headers })
        const { status } = response
        const names = ['x-coverage', 'etag', 'cache-control', 'x-resume-cursor']
        const [coverage = '', ...others] = names.map((name) => response.headers.get(name) ?? '')
        return { status, coverage, others, text: await response.text() }
      }
      const pageOf = (number: number) => `/v1/btc/markets/${conditionIdOf(number)}/snapshots`
      const isBehind = async (server: typeof other, number: number) =>
        (await ask(server, pageOf(number))).coverage.includes('replica_behind')
      /** On a busy machine a server is behind for a moment now and then. */
      const untilCurrent = async (server: typeof other): Promise<void> => {
        await until('It is ready', async () => (await ask(server, '/readyz')).status === 200)
        for (const number of [1, 2, 3])
          await until('It is not behind', async () => !(await isBehind(server, number)))
      }

      await untilCurrent(cutOff)
      const closed = await ask(cutOff, pageOf(2))
      expect((await ask(cutOff, pageOf(1), revoked)).status).toBe(200)
      const live = `/v1/btc/markets/${conditionIdOf(1)}/live`
      const follow = async () =>
        followEvents(
          await fetch(cutOff.origin + live, { headers: { authorization: `Bearer ${key}` } }),
        )
      const client = await follow()
      await client.until(() => client.events().length === 2)

      proxy.leadTo(await findFreePort())
      await append(1, systemClock(), 9e6)
      await history.close(conditionIdOf(3))
      const { id = '' } = ledger.findKeyByDigest(digestOf(revoked)) ?? {}
      expect(await ledger.revokeKey(id, byOperator(systemClock()))).toBe(true)
      await until('The open market has the gap', () => isBehind(cutOff, 1))
      const open = await ask(cutOff, pageOf(1))
      expect(open.coverage).toMatch(/^partial;.*reasons=".*replica_behind.*"$/)
      expect(open.others.slice(0, 2)).toEqual(['', 'no-store'])
      expect(await ask(cutOff, pageOf(2))).toEqual(closed)
      const unready = await ask(cutOff, '/readyz')
      expect(unready.status).toBe(503)
      expect(unready.text).toContain(
        'Not ready: history, ledger. The copy of the history is behind',
      )
      await client.until(() => client.events().some(({ name }) => name === 'gap'))
      // The other one knows all of it.
      await until('The other server has the row', async () => {
        return (await ask(other, pageOf(1))).text.includes('"size":9}')
      })
      await untilCurrent(other)
      await until('The other server refuses the key', async () => {
        return (await ask(other, pageOf(1), revoked)).status === 401
      })

      await until('No key is honoured', async () => (await ask(cutOff, pageOf(2))).status === 503)
      for (const token of [key, revoked]) {
        const { status, text } = await ask(cutOff, pageOf(2), token)
        expect([status, JSON.parse(text)]).toMatchObject([503, { code: 'unavailable' }])
      }
      await client.ended
      const names = client.events().map(({ name }) => name)
      expect(names.filter((name) => name !== 'gap')).toEqual(['snapshot', 'snapshot', 'end'])
      expect(client.events().at(-1)?.data).toMatchObject({ code: 'unavailable' })

      proxy.leadTo(port)
      await until('Keys are honoured', async () => (await ask(cutOff, pageOf(2))).status === 200)
      await until('The row is there', async () => {
        return (await ask(cutOff, pageOf(1))).text.includes('"size":9}')
      })
      await untilCurrent(cutOff)
      expect((await ask(cutOff, pageOf(1), revoked)).status).toBe(401)
      expect(await ask(cutOff, pageOf(2))).toEqual(closed)
      await until('Both respond with the same', async () =>
        Bun.deepEquals(await ask(cutOff, pageOf(3)), await ask(other, pageOf(3))),
      )
      for (const store of ['history', 'ledger']) {
        expect(cutOff.errors()).toContain(`the copy of the ${store} is behind: nothing after 20`)
        await until('It is in the log', () =>
          cutOff.errors().includes(`the copy of the ${store} follows its database again`),
        )
      }
    },
    MS_MAX,
  )

  test(
    'behavior: on a primary without its standby a server falls behind, however long that lasts',
    async () => {
      await using stack = new AsyncDisposableStack()
      const postgres = stack.use(await startPostgres())
      // One that is suspended would not end with the test.
      stack.defer(postgres.standby.wake)
      const { history } = await record(postgres.url)
      history.dispose()
      const ledger = await openLedgerIn(postgres.url, { nowMs: systemClock() })
      const key = await makeKey(ledger, tier)
      ledger.dispose()
      const server = await startKillableServer({
        BOOKFEED_HISTORY: postgres.url,
        BOOKFEED_LEDGER: postgres.url,
        BOOKFEED_DATA: mkdtempSync(join(folder, 'no-standby-')),
        BOOKFEED_PORT: '0',
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
      })
      stack.defer(server.kill)
      const statusOf = async (path: string) => {
        const headers = { authorization: `Bearer ${key}` }
        return (await fetch(server.origin + path, { headers })).status
      }
      const page = `/v1/btc/markets/${conditionIdOf(2)}/snapshots`
      expect([await statusOf('/readyz'), await statusOf(page)]).toEqual([200, 200])

      for (const [stop, resume] of [
        [postgres.standby.hang, postgres.standby.wake],
        [postgres.standby.kill, postgres.standby.start],
      ] as const) {
        await stop()
        await until('It is not ready', async () => (await statusOf('/readyz')) === 503)
        await until('No key is honoured', async () => (await statusOf(page)) === 503)
        // It stays so: several heartbeats are given up meanwhile.
        for (let looks = 0; looks < 60; looks++) {
          expect([await statusOf('/readyz'), await statusOf(page)]).toEqual([503, 503])
          await Bun.sleep(TRY_MS)
        }
        await resume()
        await until('Keys are honoured', async () => (await statusOf(page)) === 200)
        await until('It is ready', async () => (await statusOf('/readyz')) === 200)
      }
    },
    MS_MAX,
  )

  test(
    'error: without the standby a start waits for it, and then says that no commit is confirmed',
    async () => {
      await using stack = new AsyncDisposableStack()
      const postgres = stack.use(await startPostgres())
      // One that is suspended would not end with the test.
      stack.defer(postgres.standby.wake)
      ;(await record(postgres.url)).history.dispose()
      ;(await openLedgerIn(postgres.url, { nowMs: systemClock() })).dispose()
      const start = () =>
        startKillableServer({
          BOOKFEED_HISTORY: postgres.url,
          BOOKFEED_LEDGER: postgres.url,
          BOOKFEED_DATA: mkdtempSync(join(folder, 'starting-')),
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
        })
      await postgres.standby.hang()
      const failed = await start().then(
        () => expect.unreachable(),
        (error) => String(error),
      )
      expect(failed).toContain(
        'bookfeed: The database is not copied: PostgreSQL answers, but confirms no commit: a standby is missing or hangs',
      )
      expect(failed).not.toContain('unexpected failure')
      const starting = start()
      await Bun.sleep(5000)
      await postgres.standby.wake()
      stack.defer((await starting).kill)
    },
    MS_MAX,
  )
})
