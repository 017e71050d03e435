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

import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { createHarness } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { closeAll, putMarket, startLiveServer } from '../support/live-client.ts'
import { readDocument } from '../support/openapi-document.ts'
import { bookfeed } from '../support/program.ts'
import { ownerOf, provoke } from '../support/provoke.ts'
import { canImport, canRun } from '../support/python.ts'
import { createTestGround, openMarket } from '../support/test-mode.ts'
import { waysToFail } from '../support/ways-to-fail.ts'

const client = join(import.meta.dir, '../../clients/python')
const folder = mkdtempSync(join(tmpdir(), 'bookfeed-python-'))
const data = { BOOKFEED_DATA: join(folder, 'data'), BOOKFEED_PORT: '0', BOOKFEED_LOG: 'off' }
const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => code in waysToFail)

const hasPython = canRun('import sys; assert sys.version_info >= (3, 10)')
const hasFrames = hasPython && canImport('pandas', 'polars', 'pyarrow')
const packages = join(folder, 'packages')
/** What pip builds a wheel with is fetched once, and not again while a test runs. */
const wheels = join(folder, 'wheels')
const fromIndex = ['download', '--no-deps', '--retries', '0', '--timeout', '3', '-d', wheels]
const canBuild =
  hasPython &&
  canImport('pip', 'venv') &&
  Bun.spawnSync(['python3', '-m', 'pip', ...fromIndex, 'setuptools'], { stderr: 'ignore' }).success
const install = ['install', '--quiet', '--no-deps', '--target', packages, 'websockets>=15']
const hasWebsockets =
  (hasPython && canImport('websockets')) ||
  (canBuild && Bun.spawnSync(['python3', '-m', 'pip', ...install], { stderr: 'ignore' }).success)

let server: KillableServer | undefined
let variables: string[] = []
let key = ''
const closers: (() => unknown)[] = []

/** With the environment of this process, if no other is given. */
async function print(
  command: string[],
  env?: Record<string, string>,
  cwd?: string,
): Promise<string> {
  const options = { ...(env && { env }), ...(cwd && { cwd }) }
  const child = Bun.spawn(command, { ...options, stdout: 'pipe', stderr: 'ignore' })
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
  await print(bookfeed('files', 'make'), data)
  const [bestKey = '', freeKey] = await Promise.all(
    ['enterprise', 'free'].map((tier) => print(bookfeed('keys', 'create', '--tier', tier), data)),
  )
  key = bestKey
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
    `PYTHONPATH=${packages}`,
  ]
}, 300_000)

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

