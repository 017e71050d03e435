/**
 * The client for Python against a server: `clients/python/tests`, each file a test here. They are
 * skipped where python3 is absent or older than 3.10.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type ErrorCode, errorCodes } from '#src/domain/errors.ts'
import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'

import { createHarness } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { readDocument } from '../support/openapi-document.ts'
import { bookfeed } from '../support/program.ts'
import { ownerOf, provoke } from '../support/provoke.ts'
import { createTestGround, openMarket } from '../support/test-mode.ts'
import { waysToFail } from '../support/ways-to-fail.ts'

const client = join(import.meta.dir, '../../clients/python')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-python-'))
const data = { BOOKFEED_DATA: join(folder, 'data'), BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off' }
const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => code in waysToFail)

/** Whether python3 is here, new enough, and has these packages. */
const canImport = (...names: string[]) => {
  const lines = ['import sys', 'assert sys.version_info >= (3, 10)']
  const script = [...lines, ...names.map((name) => `import ${name}`)].join('\n')
  const command = ['python3', '-c', script]
  return Bun.which('python3') !== null && Bun.spawnSync(command, { stderr: 'ignore' }).success
}
const hasPython = canImport()
const hasFrames = canImport('pandas', 'polars', 'pyarrow')

let server: KillableServer | undefined
let variables: string[] = []
const closers: (() => unknown)[] = []

async function print(command: string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn(command, { env, stdout: 'pipe', stderr: 'ignore' })
  const text = await new Response(child.stdout).text()
  expect([command.join(' '), await child.exited]).toEqual([command.join(' '), 0])
  return text.trim()
}

/**
 * Answers `/{times}/{code}/{name}/…` so often with the problem that a server answers, and then with
 * what the server of these tests has there.
 */
async function startFaults() {
  const { entries } = await readDocument(createHarness().send)
  const asked = new Map<string, number>()
  return Bun.serve({
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const [, times, code = '', name, ...rest] = pathname.split('/')
      const count = (asked.get(`${code} ${name}`) ?? 0) + 1
      asked.set(`${code} ${name}`, count)
      const known = codes.find((each) => each === code)
      if (known && count <= Number(times)) return await provoke(known, ownerOf(entries, known))
      const headers = { authorization: request.headers.get('authorization') ?? '' }
      const answer = await fetch(`${server?.origin}/${rest.join('/')}${search}`, { headers })
      return new Response(await answer.text(), { status: answer.status })
    },
  })
}

/** A server for keys of test mode, in this process. */
function startTestServer() {
  const { app, test } = createTestGround()
  const here = Bun.serve({ port: 0, fetch: app.fetch })
  const timer = setInterval(test.tick, 1)
  const stop = async () => {
    clearInterval(timer)
    await here.stop(true)
  }
  const at = [`TEST_SERVER=${here.url.origin}`, `TEST_KEY=${PUBLIC_TEST_KEY}`]
  const { slug, windowMs } = openMarket
  const variables = [...at, `TEST_SLUG=${slug}`, `TEST_MOMENT=${windowMs + 150_000}`]
  return { variables, stop }
}

beforeAll(async () => {
  if (!hasPython) return
  const simulated = ['--coins', 'btc', '--markets', '3', '--start', '2026-04-13T00:00:00Z']
  await print(bookfeed('simulate', ...simulated), data)
  const [key, freeKey] = await Promise.all(
    ['enterprise', 'free'].map((tier) => print(bookfeed('keys', 'create', '--tier', tier), data)),
  )
  // Beside these, one market that moves.
  server = await startKillableServer(data)
  const faults = await startFaults()
  closers.push(() => faults.stop(true))
  const test = startTestServer()
  closers.push(test.stop)
  variables = [
    `KEY=${key}`,
    `FREE_KEY=${freeKey}`,
    `SERVER=${server.origin}`,
    `FAULTS=http://127.0.0.1:${faults.port}`,
    `CODES=${JSON.stringify(codes)}`,
    ...test.variables,
    'PYTHONDONTWRITEBYTECODE=1',
  ]
}, 60_000)

afterAll(async () => {
  for (const close of closers) await close()
  await server?.kill()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs some tests of Python; what they said. */
async function unittest(...names: string[]): Promise<string> {
  const command = [
    'env',
    ...variables,
    'python3',
    '-W',
    'ignore::ResourceWarning',
    '-m',
    'unittest',
    ...names,
  ]
  const child = Bun.spawn(command, { cwd: client, stdout: 'ignore', stderr: 'pipe' })
  const said = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(said)
  expect(said).toMatch(/\nRan [1-9]\d* tests? in /)
  return said
}

describe.skipIf(!hasPython)('the client for Python', () => {
  const files = readdirSync(join(client, 'tests')).filter((name) => /^test_\w+\.py$/.test(name))

  test.each(files)(
    'default: %s',
    async (file) => {
      await unittest(`tests.${file.replace('.py', '')}`)
    },
    120_000,
  )

  test('behavior: no file of tests is left out', () => expect(files.length).toBeGreaterThan(7))

  test.skipIf(!hasFrames)(
    'default: tables of pandas, polars and pyarrow, none of them skipped',
    async () => {
      const names = [
        'tests.test_frames',
        'tests.test_readme.Readme.test_the_example_of_tables_runs',
      ]
      expect(await unittest(...names)).not.toContain('skipped')
    },
    60_000,
  )
})
