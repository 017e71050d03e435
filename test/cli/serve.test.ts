import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'
import { storeSimulation } from '#src/simulator/simulator.ts'

import { bookfeed } from '../support/program.ts'

/** The greeting has commands of it. */
const hasCurl = Bun.which('curl') !== null
let folder = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-serve-'))
  const history = openHistory(join(folder, 'market.db'))
  const market = { coins: ['btc'], timeframes: ['5m'], markets: 1 } as const
  const options = { seed: 'serve', startMs: Date.UTC(2026, 3, 13), maxSnapshotsPerMarket: 200 }
  await Array.fromAsync(storeSimulation(history, { ...market, ...options }))
  history.dispose()
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Starts the real process; a port of 0 is any free one. */
function start(env: Record<string, string> = {}, ...options: string[]) {
  return Bun.spawn(bookfeed('serve', ...options), {
    env: {
      BOOKFEED_DATA: folder,
      BOOKFEED_RECORD: 'off',
      BOOKFEED_PORT: '0',
      // Its day of data takes longer than all that is tested here.
      BOOKFEED_TEST_MODE: 'off',
      ...env,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

/** Reads the greeting: everything up to the last of the commands to try. */
async function readGreeting(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    if ((text.match(/^ {2}curl .*\n/gm) ?? []).length === 3) break
  }
  return text
}

/** Reads the greeting up to its address; the rest stays unread. */
async function readOrigin(output: ReadableStream<Uint8Array>): Promise<string> {
  const reader = output.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; ;) {
    const { value, done } = await reader.read()
    text += decoder.decode(value, { stream: true })
    const origin = /http:\S+(?=\s)/.exec(text)?.[0]
    if (origin !== undefined) return origin
    if (done) throw new Error(text)
  }
}

async function runShell(command: string): Promise<string> {
  return await new Response(Bun.spawn(['sh', '-c', command], { stdout: 'pipe' }).stdout).text()
}

/** A folder with a market, so that a start makes no sample. */
function newFolderWithMarket(name: string): string {
  const data = join(folder, name)
  mkdirSync(data)
  copyFileSync(join(folder, 'market.db'), join(data, 'history.db'))
  return data
}

/** Runs a start that must fail. */
async function runFailing(env: Record<string, string>) {
  const child = start(env)
  const error = await new Response(child.stderr).text()
  return { exitCode: await child.exited, error }
}

describe('bookfeed serve', () => {
  test.skipIf(!hasCurl)(
    'default: a first start has a sample, and its commands work as pasted',
    async () => {
      const child = start()
      const greeting = await readGreeting(child.stdout)
      const commands = [...greeting.matchAll(/^ {2}(curl .*)$/gm)].map((match) => match[1] ?? '')
      const [markets = '', page = '', size = ''] = commands
      const list = JSON.parse(await runShell(`${markets} -s`))
      expect(list.data.length).toBeGreaterThan(0)
      const first = JSON.parse(await runShell(`${page} -s`))
      expect(first.data).toHaveLength(2)
      expect(typeof first.nextCursor).toBe('string')
      expect(await runShell(size)).toMatch(/^[1-9]\d+ bytes\n$/)

      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
      const log = (await new Response(child.stderr).text()).trimEnd().split('\n')
      const lines = log.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
      expect(lines.map(({ status }) => status)).toEqual([200, 200, 200])
    },
    300_000,
  )

  test.skipIf(!hasCurl)(
    'behavior: only the first start makes a key and shows it; the next ones ask for $KEY',
    async () => {
      const env = { BOOKFEED_LOG: 'off', BOOKFEED_DATA: newFolderWithMarket('key') }
      const first = start(env)
      const shown = (await readGreeting(first.stdout)).match(/bf_live_\w+/g) ?? []
      expect(new Set(shown).size).toBe(1)
      first.kill('SIGTERM')
      expect(await first.exited).toBe(0)
      expect(await new Response(first.stderr).text()).not.toContain('bf_live_')

      const second = start(env)
      const greeting = await readGreeting(second.stdout)
      expect(greeting).not.toContain('bf_live_')
      const command = /KEY=\$\((.+)\)$/m.exec(greeting)?.[1] ?? ''
      expect(await runShell(`${command} 2>/dev/null`)).toMatch(/^bf_live_\w{33}\n$/)
      const markets = /^ {2}(curl .*)$/m.exec(greeting)?.[1] ?? ''
      const answer = await runShell(`KEY=${shown[0]}; ${markets} -s`)
      expect(JSON.parse(answer).data.length).toBeGreaterThan(0)
      second.kill('SIGTERM')
      expect(await second.exited).toBe(0)
    },
    300_000,
  )

  test.skipIf(!hasCurl).each(['0', '1'])(
    'behavior: --port and --data go before the variables, with %s threads too',
    async (workers) => {
      const data = newFolderWithMarket(`options${workers}`)
      const env = { BOOKFEED_LOG: 'off', BOOKFEED_PORT: 'broken', BOOKFEED_DATA: '/dev/null' }
      const child = start({ ...env, BOOKFEED_WORKERS: workers }, '--port', '0', '--data', data)
      const greeting = await readGreeting(child.stdout)
      const list = await runShell(`${/^ {2}(curl .*)$/m.exec(greeting)?.[1]} -s`)
      expect(JSON.parse(list).data.length).toBeGreaterThan(0)
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
      const ledger = openLedger(`${data}/ledger.db`, { nowMs: 0 })
      expect(ledger.isNew()).toBe(false)
      ledger.dispose()
    },
    300_000,
  )

  test('error: a port that is none is a wrong call that says what a port is', async () => {
    const child = start({}, '--port', '70000')
    const error = await new Response(child.stderr).text()
    expect([await child.exited, error]).toEqual([2, expect.stringContaining("'--port <port>'")])
    expect(error).toContain('It must be an integer from 0 to 65535.')
  })

  test('behavior: a server that others reach makes no key', async () => {
    const data = newFolderWithMarket('open')
    const env = { BOOKFEED_HOST: '0.0.0.0', BOOKFEED_LOG: 'off', BOOKFEED_DATA: data }
    const child = start(env)
    const greeting = await readGreeting(child.stdout)
    expect(greeting).not.toContain('bf_live_')
    expect(greeting).toContain('keys create')
    expect(greeting).toContain('Signup is closed: BOOKFEED_PUBLIC_URL')
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    const ledger = openLedger(`${data}/ledger.db`, { nowMs: 0 })
    expect(ledger.isNew()).toBe(true)
    ledger.dispose()
  }, 300_000)

  test('behavior: stops on SIGINT while a connection is kept open', async () => {
    const child = start({
      BOOKFEED_LOG: 'off',
      BOOKFEED_RECORD: 'off',
      BOOKFEED_SAMPLE: 'off',
      BOOKFEED_DATA: `${folder}/b`,
    })
    const origin = await readOrigin(child.stdout)
    expect((await fetch(`${origin}/readyz`)).status).toBe(200)
    child.kill('SIGINT')
    expect(await child.exited).toBe(0)
    expect(await new Response(child.stderr).text()).toBe('')
  })

  test('behavior: after SIGTERM it is not ready, and answers for as long as configured', async () => {
    const draining = (seconds: string) =>
      start({
        BOOKFEED_LOG: 'off',
        BOOKFEED_SAMPLE: 'off',
        BOOKFEED_DRAIN_SECONDS: seconds,
        BOOKFEED_DATA: `${folder}/drain`,
      })
    const child = draining('600')
    const origin = await readOrigin(child.stdout)
    const statusOf = async (path: string) => (await fetch(origin + path)).status
    expect(await statusOf('/readyz')).toBe(200)
    child.kill('SIGTERM')
    while ((await statusOf('/readyz')) === 200) await Bun.sleep(1)
    for (let times = 0; times < 20; times++)
      expect([await statusOf('/readyz'), await statusOf('/healthz')]).toEqual([503, 200])
    // The second signal waits for nothing.
    child.kill('SIGTERM')
    expect(await child.exited).toBe(143)
    const next = draining('1')
    await readOrigin(next.stdout)
    next.kill('SIGTERM')
    expect(await next.exited).toBe(0)
  }, 300_000)

  test('error: a taken port is one line that names the variable, and makes nothing', async () => {
    using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const data = `${folder}/taken`
    const env = { BOOKFEED_PORT: String(other.port), BOOKFEED_DATA: data }
    const { exitCode, error } = await runFailing(env)
    expect(exitCode).toBe(1)
    expect(error).toStartWith(`bookfeed: Port ${other.port} of 127.0.0.1 is taken.`)
    expect(error).toContain('BOOKFEED_PORT')
    expect(error.trimEnd().split('\n')).toHaveLength(1)
    // No sample, and no key that this start could not show.
    expect(existsSync(data)).toBe(false)
  })

  test('error: a folder that cannot be made is one line that names the variable', async () => {
    const { exitCode, error } = await runFailing({ BOOKFEED_DATA: '/dev/null/data' })
    expect(exitCode).toBe(1)
    expect(error).toMatch(/^bookfeed: Cannot write to the data folder .*BOOKFEED_DATA.*\n$/)
  })

  test('error: a file that is not ours is left alone', async () => {
    const path = join(folder, 'other', 'history.db')
    const text = 'not a history '.repeat(1000)
    await Bun.write(path, text)
    const { exitCode, error } = await runFailing({ BOOKFEED_DATA: join(folder, 'other') })
    expect(exitCode).toBe(1)
    expect(error).toMatch(/^bookfeed: .*history\.db is not a database.*BOOKFEED_DATA.*\n$/)
    expect(await Bun.file(path).text()).toBe(text)
  })
})
