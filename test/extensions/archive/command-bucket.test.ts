/** `bookfeed archive` with a real bucket: by hand, killed, two at once, and as a server's job. */
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { openDatabase } from '#src/database/sqlite/database.ts'
import { openArchive } from '#src/extensions/archive/range-reader.ts'
import { openHistory } from '#src/history/open.ts'

import { createCommandLine } from '../../support/command-line.ts'
import { onBucket } from '../../support/engines/bucket.ts'
import { postgresPrograms, startPostgres } from '../../support/engines/postgres.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { addOldMarkets } from '../../support/old-markets.ts'
import { bookfeed } from '../../support/program.ts'
import { openHistoryIn } from '../../support/stores.ts'

const MARKETS = 3
const WAIT_MS_MAX = 60_000
const HOUR_MS = 3_600_000

async function untilTrue(holds: () => Promise<boolean> | boolean, lookMs = 100): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error('It never came to that.')
    await Bun.sleep(lookMs)
  }
}

async function createLine(env: Record<string, string>, place?: string) {
  const cli = createCommandLine({ BOOKFEED_FREE_MB: '0', ...env })
  const path = place ?? join(cli.folder, 'history.db')
  const history = await openHistoryIn(path)
  if (history.totals().markets === 0) await addOldMarkets(history, MARKETS)
  history.dispose()
  return { ...cli, path }
}

/** Objects of the bucket that books are read from; whatever is stored is sound. */
async function expectArchived(path: string, bucket: string): Promise<void> {
  const history = await openHistoryIn(path)
  expect([...history.verify()]).toEqual([])
  expect(history.archive.totals().objects).toBe(MARKETS)
  expect(history.archive.due(Number.MAX_SAFE_INTEGER)).toEqual([])
  history.dispose()
  expect((await openArchive(bucket).list('')).size).toBe(MARKETS)
}

/** Waits until an object was begun, and stops whatever would seal it; its row. */
async function stopBeforeSeal(path: string) {
  const db = openDatabase(path)
  const begun = db.prepare<{ name: string; madeMs: number }, []>(
    'SELECT name, made_ms AS "madeMs" FROM segment WHERE is_sealed = 0',
  )
  let row: { name: string; madeMs: number } | undefined
  await untilTrue(() => {
    if (begun.get() === null) return false
    db.run('BEGIN IMMEDIATE')
    row = begun.get() ?? undefined
    if (row === undefined) db.run('ROLLBACK')
    return row !== undefined
  }, 1)
  return {
    name: '',
    madeMs: 0,
    ...row,
    goOn(): void {
      db.run('ROLLBACK')
      db.close()
    },
  }
}

onBucket(import.meta.path, ({ placeOf, tell, env }) => {
  describe('bookfeed archive', () => {
    test('default: moves old books, says what it put, and has nothing to do after that', async () => {
      const place = placeOf('by-hand')
      using cli = await createLine({ BOOKFEED_ARCHIVE: place })
      const first = await cli.run('archive', '--days', '0')
      expect([first.exitCode, first.errors]).toEqual([0, []])
      expect(first.printed.join()).toMatch(/^3 objects of [\d,]+ bytes put in s3:/)
      await expectArchived(cli.path, place)
      const again = await cli.run('archive', '--days', '0')
      expect(again.printed.join()).toMatch(/^0 objects of 0 bytes put in/)
    })

    test('error: kill -9 between an object and its seal leaves the books, and an orphan', async () => {
      const place = placeOf('killed')
      using cli = await createLine({ BOOKFEED_ARCHIVE: place })
      const child = Bun.spawn(bookfeed('archive', '--days', '0'), {
        stdout: 'ignore',
        stderr: 'inherit',
        env: { ...env, ...cli.context.env },
      })
      const stopped = await stopBeforeSeal(cli.path)
      const store = openArchive(place)
      await untilTrue(async () => (await store.list('')).has(stopped.name), 10)
      child.kill('SIGKILL')
      await child.exited
      stopped.goOn()
      const left = openHistory(cli.path)
      expect([...left.verify()]).toEqual([])
      left.dispose()

      cli.context.clock = () => stopped.madeMs + 2 * HOUR_MS
      const { exitCode, printed } = await cli.run('archive', '--days', '0')
      expect([exitCode, printed.join()]).toEqual([
        0,
        expect.stringMatching(/, 1 object removed\.$/),
      ])
      expect((await store.list('')).has(stopped.name)).toBe(false)
      await expectArchived(cli.path, place)
    })

    test.skipIf(postgresPrograms === undefined)(
      'behavior: of two at once on a PostgreSQL one does it',
      async () => {
        await using postgres = await startPostgres()
        const place = placeOf('two')
        const given = { BOOKFEED_ARCHIVE: place, BOOKFEED_HISTORY: postgres.url }
        using one = await createLine(given, postgres.url)
        using other = await createLine(given, postgres.url)
        // Whoever has the turn waits for the bucket.
        await tell('hang')
        const runs = [one, other].map((cli) => cli.run('archive', '--days', '0'))
        expect((await Promise.race(runs)).printed).toEqual(['Another process is archiving.'])
        await tell('wake')
        const printed = (await Promise.all(runs)).flatMap((run) => run.printed).sort()
        expect(printed).toEqual([
          expect.stringMatching(/^3 objects of/),
          'Another process is archiving.',
        ])
        await expectArchived(postgres.url, place)
      },
    )

    test('behavior: a server does it as a job', async () => {
      const place = placeOf('job')
      using cli = await createLine({})
      const server = await startKillableServer({
        ...env,
        BOOKFEED_DATA: cli.folder,
        BOOKFEED_PORT: '0',
        BOOKFEED_FREE_MB: '0',
        BOOKFEED_ARCHIVE: place,
        BOOKFEED_ARCHIVE_DAYS: '0',
        BOOKFEED_SAMPLE: 'off',
      })
      try {
        const started = await fetch(`${server.origin}/admin/api/jobs/run`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: server.origin },
          body: JSON.stringify({ name: 'archive' }),
        })
        expect([started.status, await started.text()]).toEqual([200, expect.any(String)])
        let outcome: string | null | undefined
        await untilTrue(async () => {
          const response = await fetch(`${server.origin}/admin/api/jobs`)
          const { data } = (await response.json()) as {
            data: { name: string; outcome: string | null }[]
          }
          outcome = data.find(({ name }) => name === 'archive')?.outcome
          return typeof outcome === 'string'
        })
        expect(outcome).toMatch(/^3 objects of/)
      } finally {
        await server.kill()
      }
      await expectArchived(cli.path, place)
    })
  })
})
