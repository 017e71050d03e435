/** A data folder belongs to one server and one recorder at a time; other commands run beside them. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { historyMigrations } from '#db/migrations.ts'
import { formatOf } from '#src/database/migrations.ts'
import { openDatabase, versionOf } from '#src/database/sqlite/database.ts'

import { startKillableServer } from '../support/killable-server.ts'
import { bookfeed } from '../support/program.ts'
import { runCommand } from '../support/run-command.ts'
import { someLines } from '../support/snapshot-lines.ts'

const root = mkdtempSync(join(tmpdir(), 'bookfeed-in-use-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const books = join(root, 'books.jsonl')
writeFileSync(books, someLines(30))

let made = 0
/**
 * A data folder with a history and a ledger, and the environment of a server on it. Another process
 * makes it: what this one has opened, it has open for some time after it was closed.
 */
async function newData() {
  const data = join(root, String(++made))
  const env = {
    BOOKFEED_DATA: data,
    BOOKFEED_PORT: '0',
    BOOKFEED_LOG: 'off',
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_TEST_MODE: 'off',
    BOOKFEED_FREE_MB: '0',
  }
  for (const command of [
    ['import', books],
    ['keys', 'create'],
  ])
    expect(await runCommand(env, ...command)).toMatchObject({ exitCode: 0 })
  return { data, env }
}

const laterRelease = new URL('../support/later-release.ts', import.meta.url).pathname
/** Of a release whose history has one migration more. */
const later = { BUN_OPTIONS: `--preload=${laterRelease}` }
const format = formatOf(historyMigrations)

function formatIn(data: string): number {
  const db = openDatabase(join(data, 'history.db'), { isReadOnly: true })
  const version = versionOf(db)
  db.close()
  return version
}

test('error: a second server is refused, also by a later release, and commands go on', async () => {
  const { data, env } = await newData()
  const server = await startKillableServer(env)
  const refused = `bookfeed: Another server uses the data folder ${data}. Stop it, or set BOOKFEED_DATA to another folder.\n`
  for (const own of [env, { ...env, ...later }])
    expect(await runCommand(own, 'serve')).toMatchObject({ exitCode: 1, errors: refused })
  expect(formatIn(data)).toBe(format)
  expect(await runCommand(env, 'keys', 'create')).toMatchObject({ exitCode: 0 })
  expect(await runCommand(env, 'import', books)).toMatchObject({ exitCode: 0 })
  const to = join(root, 'backups')
  expect(await runCommand(env, 'backup', '--to', to)).toMatchObject({ exitCode: 0 })
  expect((await runCommand(env, 'doctor')).printed).toContain('permissions')
  expect((await fetch(`${server.origin}/readyz`)).status).toBe(200)
  await server.kill()
  // What a process held ends with it.
  const next = await startKillableServer(env)
  await next.kill()
}, 300_000)

/** Nothing listens where the venue should be, so it keeps trying. */
const nowhere = {
  BOOKFEED_FEED_URL: 'ws://127.0.0.1:9',
  BOOKFEED_CATALOGUE_URL: 'http://127.0.0.1:9',
}

/** Resolves when it records. */
async function startRecorder(env: Record<string, string>) {
  const words = bookfeed('record')
  const child = Bun.spawn(words, { env: { ...env, ...nowhere }, stdout: 'pipe', stderr: 'ignore' })
  const reader = child.stdout.getReader()
  await reader.read()
  reader.releaseLock()
  return child
}

test('error: a second recorder is refused, alone and within a server', async () => {
  const { data, env } = await newData()
  const recorder = await startRecorder(env)
  const refused = `bookfeed: Another recorder uses the data folder ${data}. Stop it, or set BOOKFEED_DATA to another folder.\n`
  expect(await runCommand(env, 'record')).toMatchObject({ exitCode: 1, errors: refused })
  const both = { ...env, ...nowhere, BOOKFEED_RECORD: 'on' }
  expect(await runCommand(both, 'serve')).toMatchObject({ exitCode: 1, errors: refused })
  // A server that does not record runs beside it.
  const server = await startKillableServer(env)
  await server.kill()
  recorder.kill('SIGTERM')
  expect(await recorder.exited).toBe(0)
}, 300_000)

test('error: a later release changes no file that another process has open', async () => {
  const { data, env } = await newData()
  const recorder = await startRecorder(env)
  for (const command of ['serve', 'keys list'])
    expect(await runCommand({ ...env, ...later }, ...command.split(' '))).toMatchObject({
      exitCode: 1,
      errors: `bookfeed: Another process has ${join(data, 'history.db')} open. Stop it and try again.\n`,
    })
  recorder.kill('SIGTERM')
  expect(await recorder.exited).toBe(0)
  expect(formatIn(data)).toBe(format)
  expect(readdirSync(data)).not.toContain('backups')
  expect(await runCommand({ ...env, ...later }, 'verify')).toMatchObject({ exitCode: 0 })
  expect(() => formatIn(data)).toThrow(`format ${format + 1}`)
  expect(readdirSync(data)).toContain('backups')
}, 300_000)

test.each(['BOOKFEED_PORT', 'BOOKFEED_METRICS'])(
  'error: a later release that finds %s taken changes no file',
  async (variable) => {
    const { data, env } = await newData()
    using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const taken = { ...env, ...later, [variable]: String(other.port) }
    const { exitCode, errors } = await runCommand(taken, 'serve')
    expect([exitCode, errors.split('\n')]).toEqual([
      1,
      [expect.stringContaining(`${other.port}`), ''],
    ])
    expect(formatIn(data)).toBe(format)
    expect(readdirSync(data)).not.toContain('backups')
  },
  300_000,
)
