/** Tables in PostgreSQL that another version has changed, or another program has made. */
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { SQL } from 'bun'

import { formatOf } from '#src/database/migrations.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { postgresHistory, postgresLedger } from '#src/extensions/postgres/formats.ts'

import { batchOf, conditionIdOf, someSnapshots } from '../../history/books.ts'
import { aKey, by, createKeyOne, NOW_MS } from '../../ledger/ledger-records.ts'
import { usePostgres } from '../../support/engines/each.ts'
import { postgresPrograms } from '../../support/engines/postgres.ts'
import { makeKey } from '../../support/harness.ts'
import { startKillableServer } from '../../support/killable-server.ts'
import { bookfeed } from '../../support/program.ts'
import { recordingEnv } from '../../support/recording-env.ts'
import { runCommand } from '../../support/run-command.ts'
import { openHistoryIn, openLedgerIn } from '../../support/stores.ts'
import { generatedPlaybook } from '../../support/venue/generated.ts'
import { startVenue, systemClock } from '../../support/venue/venue.ts'

const MS_MAX = 240_000
const TRIES_MAX = 1_000
const CHANGED = 'Another version of bookfeed has changed the tables'

const tier: Tier = {
  tierId: 'versions',
  name: 'Versions',
  rank: 98,
  isForSale: false,
  requestsPerMinute: 1000,
  coins: ['btc'],
  routes: ['markets', 'snapshots'],
}

const laterRelease = new URL('../../support/later-release.ts', import.meta.url).pathname

/** Those of the caller that are valid. */
async function keysAt(origin: string, headers: Record<string, string>): Promise<{ id: string }[]> {
  const response = await fetch(`${origin}/v1/keys`, { headers })
  return ((await response.json()) as { data: { id: string }[] }).data
}

