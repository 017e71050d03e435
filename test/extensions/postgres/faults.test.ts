/** A PostgreSQL that is hung, locked, full or wrong: what is said, and that it is used again. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import { shownAddress } from '#src/extensions/postgres/address.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { after, type Eventually } from '#src/platform/eventually.ts'

import { fillAnswers } from '../../support/answers.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'

const MS_MAX = 120_000
const TRIES_MAX = 100

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
  (schema) => {
    expect(() => openHistory(`postgres://me:secret@host/db?schema=${schema}`)).toThrow(
      `The name of a schema has lower-case letters, digits and _, 51 at most, and begins neither with a digit nor with pg_; ?schema=${schema} does not.`,
    )
  },
)

describe.skipIf(postgresPrograms === undefined)('a history on a PostgreSQL with a fault', () => {
  let postgres: Postgres
  let place = ''
  let operator: SQL
  let history: MarketHistory
  beforeAll(async () => {
    postgres = await startPostgres()
    place = `${postgres.url}?schema=faults`
    operator = new SQL(postgres.url, { max: 1 })
    const writer = openHistory(place)
    fillAnswers(writer)
    writer.dispose()
    history = openHistory(place, { isServing: true })
  }, MS_MAX)
  afterAll(async () => {
    history?.dispose()
    await operator?.close({ timeout: 0 })
    await postgres?.[Symbol.asyncDispose]()
  })

  /** What nobody keeps: the database is asked each time. */
  const markets = () =>
    promised(() =>
      history.eventually(() => history.listMarkets({ coin: 'btc', limit: 10, order: 'asc' })),
    )
  const untilAnswered = async () => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if ((await markets().catch(() => [])).length > 0) return
      await Bun.sleep(100)
    }
    throw new Error('It did not answer again.')
  }

  test(
    'error: hung: reads fail in time, then at once, and it is used again',
    async () => {
      await untilAnswered()
      await postgres.hang()
      const failed = await Promise.allSettled(Array.from({ length: 30 }, markets))
      const begunMs = performance.now()
      for (let reads = 0; reads < 20; reads++) await Promise.allSettled([markets()])
      const tookMs = performance.now() - begunMs
      await postgres.wake()
      expect(new Set(failed.map(reasonOf))).toEqual(new Set(['storage_unavailable']))
      // One of them tries; without a pause each would wait.
      expect(tookMs).toBeLessThan(10_000)
      await untilAnswered()
      // Every connection of the pool is of use again.
      await Promise.all(Array.from({ length: 30 }, markets))
    },
    MS_MAX,
  )

  test(
    'error: a locked table: what needs it fails, the rest is answered, and no connection is lost',
    async () => {
      await untilAnswered()
      const holder = await operator.reserve()
      await holder.unsafe('BEGIN; LOCK TABLE faults.market')
      const refused = await Promise.allSettled(Array.from({ length: 20 }, markets))
      await holder.unsafe('ROLLBACK')
      holder.release()
      expect(new Set(refused.map(reasonOf))).toEqual(new Set(['storage_unavailable']))
      await untilAnswered()
      await Promise.all(Array.from({ length: 30 }, markets))
    },
    MS_MAX,
  )

  test(
    'behavior: connections that an administrator ends are replaced, and no read fails',
    async () => {
      await untilAnswered()
      for (let rounds = 0; rounds < 20; rounds++) {
        const reading = Promise.all(Array.from({ length: 20 }, markets))
        await operator.unsafe(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bookfeed'",
        )
        expect(await reading).toHaveLength(20)
      }
    },
    MS_MAX,
  )

  test(
    'behavior: a connection that listens and is dead without knowing it is replaced',
    async () => {
      const listeners = async (): Promise<number[]> => {
        const rows = await operator.unsafe(
          "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%faults%'",
        )
        return rows.map(({ pid }: { pid: number }) => pid)
      }
      await untilAnswered()
      let dead: number | undefined
      // It may have been lost in a test before.
      for (let tries = 0; dead === undefined && tries < TRIES_MAX; tries++) {
        await Bun.sleep(100)
        dead = (await listeners())[0]
      }
      if (dead === undefined) throw new Error('Nobody listens.')
      process.kill(dead, 'SIGSTOP')
      try {
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          if ((await listeners()).some((pid) => pid !== dead)) break
          await operator.unsafe("SELECT nextval('faults.change_count')")
          await Bun.sleep(500)
        }
        expect((await listeners()).filter((pid) => pid !== dead)).toHaveLength(1)
        await untilAnswered()
      } finally {
        process.kill(dead, 'SIGCONT')
      }
    },
    MS_MAX,
  )

  test(
    'error: an address that cannot be used is named without its password',
    async () => {
      const port = Number(new URL(postgres.url).port)
      await operator.unsafe('CREATE SCHEMA IF NOT EXISTS other; CREATE TABLE other.market (a int)')
      await operator.unsafe("CREATE USER guest PASSWORD 'secret-of-guest'")
      openLedger(`${postgres.url}?schema=taken`, { nowMs: 0 }).dispose()
      const places = [
        [`postgres://bookfeed:secret@127.0.0.1:${port}/bookfeed`, 'refuses the password'],
        [`${postgres.url.replace(/bookfeed$/, 'nothing')}`, 'no such database'],
        [
          `postgres://guest:secret-of-guest@127.0.0.1:${port}/bookfeed?schema=mine`,
          'lacks a right',
        ],
        [`${postgres.url}?schema=taken`, 'holds something else'],
        [
          `${postgres.url}?schema=other`,
          'holds something else, such as market, and was left as it is',
        ],
        ['postgres://bookfeed:secret@127.0.0.1:1/bookfeed', 'cannot be reached'],
      ]
      for (const [at = '', says = ''] of places) {
        const { message } = errorOf(() => openHistory(at))
        expect(message).toStartWith(`The history at ${shownAddress(at)} cannot be opened. `)
        expect(message).toContain(says)
        expect(message).not.toMatch(/secret|of-tests/)
      }
    },
    MS_MAX,
  )
})

const promised = async <T>(read: () => Eventually<T>): Promise<T> => after(read(), (value) => value)

const reasonOf = (result: PromiseSettledResult<unknown>): unknown =>
  result.status === 'rejected' ? result.reason.code : 'answered'

function errorOf(body: () => unknown): Error {
  try {
    body()
  } catch (error) {
    return error as Error
  }
  throw new Error('It was accepted.')
}
