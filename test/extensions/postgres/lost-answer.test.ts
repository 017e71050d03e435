/** A COMMIT whose answer does not come: nobody knows whether it was done, and it counts once. */
import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'

import { SQL } from 'bun'

import { createUsageMeter } from '#src/access/usage-meter.ts'
import { isStorageError } from '#src/database/database.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { formats } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'
import { openSurround } from '#src/extensions/postgres/surround.ts'

import { by, createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { openProxy } from '../../support/proxy-thread.ts'
import { openLedgerIn, toPlace } from '../../support/stores.ts'

const MS_MAX = 300_000
const TRIES_MAX = 600

/** Cancels a commit that waits for its standby, `times` times, each so long after it was seen. */
const canceling = `
  const [url, times, afterMs] = process.argv.slice(-3)
  const sql = new Bun.SQL(url, { max: 1 })
  const waiting = "FROM pg_stat_activity WHERE application_name = 'bookfeed' AND wait_event = 'SyncRep'"
  await sql.unsafe('SELECT 1')
  process.stdout.write('ready')
  for (let canceled = 0; canceled < Number(times); ) {
    const rows = await sql.unsafe('SELECT pid ' + waiting).values()
    // A commit that begins to wait from here on has to be seen first.
    if (rows.length > 0) {
      await Bun.sleep(Number(afterMs))
      canceled += (await sql.unsafe('SELECT pg_cancel_backend(pid) ' + waiting).values()).length
    }
    await Bun.sleep(10)
  }
  process.exit(0)
`

type Canceling = { url: string; times: number; afterMs: number }

async function startCanceling({ url, times, afterMs }: Canceling): Promise<AsyncDisposable> {
  const words = [process.execPath, '-e', canceling, url, String(times), String(afterMs)]
  const child = Bun.spawn(words, { stdin: 'ignore', stderr: 'inherit' })
  await child.stdout.getReader().read()
  return {
    async [Symbol.asyncDispose]() {
      child.kill()
      await child.exited
    },
  }
}

describe.skipIf(postgresPrograms === undefined)('a standby that confirms nothing', () => {
  test(
    'behavior: usage is counted once, and no wait lasts as long as the standby is away',
    async () => {
      await using postgres = await startPostgres()
      await using operator = new SQL(postgres.url, { max: 1 })
      const confirmBy = async (standby: string): Promise<void> => {
        await operator.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`)
        await operator.unsafe('SELECT pg_reload_conf()')
        const isSo = () => operator.unsafe('SHOW synchronous_standby_names').values()
        while ((await isSo())[0]?.[0] !== standby) await Bun.sleep(10)
      }
      const place = `${postgres.url}?schema=usage`
      using writer = await openLedgerIn(place, { nowMs: NOW_MS })
      const { id: keyId, accountId, familyId } = await createKeyOne(writer)
      const standing = standingAt([], writer.listTiers(), NOW_MS)
      const caller: Caller = { keyId, accountId, familyId, isBlocked: false, standing }
      using ledger = await openLedgerIn(place, { nowMs: NOW_MS, isServing: true })
      const meter = createUsageMeter({ ledger, randomBytes, clock: () => NOW_MS })
      const flush = async (): Promise<boolean> => meter.flush()
      meter.add(caller, 'prices', 100)
      await flush()

      await confirmBy('nobody')
      meter.add(caller, 'prices', 100)
      let failed = 0
      // The first is committed and not answered, the next ones wait for it.
      while (failed < 3) await flush().catch(() => failed++)
      meter.add(caller, 'prices', 100)
      await confirmBy('FIRST 1 (standby)')

      let hasMore = true
      for (let tries = 0; hasMore && tries < TRIES_MAX; tries++) {
        hasMore = await flush().catch(() => true)
        // Nothing is asked for a while after no answer came.
        await Bun.sleep(100)
      }
      await flush()
      expect(ledger.usageOf(accountId, '')).toEqual([
        { day: '2026-11-21', route: 'prices', requests: 3, bytes: 300 },
      ])
      await writer.revokeKey(keyId, by())
    },
    MS_MAX,
  )
})

describe.skipIf(postgresPrograms === undefined)('a commit whose wait an administrator ends', () => {
  test(
    'behavior: it is not acknowledged, because a failover would lose it',
    async () => {
      await using postgres = await startPostgres()
      const { url } = postgres
      const cases = [
        { store: 'ledger', times: 1, afterMs: 0, lagMs: 0 },
        { store: 'ledger', times: 2, afterMs: 700, lagMs: 0 },
        // On a machine that was busy until then, each answer took almost as long.
        { store: 'history', times: 1, afterMs: 700, lagMs: 200 },
      ] as const
      for (const { store, times, afterMs, lagMs } of cases) {
        await prepareTables(`${url}?schema=${store}`, formats[store])
        const proxy = openProxy(Number(new URL(url).port))
        const at = url.replace(new URL(url).port, `${proxy.port}`)
        const { path } = toPlace(store, url)
        const place = `${at}?schema=${store}`
        const opened = await openSurround({ place, store, path, isBrief: true })
        const touch = (): Promise<unknown> =>
          opened.transact(() =>
            opened.writing.run(`INSERT OR REPLACE INTO meta VALUES ('a', ${lagMs})`),
          )
        try {
          await touch()
          proxy.lag(lagMs)
          await touch()
          proxy.lag(0)
          await postgres.standby.hang()
          await using _canceling = await startCanceling({ url, times, afterMs })
          const thrown = await touch().catch((error) => error)
          expect([store, times, isStorageError(thrown)]).toEqual([store, times, true])
          expect(opened.writing.inTransaction).toBe(false)
        } finally {
          await postgres.standby.wake()
          opened.close()
          proxy.stop()
        }
      }
    },
    MS_MAX,
  )
})
