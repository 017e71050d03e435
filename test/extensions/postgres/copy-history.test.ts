/** A history goes from a folder to a PostgreSQL and back, row by row, also where it is killed. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { postgresHistory } from '#src/extensions/postgres/formats.ts'
import { prepareTables } from '#src/extensions/postgres/server-tables.ts'

import { expectSameAnswers, fillAnswers, requestsFor } from '../../support/answers.ts'
import { type Postgres, postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { hasS3, startS3 } from '../../support/engines/s3.ts'
import { bookfeed } from '../../support/program.ts'
import { runCommand } from '../../support/run-command.ts'
import { openHistoryIn } from '../../support/stores.ts'
import { tableRows } from '../../support/table-rows.ts'

const TEST_MS_MAX = 240_000
const LOOKS_MAX = 6_000
const LOOK_MS = 20
/** So many rows are one transaction. */
const STEP = 500

const root = mkdtempSync(join(tmpdir(), 'bookfeed-copy-history-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const template = join(root, 'template.db')
const fileIn = (folder: string): string => join(folder, 'history.db')

function makeFolder(name: string): string {
  const folder = join(root, name)
  mkdirSync(folder)
  copyFileSync(template, fileIn(folder))
  return folder
}

const wordsOf = (from: string, to: string): string[] => [
  'copy',
  '--only',
  'history',
  '--from',
  from,
  '--to',
  to,
]

describe.skipIf(postgresPrograms === undefined)('bookfeed copy of a history', () => {
  let postgres: Postgres
  let sql: SQL
  let rows: Record<string, string[]> = {}
  beforeAll(async () => {
    const history = await openHistoryIn(template)
    await fillAnswers(history)
    await history.putReceipts([{ tradeId: history.lastTradeId(), isSuccess: false }], 1)
    history.dispose()
    rows = tableRows(template)
    expect(rows.trade_chain).toHaveLength(1)
    expect(rows.spot?.length).toBeGreaterThan(STEP)
    postgres = await startPostgres()
    sql = new SQL(postgres.url, { max: 4, bigint: true })
  }, TEST_MS_MAX)
  afterAll(async () => {
    await sql?.close()
    await postgres?.[Symbol.asyncDispose]()
  })

  const placeOf = (schema: string): string => `${postgres.url}?schema=${schema}`
  const until = async (question: string): Promise<void> => {
    for (let looks = 0; (await sql.unsafe(question)).length === 0; looks++) {
      if (looks > LOOKS_MAX) throw new Error(`It never came to that: ${question}`)
      await Bun.sleep(LOOK_MS)
    }
  }
  /** Copies until somebody waits for a lock that `sql` holds, and kills it there. */
  const killWaiting = async (from: string, to: string): Promise<void> => {
    const child = Bun.spawn(bookfeed(...wordsOf(from, to)), {
      env: {},
      stdout: 'ignore',
      stderr: 'ignore',
    })
    await until('SELECT 1 FROM pg_locks WHERE NOT granted')
    child.kill(9)
    await child.exited
  }
  /** Copies to the end. */
  const copy = async (from: string, to: string, env: Record<string, string> = {}) => {
    const { exitCode, printed } = await runCommand(env, ...wordsOf(from, to))
    expect([exitCode, printed]).toEqual([0, expect.stringContaining('and read again: ')])
  }

  test(
    'default: every row of every table goes there and back, and so do cursors and tags',
    async () => {
      const folder = makeFolder('there')
      const back = join(root, 'back')
      await copy(folder, placeOf('there'))
      await copy(placeOf('there'), back)
      expect(tableRows(fileIn(back))).toEqual(rows)
      const histories = [await openHistoryIn(template), await openHistoryIn(fileIn(back))] as const
      await expectSameAnswers(histories, requestsFor(histories[0]))
      for (const history of histories) history.dispose()
    },
    TEST_MS_MAX,
  )

  test(
    'behavior: killed amid the rows of a table, on the way there and back, it goes on',
    async () => {
      const folder = makeFolder('killed')
      const place = placeOf('killed')
      await prepareTables(place, postgresHistory)
      // Who writes the same row waits until this is undone.
      const file = new Database(fileIn(folder), { readonly: true })
      const late = file.query('SELECT * FROM spot ORDER BY id LIMIT 1 OFFSET ?').get(STEP + 20)
      file.close()
      const writing = await sql.reserve()
      // Without triggers, which would take the turn to write.
      await writing.unsafe('BEGIN; SET LOCAL session_replication_role = replica')
      await writing`INSERT INTO killed.spot ${sql(bigintsOf(late as object))}`
      await killWaiting(folder, place)
      await writing`ROLLBACK`
      writing.release()
      // What it asked last is still being done.
      await until(`SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM pg_stat_activity
        WHERE application_name = 'bookfeed')`)
      expect([...(await sql`SELECT count(*) AS count FROM killed.spot`)]).toEqual([
        { count: BigInt(STEP) },
      ])
      await copy(folder, place)

      const back = join(root, 'killed-back')
      const locking = await sql.reserve()
      await locking.unsafe('BEGIN; LOCK TABLE killed.spot IN ACCESS EXCLUSIVE MODE')
      await killWaiting(place, back)
      await locking`ROLLBACK`
      locking.release()
      const held = tableCounts(fileIn(back))
      expect([held.chunk, held.spot]).toEqual([rows.chunk?.length ?? 0, 0])
      await copy(place, back)
      expect(tableRows(fileIn(back))).toEqual(rows)
    },
    TEST_MS_MAX,
  )

  test.skipIf(!hasS3)(
    'behavior: books in a bucket stay there, and the copy reads them',
    async () => {
      await using s3 = await startS3()
      const bucket = `s3://${s3.bucket}/copied`
      const folder = makeFolder('archived')
      const env = { ...s3.env, BOOKFEED_DATA: folder, BOOKFEED_ARCHIVE: bucket }
      const archived = await runCommand({ ...env, BOOKFEED_FREE_MB: '0' }, 'archive', '--days', '0')
      expect(archived.exitCode, archived.errors).toBe(0)
      const before = tableRows(fileIn(folder))
      expect(before.segment?.length).toBeGreaterThan(3)

      const place = placeOf('archived')
      const back = join(root, 'archived-back')
      // All of it is read again, which needs the bucket.
      const blind = await runCommand({}, ...wordsOf(folder, place))
      expect([blind.exitCode, blind.errors]).toEqual([
        1,
        expect.stringContaining('archive of older books'),
      ])
      await copy(folder, place, s3.env)
      await copy(place, back, s3.env)
      expect(tableRows(fileIn(back))).toEqual(before)
      const verified = await runCommand({ ...s3.env, BOOKFEED_DATA: back }, 'verify')
      expect(verified.exitCode).toBe(0)
    },
    TEST_MS_MAX,
  )
})

/** As the driver takes them. */
const bigintsOf = (row: object): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'number' ? BigInt(value) : value,
    ]),
  )

/** Of a file that was left by a process that was killed. */
function tableCounts(path: string): { chunk: number; spot: number } {
  using db = new Database(path)
  const count = (table: string) =>
    db.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? -1
  return { chunk: count('chunk'), spot: count('spot') }
}
