/**
 * The alerts of `deploy/prometheus-alerts.yml` under a real Prometheus, which reads two servers and
 * a recorder on PostgreSQL and a bucket: each fault fires the alert that says what to do, and
 * none that says another thing; and what `docs/scale.md` says to do ends it.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { familiesIn, parseExposition } from '../support/exposition.ts'
import { findFreePort } from '../support/free-port.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { bookfeed } from '../support/program.ts'
import { checkRules, prometheusPrograms, startPrometheus } from '../support/prometheus.ts'
import { recordingEnv } from '../support/recording-env.ts'
import { startS3Server } from '../support/s3-server.ts'
import { generatedPlaybook } from '../support/venue/generated.ts'
import { startVenue, systemClock } from '../support/venue/venue.ts'

const root = new URL('../..', import.meta.url).pathname
const rulesPath = join(root, 'deploy/prometheus-alerts.yml')
const DRILL_MS_MAX = 1_200_000
const TRIES_MAX = 600
const TRY_MS = 250
/** Alerts about what the drill does; others depend on the load of the machine. */
const watched =
  /^Bookfeed(Down|Database(Down|Unreachable|NotPromoted|Full|Connections)|CommitsWait|NoStandby|ReplicaStale|BucketDown|Usage|RecorderDown)/

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-alerts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The blocks of commands of "Failover" in `docs/scale.md`, one command a line. */
async function readCommands(): Promise<string[][]> {
  const text = await Bun.file(join(root, 'docs/scale.md')).text()
  const section = text.split(/^## /m).find((part) => part.startsWith('Failover\n')) ?? ''
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = '']) =>
    block.trim().split('\n'),
  )
}

/** Runs commands as they are written, but for where the database is and who its superuser is. */
async function follow(lines: readonly string[], url: string): Promise<void> {
  const { hostname, port, username, password } = new URL(url)
  for (const line of lines) {
    const changed = line.replace(
      /^psql --host \S+ --username postgres /,
      `${postgresPrograms}/psql --host ${hostname} --port ${port} --username ${username} --dbname bookfeed `,
    )
    expect(changed).not.toBe(line)
    const child = Bun.spawn(['bash', '-c', changed], {
      env: { PGPASSWORD: password },
      stdout: 'ignore',
      stderr: 'pipe',
    })
    expect([await child.exited, await child.stderr.text()]).toEqual([0, ''])
  }
}

