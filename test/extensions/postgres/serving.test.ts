/** The ledger of a server, on a PostgreSQL that is slow, silent or busy. */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import type { Ledger } from '#src/ledger/ledger.ts'

import { appendAll, someSnapshots } from '../../history/books.ts'
import { accountIdOf, aKey, by, createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openProxy } from '../../support/proxy-thread.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const MS_MAX = 300_000
const TRIES_MAX = 2_000
const TRY_MS = 50
/** Longer than an answer is waited for. */
const SLOW_MS = 2500

describe.skipIf(postgresPrograms === undefined)('a ledger that serves', () => {
  const { server, placeOf } = usePostgres()
  let proxy: ReturnType<typeof openProxy>
  /** Of another process, beside the proxy. */
  let other: Ledger
  let ledger: Ledger
  let schemas = 0
  beforeEach(async () => {
    proxy = openProxy(Number(new URL(server().url).port))
    const place = placeOf(`serving_${++schemas}`)
    other = await openLedgerIn(place, { nowMs: NOW_MS })
    await createKeyOne(other)
    const behind = new URL(place)
    behind.port = `${proxy.port}`
    ledger = await openLedgerIn(behind.href, { nowMs: NOW_MS, isServing: true })
  }, MS_MAX)
  afterEach(() => {
    ledger?.dispose()
    other?.dispose()
    proxy?.stop()
  })

  test(
    'error: a recorder does not wait until a silent one answers, and writes soon after it does',
    async () => {
      const history = await openHistoryIn(placeOf('recorded'), { isRecording: true })
      const append = () => appendAll(history, someSnapshots(4))
      expect(await codeOf(append)).toBe('done')
      await server().hang()
      for (let tries = 0; tries < 3; tries++) {
        expect(await codeOf(append)).toBe('storage_unavailable')
        // Pings are answered here.
        await Bun.sleep(1000)
      }
      await server().wake()
      await until('Wrote', async () => (await codeOf(append)) === 'done')
      expect([...history.verify()]).toEqual([])
      history.dispose()
    },
    MS_MAX,
  )

  const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (await holds()) return
      await Bun.sleep(TRY_MS)
    }
    throw new Error(`${what} in vain.`)
  }
  let keys = 10
  const find = () => ledger.findAccount(accountIdOf(1))
  const create = () => ledger.createKey(aKey(++keys), by())
  const canCreate = async (): Promise<boolean> => (await codeOf(create)) === 'done'

  test(
    'error: a silent one is waited for a moment, and then for nothing a while; reads go on',
    async () => {
      await until('Asked', canCreate)
      await server().hang()
      try {
        // Each of them would wait for two seconds, which is longer than the test may take.
        for (let asks = 0; asks < 100; asks++) {
          expect(await codeOf(create)).toBe('storage_unavailable')
          expect(find()?.id).toBe(accountIdOf(1))
        }
      } finally {
        await server().wake()
      }
      await until('Asked', canCreate)
    },
    MS_MAX,
  )

  test(
    'behavior: a connection that takes longer than anybody waits is made all the same',
    async () => {
      await until('Asked', canCreate)
      proxy.delay(SLOW_MS)
      proxy.cut()
      await until('Asked', canCreate)
    },
    MS_MAX,
  )

  test(
    'error: while another process writes, a change is refused, and reads go on',
    async () => {
      await until('Asked', canCreate)
      const holder = new SQL(server().url, { max: 1 })
      const lock = `SELECT pg_advisory_xact_lock(hashtextextended('bookfeed serving_${schemas}', 0))`
      await holder.unsafe(`BEGIN; ${lock}`)
      const isRefused = async (): Promise<boolean> =>
        (await codeOf(create)) === 'storage_unavailable' && find() !== undefined
      await until('Wrote', isRefused).finally(() => holder.close({ timeout: 0 }))
      await until('Wrote', canCreate)
      await other.atomically(() => {})
      expect([...other.verifyAudit()]).toEqual([])
    },
    MS_MAX,
  )
})

async function codeOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    await ask()
    return 'done'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
