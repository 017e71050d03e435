/** Ledger and history go from a folder to a PostgreSQL and back, whole, or nothing is touched. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'

import {
  accountIdOf,
  aKey,
  aSignup,
  aSubscription,
  by,
  NOW_MS,
  someUsage,
  tierOf,
} from '../../ledger/ledger-records.ts'
import { buyPack } from '../../ledger/payment-conformance-unquoted.ts'
import { aTransfer, claimUpTo, network, paymentIdOf } from '../../ledger/payment-records.ts'
import { fillAnswers } from '../../support/answers.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { bookfeed } from '../../support/program.ts'
import { runCommand } from '../../support/run-command.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'
import { tableRows } from '../../support/table-rows.ts'

const TEST_MS_MAX = 180_000
const STOPPED = 'bookfeed: Stopped. Run the command again to continue.\n'

const root = mkdtempSync(join(tmpdir(), 'bookfeed-copy-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const template = join(root, 'template.db')

/** A ledger with rows in every table. */
async function makeTemplate(): Promise<void> {
  using ledger = await openLedgerIn(template, { nowMs: NOW_MS })
  const states = ['screened', 'unknown', 'settled', 'review', 'void', 'rejected'] as const
  for (const [at, state] of states.entries()) await claimUpTo(ledger, at + 1, { state })
  for (let number = 2; number < 600; number++) await ledger.createKey(aKey(number), by())
  await buyPack(ledger, 800)
  const answered = { address: '/v1/btc/markets', nowMs: NOW_MS }
  expect(await ledger.payments.beginPaidAnswer(paymentIdOf(800), answered)).toBe(true)
  await ledger.addSubscription(aSubscription(1, { terms: tierOf('starter') }), by())
  await ledger.addUsage([someUsage(1), someUsage(2)])
  await ledger.signUp(aSignup(700), NOW_MS)
  await ledger.putAnswer({ id: 'asked', fingerprint: 'once', sealed: new Uint8Array(40) }, NOW_MS)
  await ledger.payments.addUnmatchedTransfer(aTransfer(1), by())
  await ledger.payments.setScannedBlock(network, 2 ** 40)
  const addresses = new Set([`0x${'f'.repeat(40)}`])
  const list = { publishedOn: '2026-11-20', confirmedMs: NOW_MS, sha256: 'ab', addresses }
  await ledger.putSanctionsList(list, by())
  const recorder = { startedMs: NOW_MS, rows: 7, lagMs: 12 }
  const step = { stepMs: 0, server: 'a', requests: 3, errors: 1, durations: [1, 2], problems: {} }
  await ledger.putActivity([{ ...step, recorder }], 0)
}

/** A folder with that ledger, which this process never had open. */
function makeLedger(name: string): string {
  const folder = join(root, name)
  mkdirSync(folder)
  copyFileSync(template, join(folder, 'ledger.db'))
  return folder
}

/** All rows of all tables, but for the mark of a ledger that was moved. */
const rowsOf = (folder: string): Record<string, string[]> =>
  tableRows(join(folder, 'ledger.db'), ({ key }) => key !== 'moved_to')

const copy = (folder: string, ...args: string[]) =>
  runCommand({ BOOKFEED_DATA: folder }, 'copy', ...args)