describe.skipIf(postgresPrograms === undefined || prometheusPrograms === undefined)(
  'alerts',
  () => {
    test('default: promtool finds no fault in them', () => {
      expect(checkRules(rulesPath)).toMatchObject({ isSound: true })
    })

    test(
      'behavior: each fault fires its own alert, whose advice ends it',
      async () => {
        await using stack = new AsyncDisposableStack()
        const postgres = stack.use(await startPostgres())
        const bucket = startS3Server('books')
        stack.defer(() => bucket.stop())
        const venue = stack.use(
          await startVenue({
            playbook: generatedPlaybook({ seed: 'alerts', startMs: systemClock() }),
            pace: { by: 'clock', clock: systemClock },
          }),
        )
        let databaseUrl = postgres.url
        const linkTo = async (targetOf: () => string) => {
          const link = await startCuttingProxy(() => Number(new URL(targetOf()).port))
          stack.defer(link.stop)
          const behind = (address: string): string => {
            const url = new URL(address)
            url.port = new URL(link.origin).port
            return url.href
          }
          return { link, behind }
        }
        const ofBucket = await linkTo(() => bucket.env.S3_ENDPOINT)

        const startRecorder = async () => {
          const home = join(folder, 'recorder')
          mkdirSync(home)
          const { behind } = await linkTo(() => databaseUrl)
          const port = findFreePort()
          const child = Bun.spawn(bookfeed('record'), {
            env: {
              ...recordingEnv(home, venue),
              BOOKFEED_HISTORY: behind(postgres.url),
              BOOKFEED_RECORD_METRICS: String(port),
            },
            stdout: 'ignore',
            stderr: 'ignore',
          })
          stack.defer(async () => {
            child.kill()
            await child.exited
          })
          return { at: `127.0.0.1:${port}`, child }
        }
        const startServer = async (name: string) => {
          const home = join(folder, name)
          mkdirSync(home)
          const { link, behind } = await linkTo(() => databaseUrl)
          const port = findFreePort()
          const server = await startKillableServer({
            ...bucket.env,
            BOOKFEED_DATA: home,
            BOOKFEED_PORT: '0',
            BOOKFEED_LOG: 'off',
            BOOKFEED_SAMPLE: 'off',
            BOOKFEED_HISTORY: behind(postgres.url),
            BOOKFEED_LEDGER: behind(postgres.url),
            BOOKFEED_ARCHIVE: 's3://books/alerts',
            S3_ENDPOINT: ofBucket.link.origin,
            BOOKFEED_METRICS: String(port),
          })
          stack.defer(server.kill)
          return { at: `127.0.0.1:${port}`, link }
        }
        const recorder = await startRecorder()
        const first = await startServer('server-1')
        const second = await startServer('server-2')
        const targets = [first.at, second.at, recorder.at]

        // Each metric that an alert or a panel names is one of a process.
        const readAt = async (target: string) =>
          parseExposition(await (await fetch(`http://${target}/metrics`)).text())
        const names = new Set<string>()
        const isComplete = async () => {
          for (const target of targets)
            for (const name of (await readAt(target).catch(() => undefined))?.types.keys() ?? [])
              names.add(name)
          return names.has('bookfeed_recorder_lag_seconds')
        }
        for (let tries = 0; tries < TRIES_MAX && !(await isComplete()); tries++)
          await Bun.sleep(TRY_MS)
        for (const file of ['prometheus-alerts.yml', 'grafana-dashboard.json']) {
          const used = familiesIn(await Bun.file(join(root, 'deploy', file)).text())
          expect([file, used.filter((name) => !names.has(name))]).toEqual([file, []])
        }
        const bytesOf = async (file: string) =>
          (await readAt(first.at)).samples.get(`bookfeed_file_bytes{file="${file}"}`) ?? 0
        for (const file of ['replica-history.db', 'replica-ledger.db']) {
          for (let tries = 0; tries < TRIES_MAX && (await bytesOf(file)) === 0; tries++)
            await Bun.sleep(TRY_MS)
          expect(await bytesOf(file), file).toBeGreaterThan(0)
        }
        for (const name of ['bookfeed_postgres_up{store="history"}', 'bookfeed_recorder_up'])
          expect((await readAt(recorder.at)).samples.get(name)).toBe(1)

        const prometheus = stack.use(
          await startPrometheus(targets, await Bun.file(rulesPath).text()),
        )
        const firing = async (): Promise<string[]> => {
          const alerts = (await prometheus.firing()).map(({ labels }) => labels)
          const seen = alerts.filter(({ alertname = '' }) => watched.test(alertname))
          return [
            ...new Set(
              seen.map(({ alertname, instance }) =>
                instance ? `${alertname} ${instance}` : `${alertname}`,
              ),
            ),
          ].sort()
        }
        const expectFiring = async (...expected: string[]): Promise<void> => {
          for (let tries = 0; tries < TRIES_MAX; tries++) {
            if (Bun.deepEquals(await firing(), expected.sort())) return
            await Bun.sleep(TRY_MS)
          }
          expect(await firing()).toEqual(expected)
        }
        const adviceOf = async (name: string): Promise<string> =>
          (await prometheus.firing()).find(({ labels }) => labels.alertname === name)?.annotations
            .action ?? ''
        const ofBoth = (name: string): string[] => [`${name} ${first.at}`, `${name} ${second.at}`]
        const stale = ofBoth('BookfeedReplicaStale')
        await expectFiring()

        const [promote = [], goOnAlone = []] = await readCommands()
        // The standby is lost: the primary is not to be replaced.
        await postgres.standby.kill()
        await expectFiring('BookfeedCommitsWait', ...stale)
        const advice = await adviceOf('BookfeedCommitsWait')
        expect(advice).toStartWith('Do not promote a standby')
        for (const line of goOnAlone)
          expect(advice).toContain(
            /(?:ALTER SYSTEM|SELECT) [^"]+(?=["'] ?$)/.exec(line)?.[0] ?? line,
          )
        await follow(goOnAlone, postgres.url)
        await expectFiring('BookfeedNoStandby')
        await using operator = new SQL(postgres.url, { max: 1 })
        await operator.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
        await operator.unsafe('SELECT pg_reload_conf()')
        await postgres.standby.start()
        await expectFiring()

        // One process is cut off: nothing is to be promoted either.
        first.link.refuse(true)
        await expectFiring(
          `BookfeedDatabaseUnreachable ${first.at}`,
          `BookfeedReplicaStale ${first.at}`,
        )
        expect(await adviceOf('BookfeedDatabaseUnreachable')).toStartWith(
          'Do not promote a standby',
        )
        first.link.refuse(false)
        await expectFiring()

        ofBucket.link.refuse(true)
        await expectFiring(...ofBoth('BookfeedBucketDown'))
        ofBucket.link.refuse(false)
        await expectFiring()

        // The primary is dead. Its standby has its setting, as one made with pg_basebackup does.
        const standbyUrl = postgres.standby.url
        {
          await using standby = new SQL(standbyUrl, { max: 1 })
          await standby.unsafe("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
          await standby.unsafe('SELECT pg_reload_conf()')
        }
        await postgres.killPrimary()
        await expectFiring('BookfeedDatabaseDown', ...stale)
        const remedy = await adviceOf('BookfeedDatabaseDown')
        for (const line of promote)
          expect(remedy).toContain(
            /(?:ALTER SYSTEM|SELECT) [^"]+(?=["'] ?$)/.exec(line)?.[0] ?? line,
          )
        // The address leads to it before it is promoted.
        databaseUrl = standbyUrl
        await expectFiring('BookfeedDatabaseNotPromoted', ...stale)
        await follow(promote, standbyUrl)
        await expectFiring('BookfeedNoStandby')
        // The recorder was never restarted, and records on.
        const rows = async () =>
          (await readAt(recorder.at)).samples.get('bookfeed_recorder_rows_total') ?? 0
        const before = await rows()
        for (let tries = 0; tries < TRIES_MAX && (await rows()) <= before; tries++)
          await Bun.sleep(TRY_MS)
        expect(await rows()).toBeGreaterThan(before)

        recorder.child.kill('SIGKILL')
        await expectFiring(`BookfeedDown ${recorder.at}`, 'BookfeedNoStandby')
      },
      DRILL_MS_MAX,
    )
  },
)
