/** A writer that stands still within its transaction: the others go on, and what it began is lost. */
import { describe, expect, test } from 'bun:test'

import { SQL } from 'bun'

import { addressOf } from '#src/extensions/postgres/address.ts'
import { connect } from '#src/extensions/postgres/connection.ts'
import { copyLedger } from '#src/extensions/postgres/copy-ledger.ts'
import { openCopyStore } from '#src/extensions/postgres/copy-store.ts'
import { formats } from '#src/extensions/postgres/formats.ts'
import { createReporter } from '#src/recorder/ports.ts'
import { createSink } from '#src/recorder/sink.ts'

import { batchOf, conditionIdOf, someSnapshots } from '../../history/books.ts'
import { createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { openHistoryIn, openLedgerIn, toPlace } from '../../support/stores.ts'
import { systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 300_000
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
  const { openSurround } = await import('#src/extensions/postgres/surround.ts')
  const [place, path] = process.argv.slice(-2)
  const store = await openSurround({ place, path, store: 'history' })
  const put = store.writing.prepare("INSERT OR REPLACE INTO meta VALUES ('long', $1)")
  for (;;) await store.transact(() => put.run(new Uint8Array(2 ** 24)))
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
      const history = await openHistoryIn(place, { isRecording: true })
      // So that another one goes on within 4 s.
      await using sql = connect(addressOf(place, formats.history.schema))
      const setting = await sql`SHOW idle_in_transaction_session_timeout`.values()
      expect([...setting]).toEqual([['3s']])
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
        await history.append(batchOf(number))
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
      const { path } = toPlace('history', place)
      await using operator = new SQL(server().url, { max: 1 })
      const history = await openHistoryIn(place, { isRecording: true })
      const child = Bun.spawn([process.execPath, '-e', writingLongStatements, place, path], {
        stderr: 'pipe',
      })
      try {
        await suspendWithin(child, operator)
        let tries = 0
        for (let isDone = false; !isDone && tries < TRIES_MAX; tries++) {
          try {
            await history.append(batchOf(0))
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
    'behavior: a long transaction that works is not ended',
    async () => {
      const place = placeOf('long')
      const history = await openHistoryIn(place)
      await using operator = new SQL(server().url, { max: 1 })
      let appended: ReturnType<typeof history.append> | undefined
      await operator.begin(async (held) => {
        await held.unsafe('LOCK TABLE long.market IN EXCLUSIVE MODE')
        appended = history.append(batchOf(0))
        appended.catch(() => undefined)
        // What it sends waits for the lock, and the writer for the answer.
        await Bun.sleep(LONG_MS)
      })
      expect((await appended)?.kind).toBe('appended')
      history.dispose()
    },
    MS_MAX,
  )

  test(
    'behavior: the copy of a ledger is not ended, in which one transaction waits for the other',
    async () => {
      const source = await openLedgerIn(placeOf('source'), { nowMs: NOW_MS })
      await createKeyOne(source)
      source.dispose()
      const from = await openCopyStore(placeOf('source'), formats.ledger)
      let tables = 0
      const { isNew } = await copyLedger(
        from,
        {
          isThere: async () => true,
          open: () => openCopyStore(placeOf('target'), formats.ledger),
        },
        {
          movedTo: undefined,
          onRows() {
            if (tables++ === 0) Bun.sleepSync(LONG_MS)
          },
        },
      )
      await from.close()
      expect([isNew, tables > 1]).toEqual([true, true])
    },
    MS_MAX,
  )
})
