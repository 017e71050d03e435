/** A PostgreSQL that is hung, locked, full or wrong: what is said, and that it is used again. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { isStorageError } from '#src/database/database.ts'
import { openDatabase } from '#src/database/sqlite/database.ts'
import { shownAddress } from '#src/extensions/postgres/address.ts'
import { adviceOn, errorOf as toFault, failureOf } from '#src/extensions/postgres/faults.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { fillAnswers } from '../../support/answers.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { openReplicatedHistory, type ReplicatedHistory } from '../../support/replicated-history.ts'
import { runCommandUnder } from '../../support/run-command.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'

const MS_MAX = 300_000
const TRIES_MAX = 1_000
const prlimit = Bun.which('prlimit')

describe('an error of SQLite', () => {
  test('error: is one of the copy on this machine, and not of PostgreSQL', () => {
    const db = openDatabase(':memory:', { bytesMax: 1 })
    const full = errorOf(() => db.run('CREATE TABLE more AS SELECT zeroblob(100000000)'))
    db.close()
    const fault = toFault(failureOf(full))
    expect(fault.message).toBe(
      'The copy in the data folder cannot be used: No room is left on the disk. Free some space and try again.',
    )
    expect([isStorageError(fault), adviceOn(fault, 'history')]).toEqual([true, undefined])
  })
})

describe('shownAddress', () => {
  test.each([
    ['postgres://me:secret@host:5432/db?schema=one', 'postgres://me@host:5432/db?schema=one'],
    ['postgresql://me:a%2Fb%40c@host/db?sslmode=require', 'postgresql://me@host/db'],
    ['postgres://host/db', 'postgres://host/db'],
  ])('default: %s without its password', (place, shown) => {
    expect(shownAddress(place)).toBe(shown)
  })

  test.each([
    'postgres://me:se/cret@host/db',
    'postgres://me:1/cret@host/db',
    'postgres://me:1?cret@host/db',
    'postgres://me:1#cret@host/db',
    'postgres://me:se@cret@host/db',
    'postgres://me:se%cret@host/db',
    'postgres://me:secret@host/db/more',
    'postgres://me:secret@host',
    'postgres://me:secret@host/db?schema=No',
    'postgres://me:secret@host/db?schema=pg_books',
    'postgres://me:secret@host/db?sslmode=perhaps',
    'mysql://me:secret@host/db',
  ])('error: %s is refused, and not shown', (place) => {
    const shown = errorOf(() => shownAddress(place))
    expect(shown).toMatchObject({ code: 'storage_unavailable' })
    expect(shown.message).not.toContain('cret')
  })
})

test.each(['No', '1st', 'pg_books', 'a-b', 'x'.repeat(52), ''])(
  'error: the schema "%s" is refused with what is allowed',
  async (schema) => {
    await expect(openHistoryIn(`postgres://me:secret@host/db?schema=${schema}`)).rejects.toThrow(
      `The name of a schema has lower-case letters, digits and _, 51 at most, and begins neither with a digit nor with pg_; ?schema=${schema} does not.`,
    )
  },
)

describe.skipIf(postgresPrograms === undefined)('a history on a PostgreSQL with a fault', () => {
  let postgres: Postgres
  let place = ''
  let folder = ''
  let operator: SQL
  let writer: MarketHistory
  let served: ReplicatedHistory
  let number = 0
  beforeAll(async () => {
    postgres = await startPostgres()
    place = `${postgres.url}?schema=faults`
    folder = await mkdtemp(join(tmpdir(), 'bookfeed-faults-'))
    operator = new SQL(postgres.url, { max: 1 })
    writer = await openHistoryIn(place, { isRecording: true })
    await fillAnswers(writer)
    served = await openReplicatedHistory(place, folder)
  }, MS_MAX)
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]()
    writer?.dispose()
    await operator?.close({ timeout: 0 })
    await postgres?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const list = () => served.history.listMarkets({ coin: 'btc', limit: 1000 })
  const ageMs = (): number => served.copies.ageMs('history')

  /** Writes a market, and resolves when it is read. */
  async function untilRead(): Promise<void> {
    const conditionId = `0x${(++number).toString(16).padStart(64, 'f')}`
    for (let tries = 0; ; tries++) {
      try {
        await writer.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' })
        break
      } catch (error) {
        if (tries === TRIES_MAX) throw error
        await Bun.sleep(100)
      }
    }
    await until(() => served.history.findMarket(conditionId) !== undefined)
  }

  async function until(holds: () => boolean): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (holds()) return
      await Bun.sleep(100)
    }
    throw new Error('It never came to that.')
  }

  test(
    'error: hung: reads go on and say how old they are, and it is used again',
    async () => {
      await untilRead()
      await until(() => ageMs() < 2000)
      const before = list()
      await postgres.hang()
      try {
        await until(() => ageMs() > 3000)
        expect(list()).toEqual(before)
        await expect(served.replicas.pull('history')).rejects.toThrow()
      } finally {
        await postgres.wake()
      }
      await untilRead()
      await until(() => ageMs() < 2000)
    },
    MS_MAX,
  )

  test(
    'error: what is committed while no standby confirms it is not read, and nothing counts as new',
    async () => {
      await untilRead()
      const confirmBy = async (standby: string): Promise<void> => {
        await operator.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`)
        await operator.unsafe('SELECT pg_reload_conf()')
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          const [row] = await operator.unsafe('SHOW synchronous_standby_names').values()
          const [waits] = await operator
            .unsafe("SELECT count(*) FROM pg_stat_replication WHERE sync_state <> 'async'")
            .values()
          // The sender to the standby reads the setting a little later than this session.
          if (row?.[0] === standby && (Number(waits?.[0]) === 0) === (standby === 'nobody')) return
          await Bun.sleep(10)
        }
      }
      await confirmBy('nobody')
      const conditionId = `0x${'e'.repeat(64)}`
      await expect(
        writer.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' }),
      ).rejects.toThrow(expect.objectContaining({ code: 'storage_unavailable' }))
      await until(() => ageMs() > 3000)
      expect(served.history.findMarket(conditionId)).toBeUndefined()
      await confirmBy('FIRST 1 (standby)')
      await until(() => served.history.findMarket(conditionId) !== undefined)
      await until(() => ageMs() < 2000)
    },
    MS_MAX,
  )

  test(
    'behavior: connections that an administrator ends are replaced, and no read fails',
    async () => {
      for (let rounds = 0; rounds < 10; rounds++) {
        await operator.unsafe(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bookfeed'",
        )
        expect(list()).not.toBeEmpty()
        await untilRead()
      }
    },
    MS_MAX,
  )

  test(
    'behavior: a connection that listens and is dead without knowing it is replaced',
    async () => {
      const listeners = async (): Promise<number[]> => {
        const rows = await operator.unsafe(
          `SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%changes_faults%'`,
        )
        return rows.map(({ pid }: { pid: number }) => pid)
      }
      let dead: number | undefined
      // It may have been lost in a test before.
      for (let tries = 0; dead === undefined && tries < TRIES_MAX; tries++) {
        await untilRead()
        dead = (await listeners())[0]
      }
      if (dead === undefined) throw new Error('Nothing listens.')
      process.kill(dead, 'SIGSTOP')
      try {
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          if ((await listeners()).some((pid) => pid !== dead)) break
          await untilRead()
        }
        expect((await listeners()).filter((pid) => pid !== dead)).toHaveLength(1)
      } finally {
        process.kill(dead, 'SIGCONT')
      }
    },
    MS_MAX,
  )

  test.skipIf(prlimit === null)(
    'error: a copy that the disk does not take is named by its folder',
    async () => {
      const data = join(folder, 'full')
      // Files that may have so many bytes stand in for the disk.
      const limits = [prlimit ?? '', '--fsize=20000']
      const env = { BOOKFEED_HISTORY: place, BOOKFEED_DATA: data }
      const { exitCode, errors } = await runCommandUnder(limits, env, 'verify')
      expect(exitCode).toBe(1)
      expect(errors).toStartWith(`bookfeed: The copy in ${data} cannot be used: `)
      expect(errors).toMatch(/No room is left on the disk|The disk reports an error/)
      expect(errors).not.toMatch(/postgres/i)
    },
    MS_MAX,
  )

  test(
    'error: an address that cannot be used is named without its password',
    async () => {
      const port = Number(new URL(postgres.url).port)
      await operator.unsafe('CREATE SCHEMA IF NOT EXISTS other; CREATE TABLE other.market (a int)')
      await operator.unsafe("CREATE USER guest PASSWORD 'secret-of-guest'")
      ;(await openLedgerIn(`${postgres.url}?schema=taken`, { nowMs: 0 })).dispose()
      const places = [
        [`postgres://bookfeed:secret@127.0.0.1:${port}/bookfeed`, 'refuses the password'],
        [`${postgres.url.replace(/bookfeed$/, 'nothing')}`, 'no such database'],
        [
          `postgres://guest:secret-of-guest@127.0.0.1:${port}/bookfeed?schema=mine`,
          'lacks a right',
        ],
        [`${postgres.url}?schema=taken`, 'contains something else'],
        [
          `${postgres.url}?schema=other`,
          'contains something else, such as market, and was not changed',
        ],
        ['postgres://bookfeed:secret@127.0.0.1:1/bookfeed', 'cannot be reached'],
      ]
      for (const [at = '', says = ''] of places) {
        const { message } = await openHistoryIn(at).catch((error) => error)
        expect(message).toStartWith(`The history at ${shownAddress(at)} cannot be opened. `)
        expect(message).toContain(says)
        expect(message).not.toMatch(/secret|of-tests/)
      }
    },
    MS_MAX,
  )
})

function errorOf(body: () => unknown): Error {
  try {
    body()
  } catch (error) {
    return error as Error
  }
  throw new Error('It was accepted.')
}