describe.skipIf(postgresPrograms === undefined)('bookfeed copy', () => {
  let postgres: Postgres
  let sql: SQL
  beforeAll(async () => {
    await makeTemplate()
    postgres = await startPostgres()
    sql = new SQL(postgres.url, { max: 4 })
  }, TEST_MS_MAX)
  afterAll(async () => {
    await sql?.close()
    await postgres?.[Symbol.asyncDispose]()
  })

  /** Nobody else writes, or even reads, until it is released. */
  const lock = async (table: string, mode: string) => {
    const connection = await sql.reserve()
    await connection.unsafe(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`)
    return async () => {
      await connection.unsafe('ROLLBACK')
      connection.release()
    }
  }
  const until = async (question: string): Promise<void> => {
    for (let waits = 0; (await sql.unsafe(question)).length === 0; waits++) {
      if (waits > 1000) throw new Error(`It never came to that: ${question}`)
      await Bun.sleep(20)
    }
  }
  const waitingFor = (table: string): string =>
    `SELECT 1 FROM pg_locks WHERE relation = CAST('${table}' AS regclass) AND NOT granted`

  test(
    'default: every table goes there and back, and its source is used no more',
    async () => {
      const folder = makeLedger('moving')
      const history = await openHistoryIn(join(folder, 'history.db'))
      await fillAnswers(history)
      const { snapshots, markets } = history.totals()
      history.dispose()
      const before = rowsOf(folder)
      expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([])
      const shared = { BOOKFEED_HISTORY: postgres.url, BOOKFEED_LEDGER: postgres.url }
      const home = { BOOKFEED_DATA: join(root, 'shared') }

      const there = await copy(folder, '--to', postgres.url)
      expect(there.exitCode).toBe(0)
      const total = Object.values(before).flat().length
      expect(there.printed).toContain(`${total.toLocaleString('en-US')} rows of 18 tables`)
      const held = `${snapshots.toLocaleString('en-US')} snapshots of ${markets} markets`
      expect(there.printed).toContain(`read again: ${held}.`)
      // No word of it tells the password.
      expect(there.printed).not.toContain(new URL(postgres.url).password)
      const verified = await runCommand({ ...home, ...shared }, 'audit', 'verify')
      expect(verified.printed).toStartWith('sound: ')
      for (const command of [['keys', 'list'], ['serve'], ['audit', 'verify']]) {
        const refused = await runCommand({ BOOKFEED_DATA: folder }, ...command)
        expect([refused.exitCode, refused.printed]).toEqual([1, ''])
        expect(refused.errors).toContain('This ledger was copied to postgres://bookfeed@')
      }
      const doctor = await runCommand({ BOOKFEED_DATA: folder }, 'doctor')
      expect(doctor.printed).toMatch(/wrong +ledger: It was copied to postgres:/)

      const back = join(root, 'back')
      const again = await copy('nowhere', '--from', postgres.url, '--to', back)
      expect(again.exitCode).toBe(0)
      expect(rowsOf(back)).toEqual(before)
      const refused = await runCommand({ ...home, ...shared }, 'keys', 'list')
      expect(refused.errors).toContain(`This ledger was copied to ${back}`)
      using ledger = await openLedgerIn(join(back, 'ledger.db'), { nowMs: NOW_MS })
      expect([...ledger.verifyAudit()]).toEqual([])
      // It goes on where it was.
      expect((await ledger.createKey(aKey(900), by())).accountId).toBe(accountIdOf(1))
      expect(ledger.findKeyByDigest(aKey(5).digest)?.id).toBe(aKey(5).id)
    },
    TEST_MS_MAX,
  )

  test(
    'error: a ledger that is in use, and a target that holds another, are left as they are',
    async () => {
      const place = `${postgres.url}?schema=used`
      const args = ['--only', 'ledger', '--to', place]
      const inUse = makeLedger('in-use')
      const user = await openLedgerIn(join(inUse, 'ledger.db'), { nowMs: NOW_MS })
      const early = await copy(inUse, ...args)
      expect([early.exitCode, early.printed]).toEqual([1, ''])
      expect(early.errors).toContain('Another process has')
      user.dispose()
      expect(await sql`SELECT 1 FROM pg_namespace WHERE nspname = 'used'`).toHaveLength(0)

      const folder = makeLedger('used')
      const before = rowsOf(folder)
      ;(await openLedgerIn(place, { nowMs: NOW_MS })).dispose()
      const taken = await copy(folder, ...args)
      expect(taken.exitCode).toBe(1)
      expect(taken.errors).toContain('The target contains another ledger')
      expect(taken.errors).toContain('Choose an empty target')
      expect(rowsOf(folder)).toEqual(before)
      using ledger = await openLedgerIn(join(folder, 'ledger.db'), { nowMs: NOW_MS })
      expect(ledger.listKeys().length).toBeGreaterThan(500)

      const other = await openLedgerIn(place, { nowMs: NOW_MS })
      const target = join(root, 'unmade')
      const busy = await copy(folder, '--only', 'ledger', '--from', place, '--to', target)
      expect(busy.errors).toContain('Another bookfeed process has the database open.')
      other.dispose()
    },
    TEST_MS_MAX,
  )

  test(
    'error: what was tampered with is not copied',
    async () => {
      const folder = makeLedger('tampered')
      const path = join(root, 'tampered.db')
      copyFileSync(template, path)
      const db = new Database(path)
      db.run("UPDATE account SET label = 'another' WHERE id = 'acc_1'")
      db.run('PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
      copyFileSync(path, join(folder, 'ledger.db'))
      const args = ['--only', 'ledger', '--to', `${postgres.url}?schema=tampered`]
      const { exitCode, errors } = await copy(folder, ...args)
      expect(exitCode).toBe(1)
      expect(errors).toContain('The audit chain is broken, so nothing was copied: account acc_1')
      expect(await sql`SELECT 1 FROM tampered.account`).toHaveLength(0)
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: a trial leaves the source in use, and a move is taken back while both are the same',
    async () => {
      const folder = makeLedger('trial')
      const place = `${postgres.url}?schema=trial`
      const args = ['--only', 'ledger', '--to', place]
      const isUsed = async () =>
        (await runCommand({ BOOKFEED_DATA: folder }, 'keys', 'list')).exitCode === 0
      expect([(await copy(folder, ...args, '--keep-source')).exitCode, await isUsed()]).toEqual([
        0,
        true,
      ])
      // The same again: nothing but the mark is missing.
      expect([(await copy(folder, ...args)).exitCode, await isUsed()]).toEqual([0, false])
      expect([(await copy(folder, ...args, '--keep-source')).exitCode, await isUsed()]).toEqual([
        0,
        true,
      ])
      expect([(await copy(folder, ...args)).exitCode, await isUsed()]).toEqual([0, false])
      const elsewhere = ['--only', 'ledger', '--to', join(root, 'elsewhere')]
      expect((await copy(folder, ...elsewhere)).errors).toContain('This ledger was copied to')
      const schema = ['--only', 'ledger', '--to', `${postgres.url}?schema=refused`]
      expect((await copy(folder, ...schema)).errors).toContain('This ledger was copied to')
      // What is refused makes nothing.
      expect(readdirSync(join(root, 'elsewhere'))).toEqual([])
      const [{ made }] = await sql`SELECT to_regnamespace('refused') AS made`
      expect(made).toBeNull()
      const target = await openLedgerIn(place, { nowMs: NOW_MS })
      await target.createKey(aKey(901), by())
      target.dispose()
      const late = await copy(folder, ...args, '--keep-source')
      expect(late.errors).toContain('another state of this one')
      expect(await isUsed()).toBe(false)
    },
    TEST_MS_MAX,
  )

  test('error: a schema is of one of both, and a place is not copied to itself', async () => {
    const place = `${postgres.url}?schema=one`
    const both = await copy('nowhere', '--to', place)
    expect([both.exitCode, both.errors]).toEqual([2, expect.stringContaining('--only ledger')])
    const same = await copy('nowhere', '--from', postgres.url, '--to', postgres.url)
    expect(same.exitCode).toBe(2)
    const nothing = await copy(join(root, 'none'), '--to', postgres.url)
    expect(nothing.errors).toContain('There is no ledger and no history')
  })

  test(
    'behavior: a ledger whose copy is killed is where it was, and nothing of it is elsewhere',
    async () => {
      const folder = makeLedger('killed')
      const place = `${postgres.url}?schema=killed`
      await prepareTables(place, postgresLedger)
      const args = ['copy', '--only', 'ledger', '--to', place]
      const release = await lock('killed.usage', 'EXCLUSIVE')
      const env = { BOOKFEED_DATA: folder }
      const child = Bun.spawn(bookfeed(...args), { env, stdout: 'ignore', stderr: 'ignore' })
      await until(waitingFor('killed.usage'))
      child.kill(9)
      await child.exited
      await release()
      const locks = "SELECT 1 FROM pg_locks WHERE relation = CAST('killed.account' AS regclass)"
      await until(`SELECT 1 WHERE NOT EXISTS (${locks})`)
      expect(await sql`SELECT 1 FROM killed.account`).toHaveLength(0)
      expect((await runCommand(env, 'audit', 'verify')).exitCode).toBe(0)
      expect((await runCommand(env, ...args)).exitCode).toBe(0)
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: a copy that is stopped or killed anywhere, also while it reads again, goes on',
    async () => {
      const folder = join(root, 'stopped')
      mkdirSync(folder)
      const history = await openHistoryIn(join(folder, 'history.db'))
      await fillAnswers(history)
      const { markets } = history.totals()
      history.dispose()
      await prepareTables(`${postgres.url}?schema=stopped`, postgresHistory)
      const args = ['copy', '--only', 'history', '--to', `${postgres.url}?schema=stopped`]
      const start = () =>
        Bun.spawn(bookfeed(...args), {
          env: { BOOKFEED_DATA: folder },
          stdout: 'ignore',
          stderr: 'pipe',
        })
      const interrupt = async (child: ReturnType<typeof start>) => {
        child.kill('SIGINT')
        const printed = await new Response(child.stderr).text()
        // A slow copy has said how far it is.
        expect([await child.exited, printed]).toEqual([1, expect.stringContaining(STOPPED)])
      }

      // It is copying: markets are there, and chunks cannot be written.
      const releaseChunks = await lock('stopped.chunk', 'EXCLUSIVE')
      const copying = start()
      await until(waitingFor('stopped.chunk'))
      await until(`SELECT 1 FROM stopped.market HAVING count(*) = ${markets}`)
      await interrupt(copying)
      // From here on only the totals cannot be written.
      const lockTotals = () => lock('stopped.coin_total', 'ACCESS EXCLUSIVE')
      const releaseTotals = await lockTotals()
      await releaseChunks()
      const kill = async (child: ReturnType<typeof start>) => child.kill(9)
      /** The copy waits for the totals; whether all of it is written. */
      async function endOne(end: typeof kill): Promise<boolean> {
        const child = start()
        await until(waitingFor('stopped.coin_total'))
        const copying = await sql`SELECT 1 FROM stopped.meta WHERE key = 'copying'`
        await end(child)
        await child.exited
        // What it asked last is still waiting.
        await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'bookfeed'`
        await until(`SELECT 1 WHERE NOT EXISTS (${waitingFor('stopped.coin_total')})`)
        return copying.length === 0
      }
      for (const end of [interrupt, kill]) expect(await endOne(end)).toBe(false)
      await releaseTotals()
      const copyAgain = async () => {
        const { exitCode, printed } = await runCommand({ BOOKFEED_DATA: folder }, ...args)
        expect([exitCode, printed]).toEqual([0, expect.stringContaining('and read again: ')])
      }
      await copyAgain()
      // It has been written, and is read again.
      const releaseAgain = await lockTotals()
      for (const end of [interrupt, kill]) expect(await endOne(end)).toBe(true)
      await releaseAgain()
      await copyAgain()
    },
    TEST_MS_MAX,
  )
})