test('behavior: a file whose store is at an address is not upgraded, and not backed up for it', async () => {
  const data = mkdtempSync(join(tmpdir(), 'bookfeed-retired-'))
  try {
    ;(await openHistoryIn(join(data, 'history.db'))).dispose()
    ;(await openLedgerIn(join(data, 'ledger.db'), { nowMs: NOW_MS })).dispose()
    const env = { BOOKFEED_DATA: data, BUN_OPTIONS: `--preload=${laterRelease}` }
    const copied = { ...env, BOOKFEED_HISTORY: 'postgres://user:password@127.0.0.1:1/books' }
    const first = await runCommand(copied, 'keys', 'list')
    expect(first.exitCode).toBe(0)
    expect(first.errors).not.toContain('older version')
    expect(existsSync(join(data, 'backups'))).toBe(false)
    // It is as it was: once it is used again, it is upgraded.
    expect((await runCommand(env, 'keys', 'list')).errors).toContain('Backing them up')
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}, 300_000)

describe.skipIf(postgresPrograms === undefined)('tables of another version', () => {
  const { server, placeOf } = usePostgres()

  /** Until it holds what is wanted. */
  async function untilSo<T>(look: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
    for (let tries = 0; ; tries++) {
      const seen = await look()
      if (isSo(seen) || tries === TRIES_MAX) return seen
      await Bun.sleep(100)
    }
  }

  test(
    'error: nothing is written to them, by any way, until they are what they were',
    async () => {
      await using operator = new SQL(server().url, { max: 1 })
      const places = { history: placeOf('changed'), ledger: placeOf('changed_ledger') }
      const setFormats = async (step: 0 | 1): Promise<void> => {
        const [history, ledger] = [postgresHistory, postgresLedger].map(
          ({ migrations }) => formatOf(migrations) + step,
        )
        await operator.unsafe(`UPDATE changed.format SET version = ${history};
          UPDATE changed_ledger.format SET version = ${ledger}`)
      }
      const history = await openHistoryIn(places.history, { isRecording: true })
      const ledger = await openLedgerIn(places.ledger, { nowMs: NOW_MS })
      const serving = await openLedgerIn(places.ledger, { nowMs: NOW_MS, isServing: true })
      const { id: keyId } = await createKeyOne(ledger)
      await history.append(batchOf(0))
      const writes: (() => unknown)[] = [
        () => history.append(batchOf(1)),
        () =>
          history.record({
            snapshots: someSnapshots(2, { conditionId: conditionIdOf(9) }),
            trades: [],
            gaps: [],
          }),
        () => ledger.createKey(aKey(2), by()),
        () => serving.createKey(aKey(3), by()),
        () =>
          serving.addUsage([
            { keyId, day: '2026-11-21', route: 'prices', requests: 1, bytes: 1, lastUsedMs: 1 },
          ]),
        () => serving.probeWrite(),
        () => ledger.probeWrite(),
        () => history.probeWrite(),
      ]
      const outcomes = () =>
        Promise.all(
          writes.map(async (write) => {
            try {
              await write()
              return 'done'
            } catch (error) {
              return String(error)
            }
          }),
        )
      const state = () => [
        history.totals().snapshots,
        ledger.listKeys().length,
        ledger.usageOf('acc_1', ''),
        ledger.listAudit(0, 1000).length,
      ]
      const before = state()
      await setFormats(1)
      for (const outcome of await outcomes()) expect(outcome).toContain(CHANGED)
      expect(state()).toEqual(before)
      await setFormats(0)
      expect(new Set(await outcomes())).toEqual(new Set(['done']))
      expect([...history.verify(), ...ledger.verifyAudit()]).toEqual([])
      for (const store of [history, ledger, serving]) store.dispose()
    },
    MS_MAX,
  )

  test(
    'error: a schema of another program is left as it is, before anything is made in it',
    async () => {
      await using operator = new SQL(server().url, { max: 1 })
      const contents = [
        'CREATE TABLE customer (id int)',
        'CREATE TABLE format (version bigint, name text)',
        'CREATE TABLE format (version bigint)',
        'CREATE TABLE market (id int)',
        "CREATE FUNCTION answer() RETURNS int LANGUAGE sql AS 'SELECT 42'",
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        'CREATE TYPE pair AS (a int, b int)',
        'CREATE DOMAIN positive AS int CHECK (VALUE > 0)',
      ]
      for (const [number, content] of contents.entries()) {
        const schema = `foreign_${number}`
        await operator.unsafe(`CREATE SCHEMA ${schema}; SET search_path = ${schema}; ${content}`)
        // Making one would fail for its lack of rights, with another sentence.
        await operator.unsafe(`CREATE ROLE guest_${number} LOGIN PASSWORD 'guest';
          GRANT USAGE ON SCHEMA ${schema} TO guest_${number}`)
        const { host } = new URL(server().url)
        const place = `postgres://guest_${number}:guest@${host}/bookfeed?schema=${schema}`
        await expect(openHistoryIn(place)).rejects.toThrow('contains something else')
        await expect(openLedgerIn(place, { nowMs: NOW_MS })).rejects.toThrow('was not changed')
      }
      // Words of SQL are names, too.
      ;(await openHistoryIn(placeOf('select'))).dispose()
      ;(await openHistoryIn(placeOf('select'))).dispose()
    },
    MS_MAX,
  )

  test(
    'behavior: an upgrade of servers and recorders, in the order of docs/scale.md',
    async () => {
      await using stack = new AsyncDisposableStack()
      const folder = mkdtempSync(join(tmpdir(), 'bookfeed-versions-'))
      stack.defer(() => rmSync(folder, { recursive: true, force: true }))
      const operator = stack.use(new SQL(server().url, { max: 1 }))
      const venue = stack.use(
        await startVenue({
          playbook: generatedPlaybook({
            seed: 'versions',
            startMs: systemClock(),
            stepsPerSecond: 20,
          }),
          pace: { by: 'clock', clock: systemClock },
        }),
      )
      const stores = {
        BOOKFEED_HISTORY: placeOf('upgraded'),
        BOOKFEED_LEDGER: placeOf('upgraded_ledger'),
      }
      const later = { BUN_OPTIONS: `--preload=${laterRelease}` }
      const envOf = (name: string) => ({ ...recordingEnv(join(folder, name), venue), ...stores })
      const startServer = async (name: string, more = {}) => {
        const env = { ...envOf(name), BOOKFEED_RECORD: 'off', ...more }
        return stack.adopt(await startKillableServer(env), ({ kill }) => kill())
      }
      const startRecorder = (name: string, more = {}) => {
        const env = { ...envOf(name), ...more }
        const child = Bun.spawn(bookfeed('record'), { env, stdout: 'ignore', stderr: 'pipe' })
        stack.defer(() => child.kill('SIGKILL'))
        return { errors: new Response(child.stderr).text(), stop: () => child.kill('SIGTERM') }
      }
      const statusOf = async (name: string) => {
        const { printed } = await runCommand(envOf(name), 'status', '--json')
        return JSON.parse(printed || '{}') as { fault?: string; sink?: { rows: number } }
      }
      const readyOf = async ({ origin }: { origin: string }) => {
        const response = await fetch(`${origin}/readyz`)
        return { status: response.status, text: await response.text() }
      }

      const old = await startServer('old-server')
      const oldRecorder = startRecorder('old-recorder')
      const ledger = await openLedgerIn(stores.BOOKFEED_LEDGER, { nowMs: systemClock() })
      const key = await makeKey(ledger, tier)
      ledger.dispose()
      await untilSo(
        () => statusOf('old-recorder'),
        ({ sink }) => (sink?.rows ?? 0) > 0,
      )
      expect(await readyOf(old)).toMatchObject({ status: 200 })

      // Without the operator's word nothing of the later version changes the tables.
      const [, refused] = await Promise.all([
        startServer('early', later).then(
          () => expect.unreachable(),
          (error) => expect(String(error)).toContain('migrate --backed-up'),
        ),
        runCommand({ ...envOf('early-command'), ...later }, 'migrate'),
      ])
      expect(refused.exitCode).toBe(1)
      expect(refused.printed).toContain('to be migrated to')
      expect(refused.errors).toContain('Nothing was changed. Back up these stores')
      expect(await readyOf(old)).toMatchObject({ status: 200 })

      // It waits for what has begun.
      const begun = await operator.reserve()
      await begun.unsafe('BEGIN; SELECT version FROM upgraded.format')
      const migrating = runCommand({ ...envOf('command'), ...later }, 'migrate', '--backed-up')
      const isDone = await Promise.race([migrating.then(() => true), Bun.sleep(3000)])
      expect(isDone).toBeUndefined()
      await begun.unsafe('COMMIT')
      begun.release()
      const { exitCode, printed } = await migrating
      expect([exitCode, printed.match(/migrated from format \d+ to \d+/g)?.length]).toEqual([0, 2])

      // The older ones write nothing more, and say so; what is stored is read.
      const unready = await untilSo(
        () => readyOf(old),
        ({ status }) => status === 503,
      )
      expect(unready.text).toContain(CHANGED)
      expect(unready.text).toContain('replace it with that version')
      const errors = await untilSo(
        async () => old.errors(),
        (lines) => lines.includes(`cannot be read: ${CHANGED}`),
      )
      expect(errors).toContain(`cannot be read: ${CHANGED}`)
      const headers = { authorization: `Bearer ${key}` }
      const [{ id: keyId } = { id: '' }] = await keysAt(old.origin, headers)
      const revoked = await fetch(`${old.origin}/v1/keys/${keyId}`, { method: 'DELETE', headers })
      expect([revoked.status, await revoked.text()]).toEqual([
        503,
        expect.stringContaining('storage_unavailable'),
      ])
      expect(await keysAt(old.origin, headers)).toHaveLength(1)
      expect((await fetch(`${old.origin}/v1/btc/markets`, { headers })).status).toBe(200)
      const status = await untilSo(
        () => statusOf('old-recorder'),
        ({ fault }) => fault?.includes(CHANGED) === true,
      )
      expect(status.fault).toContain(CHANGED)
      const stale = await untilSo(
        () => readyOf(old),
        ({ text }) => text.includes('is behind') && text.includes(CHANGED),
      )
      expect(stale.text).toContain('The copy of the history is behind')
      expect(stale.text).toContain(CHANGED)
      const honoured = async () => (await fetch(`${old.origin}/v1/btc/markets`, { headers })).status
      expect(await untilSo(honoured, (code) => code === 503)).toBe(503)

      const next = await startServer('new-server', later)
      startRecorder('new-recorder', later)
      oldRecorder.stop()
      expect(await oldRecorder.errors).toContain(CHANGED)
      expect(await readyOf(next)).toMatchObject({ status: 200 })
      const { sink } = await untilSo(
        () => statusOf('new-recorder'),
        (seen) => (seen.sink?.rows ?? 0) > 0,
      )
      expect(sink?.rows).toBeGreaterThan(0)
      // The older release refuses them from its next start on.
      const again = await runCommand(envOf('old-server'), 'keys', 'list')
      expect(again.errors).toContain('newer bookfeed')
    },
    MS_MAX,
  )
})
