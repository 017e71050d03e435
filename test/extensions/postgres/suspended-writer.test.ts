/** A writer that stands still within its transaction: the others go on, and what it began is lost. */
import { describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import { transact } from '#src/database/database.ts'
import { copyLedger } from '#src/extensions/postgres/copy-ledger.ts'
import { openPostgres } from '#src/extensions/postgres/database.ts'
import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'
import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createReporter } from '#src/recorder/ports.ts'
import { createSink } from '#src/recorder/sink.ts'

import { batchOf, conditionIdOf, someSnapshots } from '../../history/books.ts'
import { createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 120_000
const TRIES_MAX = 500
/** How long another writer may try. */
const GOES_ON_MS_MAX = 60_000
/** Longer than a writer may stand still. */
const LONG_MS = 4000
const ROWS = 50
const OTHER = 7

const script = new URL('../../support/append-process.ts', import.meta.url).pathname

/** A process whose statements are longer than what lies between it and PostgreSQL. */
const writingLongStatements = `
  const { transact } = await import('#src/database/database.ts')
  const { openPostgres } = await import('#src/extensions/postgres/database.ts')
  const { postgresHistory } = await import('#src/extensions/postgres/formats.ts')
  const db = openPostgres(process.argv.at(-1), postgresHistory)
  const text = 'x'.repeat(2 ** 24)
  for (;;) transact(db, () => db.prepare('SELECT length(CAST($1 AS text))').get(text))
`

/** Of the process that has the lock of writers, which it takes after its transaction has begun. */
const STATES = `SELECT state FROM pg_stat_activity JOIN pg_locks USING (pid)
  WHERE application_name = 'bookfeed' AND locktype = 'advisory' AND granted`

/** Suspends a process within a transaction, once it has got on since the last attempt. */
async function suspendWithin(
  child: Bun.Subprocess,
  operator: SQL,
  progress: () => number = () => performance.now(),
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const before = progress()
    // At least once: it needs some time to start.
    await Bun.sleep(10)
    for (let looks = 0; progress() === before && looks < TRIES_MAX; looks++) await Bun.sleep(10)
    child.kill('SIGSTOP')
    // A statement that was under way comes to its end.
    await Bun.sleep(50)
    const states = await operator.unsafe(STATES).values()
    if (states.some(([state]: [string]) => state === 'idle in transaction')) return
    child.kill('SIGCONT')
  }
  throw new Error('It was never suspended within a transaction.')
}

/** A process that appends, suspended between two statements of a transaction. */
async function startSuspended(place: string, operator: SQL) {
  const words = [process.execPath, script, place, '0', '100000']
  const child = Bun.spawn(words, { stderr: 'pipe' })
  let printed = ''
  const read = async (): Promise<void> => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text
  }
  const reading = read()
  const acknowledged = () => printed.split('\n').length - 1
  await suspendWithin(child, operator, acknowledged)
  return {
    acknowledged,
    /** Lets it go on, and returns with what it ended. */
    async wake() {
      child.kill('SIGCONT')
      const errors = await child.stderr.text()
      await reading
      return { exitCode: await child.exited, errors }
    },
    [Symbol.dispose]: () => child.kill('SIGKILL'),
  }
}