/** The lines that a program prints, as they come. */
async function* linesOf(output: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let text = ''
  for await (const piece of output.pipeThrough(new TextDecoderStream())) {
    const lines = (text + piece).split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
}

describe.skipIf(!hasPython)('the client for Python', () => {
  const files = readdirSync(join(client, 'tests')).filter((name) =>
    /^test_(?!stream)\w+\.py$/.test(name),
  )

  test.each(files)(
    'default: %s',
    async (file) => {
      await unittest(`tests.${file.replace('.py', '')}`)
    },
    300_000,
  )

  test('behavior: no file of tests is left out', () => expect(files.length).toBeGreaterThan(7))

  test.skipIf(!canBuild)(
    'default: a wheel installs in an empty folder, and reads a market in five lines',
    async () => {
      const built = mkdtempSync(join(folder, 'wheel-'))
      const local = ['--no-index', '--find-links', wheels]
      await print(['python3', '-m', 'pip', 'wheel', '--no-deps', ...local, '-w', built, client])
      const [wheel = ''] = readdirSync(built)
      await print(['python3', '-m', 'venv', '--without-pip', join(built, 'env')])
      const python = join(built, 'env/bin/python')
      const pip = ['python3', '-m', 'pip', '--python', python]
      await print([...pip, 'install', '--no-index', wheel], undefined, built)
      const program = `from bookfeed import Client
client = Client()
market = next(iter(client.markets('btc', status='resolved')))
rows = list(client.quotes('btc', market['slug'], limit=1000))
print(len(rows) > 100, rows[0]['outcome'])`
      await Bun.write(join(built, 'first.py'), program)
      const given = { BOOKFEED_URL: server?.origin ?? '', BOOKFEED_KEY: key }
      expect(await print([python, 'first.py'], given, built)).toMatch(/^True (up|down)$/)
      const files = await print([...pip, 'show', '--files', 'bookfeed'])
      expect(files).toContain('bookfeed/py.typed')
    },
    300_000,
  )

  test.skipIf(!hasWebsockets)(
    'default: streams over a WebSocket, none of them skipped',
    async () => {
      const names = [
        'tests.test_stream',
        'tests.test_async.Async.test_a_replay_yields_the_events_of_a_replay_alone',
        'tests.test_readme.Readme.test_the_examples_of_websockets_run',
      ]
      expect(await unittest(...names)).not.toContain('skipped')
    },
    300_000,
  )

  test.skipIf(!hasWebsockets)(
    'default: a stream of a coin, while markets open and are resolved during a break',
    async () => {
      const live = startLiveServer()
      const proxy = await startCuttingProxy(Number(live.port))
      const timers = [setInterval(() => (live.time.nowMs += 10), 10), setInterval(live.app.tick, 2)]
      let written = 0
      const write = async (market: number, count: number) => {
        for (let row = 0; row < count; row++) {
          written++
          const outcome = written % 2 === 0 ? 'down' : 'up'
          const timestampMs = START_MS + 60_000 + written
          const change = { conditionId: conditionIdOf(market), outcome, timestampMs } as const
          await appendAll(live.history, [aSnapshot(change, written * 10_000)])
        }
      }
      const resolve = async (market: number) => {
        live.time.nowMs = Math.max(live.time.nowMs, START_MS + 301_000)
        await live.history.putMarket({
          conditionId: conditionIdOf(market),
          ...({ coin: 'btc', timeframe: '5m', source: 'simulated' } as const),
          ...({ winner: 'up', winnerSource: 'simulated' } as const),
        })
      }
      const program = `
import json, time
from bookfeed import Client
client = Client("${live.key}", "${proxy.origin}", sleep=lambda seconds: time.sleep(min(seconds, 0.3)))
for event in client.stream("btc", channel="quotes"):
    print(json.dumps([event.name, event.data.get("conditionId"), event.data.get("id")]), flush=True)`
      const command = ['env', `PYTHONPATH=${packages}:${client}`, 'python3', '-c', program]
      const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'ignore' })
      const rows = new Map<string, number[]>()
      const resolved: string[] = []
      const count = () => [...rows.values()].flat().length
      const goAway = async () => {
        proxy.refuse(true)
        for (const market of [1, 2]) await write(market, 5)
        await resolve(2)
        await putMarket(live.history, 3, 200_000)
        await write(3, 7)
        setTimeout(() => proxy.refuse(false), 300)
      }
      const end = async () => {
        await write(3, 1)
        await resolve(1)
      }
      const steps = [
        { isDue: () => count() === 4, act: () => Promise.all([write(1, 10), write(2, 10)]) },
        { isDue: () => count() === 24, act: goAway },
        { isDue: () => count() === 41 && resolved.length === 1, act: end },
      ]
      try {
        for (const market of [1, 2]) await putMarket(live.history, market)
        for (const market of [1, 2]) await write(market, 4)
        for await (const line of linesOf(child.stdout)) {
          const [name, market, id] = JSON.parse(line) as [string, string, string | null]
          if (id !== null) rows.set(market, [...(rows.get(market) ?? []), Number(id)])
          if (name === 'market_resolved') resolved.push(market)
          if (steps[0]?.isDue()) await steps.shift()?.act()
          if (resolved.length === 2 && count() === 42) break
        }
      } finally {
        child.kill()
        for (const timer of timers) clearInterval(timer)
        proxy.stop()
        closeAll()
      }
      const found = [1, 2, 3].map((market) => rows.get(conditionIdOf(market)) ?? [])
      expect(found.map((ids) => [ids.length, new Set(ids).size])).toEqual([
        [17, 17],
        [17, 17],
        [8, 8],
      ])
      expect(resolved).toEqual([conditionIdOf(2), conditionIdOf(1)])
    },
    300_000,
  )

  test.skipIf(!hasFrames)(
    'default: tables of pandas, polars and pyarrow, none of them skipped',
    async () => {
      const names = [
        'tests.test_frames',
        'tests.test_readme.Readme.test_the_example_of_tables_runs',
      ]
      expect(await unittest(...names)).not.toContain('skipped')
    },
    300_000,
  )
})
