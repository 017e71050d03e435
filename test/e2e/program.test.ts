/**
 * The program as operators start it: from its source, or `PROGRAM=dist/bookfeed bun test …`. What
 * is loaded late, or runs on a thread of its own, is what an executable could lack.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type LittlePolygon, startLittlePolygon } from '#dev/sandbox/little-polygon.ts'

import { version } from '../../package.json'
import { hasAnvil } from '../support/anvil.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { bookfeed, isExecutable } from '../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-program-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const variables = (name: string) => ({
  BOOKFEED_DATA: join(folder, name),
  BOOKFEED_PORT: '0',
  BOOKFEED_LOG: 'off',
})

async function run(name: string, ...args: string[]) {
  const env = { ...variables(name), PATH: '/usr/bin:/bin' }
  const child = Bun.spawn(bookfeed(...args), { env, stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { exitCode: await child.exited, output: output.trimEnd(), errors }
}

describe('commands', () => {
  test('default: say their version and their help, and find their files', async () => {
    expect(await run('a', '--version')).toEqual({ exitCode: 0, output: version, errors: '' })
    const { output } = await run('a', 'keys', 'create', '--help')
    const typed = /^ {2}(?:KEY=\$\()?(\S.*?) keys create/m.exec(output)?.[1] ?? ''
    const shell = Bun.spawn(['sh', '-c', `${typed} --version`], { stdout: 'pipe' })
    expect((await new Response(shell.stdout).text()).trimEnd()).toBe(version)
    expect(await run('a', 'simulate', '--coins', 'btc')).toMatchObject({ exitCode: 0 })
    expect(await run('a', 'verify')).toMatchObject({ exitCode: 0 })
    expect((await run('a', 'keys', 'create')).output).toMatch(/^bf_live_\w+$/)
    expect(await run('a', 'audit', 'verify')).toMatchObject({ exitCode: 0 })
  }, 300_000)

  test.skipIf(!isExecutable)('error: an executable has no sandbox, and says so', async () => {
    const { exitCode, errors } = await run('a', 'sandbox')
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('This install has no sandbox')])
  })
})

describe.each(['0', '2'])('a server with %s threads', (workers) => {
  let server: KillableServer
  let key = ''
  beforeAll(async () => {
    const env = { ...variables(`b${workers}`), BOOKFEED_WORKERS: workers }
    server = await startKillableServer(env)
    key = (await run(`b${workers}`, 'keys', 'create', '--tier', 'enterprise')).output
  }, 300_000)
  afterAll(() => server.kill())

  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${key}`, ...init.headers }
    const response = await fetch(server.origin + path, { ...init, headers })
    return { status: response.status, body: await response.bytes() }
  }
  const askText = async (path: string) => {
    const { status, body } = await ask(path)
    expect([path, status]).toEqual([path, 200])
    return new TextDecoder().decode(body)
  }

  test('default: serves every page, and each file that a page names', async () => {
    for (const page of ['/', '/docs', '/account', '/admin', '/swagger']) {
      const html = await askText(page)
      const files = [...html.matchAll(/(?:href|src)="(\/[^"]+\.(?:js|css))"/g)]
      expect(files.length).toBeGreaterThan(1)
      for (const [, file = ''] of files) expect((await askText(file)).length).toBeGreaterThan(20)
    }
    for (const path of ['/errors', '/llms.txt', '/asyncapi.json', '/swagger/json'])
      expect((await askText(path)).length).toBeGreaterThan(1000)
  }, 300_000)

  test('default: answers data, and exports from the thread that makes them', async () => {
    const { data } = JSON.parse(await askText('/v1/btc/markets?limit=100'))
    // The newest one may have no rows yet.
    const held = data.find(({ snapshots }: { snapshots: number }) => snapshots > 1)
    const market = `/v1/btc/markets/${held.conditionId}`
    expect(JSON.parse(await askText(`${market}/snapshots?limit=2`)).data).toHaveLength(2)
    const { status, body } = await ask(`${market}/export?format=parquet`)
    expect([status, new TextDecoder().decode(body.slice(-4))]).toEqual([200, 'PAR1'])
  }, 300_000)

  test('default: verifies on a thread, as the operator asks', async () => {
    const jobs = `${server.origin}/admin/api/jobs`
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'verify' })
    expect((await fetch(`${jobs}/run`, { method: 'POST', headers, body })).status).toBe(200)
    const isSound = async () => /Sound: [\d,]+ snapshots of/.test(await (await fetch(jobs)).text())
    while (!(await isSound())) await Bun.sleep(20)
  }, 300_000)
})

describe.skipIf(!hasAnvil)('a server that sells', () => {
  let chain: LittlePolygon
  let server: KillableServer
  beforeAll(async () => {
    chain = await startLittlePolygon({ slotsInAnEpoch: 0 })
    await chain.mintUsdc(chain.payer.address, 100_000_000n)
    server = await startKillableServer({
      ...variables('c'),
      BOOKFEED_RPC_URL: chain.url,
      BOOKFEED_FACILITATOR: 'local',
      BOOKFEED_GAS_KEY: chain.facilitator.key,
      BOOKFEED_PAY_TO: chain.payee.address,
    })
  }, 300_000)
  afterAll(async () => {
    await server.kill()
    await chain.stop()
  })

  test('default: `bookfeed pay` buys a tier of it, and both say so', async () => {
    const path = join(folder, 'wallet.key')
    writeFileSync(path, chain.payer.key, { mode: 0o600 })
    const args = ['--server', server.origin, '--key-file', path, '--tier', 'pro', '--yes']
    const { exitCode, output, errors } = await run('c', 'pay', ...args)
    expect([exitCode, errors]).toEqual([0, expect.stringMatching(/receipt {2}pay_\w+/)])
    const headers = { authorization: `Bearer ${output}` }
    const response = await fetch(`${server.origin}/v1/billing/subscription`, { headers })
    expect(await response.json()).toMatchObject({ tier: { id: 'pro' }, free: false })
    // Run again without the key of the account, it makes no other.
    const again = await run('c', 'pay', ...args)
    expect([again.exitCode, again.output]).toEqual([1, ''])
    expect(again.errors).toContain('Pass the key of this wallet with --api-key-file')
    const keys = await fetch(`${server.origin}/v1/keys`, { headers })
    expect(await keys.json()).toMatchObject({ data: [{ isCurrent: true }] })
    expect((await run('c', 'payments', 'list')).output).toMatch(/^pay_\w+ .*provisioned/m)
  }, 300_000)
})