describe.skipIf(postgresPrograms === undefined)('a writer that is suspended', () => {
  const { server, placeOf } = usePostgres()

  test(
    'behavior: another recorder goes on and drops nothing, and nothing is half-written or doubled',
    async () => {
      const place = placeOf('suspended')
      await using operator = new SQL(server().url, { max: 1 })
      const history = openHistory(place, { isRecording: true })
      // So that another one goes on within 5 s.
      const db = openPostgres(place, postgresHistory)
      const timeout = `current_setting('idle_in_transaction_session_timeout')`
      expect(db.prepare(`SELECT ${timeout} AS timeout`).get()).toEqual({ timeout: '3s' })
      db.close()
      using suspended = await startSuspended(place, operator)
      const startedMs = performance.now()
      const lines: string[] = []
      const sink = createSink({
        history,
        clock: systemClock,
        reporter: createReporter((line) => lines.push(line)),
        batchMs: 50,
        freeBytes: () => undefined,
        freeBytesMin: 0,
        onOverflow: () => lines.push('overflow'),
      })
      for (const snapshot of someSnapshots(ROWS, { conditionId: conditionIdOf(OTHER) }))
        sink.add({ kind: 'state', snapshot })
      while (sink.waiting > 0 && performance.now() - startedMs < GOES_ON_MS_MAX) {
        sink.tick()
        await Bun.sleep(1)
      }
      const { acknowledged } = suspended
      const { exitCode, errors } = await suspended.wake()

      expect(sink.counts).toMatchObject({ rows: ROWS, dropped: 0, duplicates: 0 })
      expect(lines.filter((line) => line.includes('overflow'))).toEqual([])
      // It learns that its transaction came to nothing.
      expect(exitCode).not.toBe(0)
      expect(errors).toContain('Try again')
      const next = acknowledged()
      expect(history.findBatch(`numbered-${next - 1}`)?.accepted).toBeGreaterThan(0)
      expect(history.findBatch(`numbered-${next}`)).toBeUndefined()

      // It does again what was lost, and what it does not know to be stored.
      for (let number = Math.max(0, next - 2); number < next + 2; number++)
        history.append(batchOf(number))
      expect([...history.verify()]).toEqual([])
      let accepted = 0
      for (let number = 0; number < next + 2; number++)
        accepted += history.findBatch(`numbered-${number}`)?.accepted ?? 0
      expect(history.totals().snapshots).toBe(accepted + ROWS)
      history.dispose()
    },
    MS_MAX,
  )

  test(
    'behavior: also where PostgreSQL has the beginning of a statement, and waits for the rest',
    async () => {
      const place = placeOf('stalled')
      await using operator = new SQL(server().url, { max: 1 })
      const history = openHistory(place, { isRecording: true })
      const child = Bun.spawn([process.execPath, '-e', writingLongStatements, place], {
        stderr: 'pipe',
      })
      try {
        await suspendWithin(child, operator)
        let tries = 0
        for (let isDone = false; !isDone && tries < TRIES_MAX; tries++) {
          try {
            history.append(batchOf(0))
            isDone = true
          } catch (error) {
            expect(String(error)).toContain('Try again')
            await Bun.sleep(1000)
          }
        }
        expect(tries).toBeLessThan(TRIES_MAX)
        child.kill('SIGCONT')
        expect(await child.stderr.text()).toContain('Try again')
        expect([...history.verify()]).toEqual([])
      } finally {
        child.kill('SIGKILL')
        history.dispose()
      }
    },
    MS_MAX,
  )

  test(
    'behavior: a long transaction that works, and one that reads, are not ended',
    () => {
      const db = openPostgres(placeOf('long'), postgresHistory)
      const insert = db.prepare<unknown, [string]>("INSERT INTO meta VALUES ($1, '\\x00')")
      const pause = db.prepare<unknown, []>('SELECT CAST(pg_sleep(0.5) AS TEXT)')
      transact(db, () => {
        for (let times = 0; times < (LONG_MS / 500) * 2; times++) {
          insert.run(`key ${times}`)
          pause.get()
          Bun.sleepSync(100)
        }
      })
      db.run(db.engine.beginReading)
      const count = db.prepare<{ count: number }, []>('SELECT count(*) AS count FROM meta')
      const before = count.get()
      Bun.sleepSync(LONG_MS)
      expect(count.get()).toEqual(before)
      db.run('COMMIT')
      db.close()
    },
    MS_MAX,
  )

  test(
    'behavior: nor is the copy of a ledger, in which one transaction waits for the other',
    () => {
      const source = openLedger(placeOf('source'), { nowMs: NOW_MS })
      createKeyOne(source)
      source.dispose()
      const from = openPostgres(placeOf('source'), postgresLedger)
      let tables = 0
      const { isNew } = copyLedger(
        from,
        { isThere: () => true, open: () => openPostgres(placeOf('target'), postgresLedger) },
        {
          movedTo: undefined,
          nowMs: NOW_MS,
          onRows() {
            if (tables++ === 0) Bun.sleepSync(LONG_MS)
          },
        },
      )
      from.close()
      expect([isNew, tables > 1]).toEqual([true, true])
    },
    MS_MAX,
  )
})
