import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import WebSocket from 'ws'

import { digestOf } from '#src/domain/selling/api-key.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { openLedger } from '#src/ledger/open.ts'

import { findFreePort } from '../../support/free-port.ts'
import { addKey, NOW_MS } from '../../support/harness.ts'

const LIMIT = 100
const MINUTE_MS = 60_000
const tier: Tier = {
  tierId: 'limited',
  name: 'Limited',
  rank: 97,
  isForSale: false,
  requestsPerMinute: LIMIT,
  coins: ['btc'],
  routes: ['markets'],
}
const program = new URL('../../support/mortal-threads.ts', import.meta.url).pathname

let folder = ''
let server: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
let origin = ''
let key = ''
let market = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-threads-'))
  const env = { BOOKFEED_DATA: folder, BOOKFEED_PORT: '0', BOOKFEED_RECORD: 'off' }
  server = Bun.spawn([process.execPath, program, 'serve'], {
    env: { ...env, BOOKFEED_WORKERS: '2' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let greeting = ''
  for await (const bytes of server.stdout) {
    greeting += new TextDecoder().decode(bytes)
    if (greeting.includes('size_download')) break
  }
  const find = (pattern: RegExp) => pattern.exec(greeting)?.[0] ?? ''
  origin = find(/http:[/\d.:]+\d/)
  key = find(/bf_live_\w+/)
  market = find(/0x[0-9a-f]{64}/)
}, 300_000)

afterAll(async () => {
  server.kill('SIGKILL')
  await server.exited
  rmSync(folder, { recursive: true, force: true })
})

/** On a connection of its own, which goes to either thread. */
const ask = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${origin}${path}`, {
    headers: { authorization: `Bearer ${key}`, connection: 'close', ...headers },
    keepalive: false,
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  })
/** A thread that hangs answers nothing until it is replaced. */
const ANSWER_MS_MAX = 20_000

/** Sends many at once; how often each status came. */
async function askMany(
  path: string,
  count: number,
  headers: Record<string, string> = {},
): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  let left = count
  const send = async () => {
    while (left-- > 0) {
      const status = await ask(path, headers).then(
        (response) => response.arrayBuffer().then(() => String(response.status)),
        () => 'none',
      )
      found[status] = (found[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 20 }, send))
  return found
}

test('default: what is for data, and what is not, is answered alike on every connection', async () => {
  const paths = [
    '/healthz',
    '/readyz',
    '/swagger',
    '/openapi.json',
    '/v1/coins',
    '/v1/nothing',
    '/v1/btc',
    '/v1/usage',
    '/v1/keys',
    '/v1/billing/tiers',
    '/v1/btc/prices?at=1',
    '/v1/BTC/markets',
    '/v1/nocoin/markets',
    '/v1/btc/nothing',
    `/v1/btc/markets/${market}/snapshots?limit=3`,
  ]
  for (const path of paths) {
    const seen = new Set<number>()
    for (let times = 0; times < 6; times++) seen.add((await ask(path)).status)
    expect({ path, statuses: seen.size }).toEqual({ path, statuses: 1 })
  }
  const refused = await fetch(`${origin}/v1/btc/markets`, { method: 'POST', body: '{}' })
  expect(refused.status).toBe(405)
  const head = await fetch(`${origin}/v1/keys`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([401, ''])
})

test('behavior: what one thread writes, streams of every thread show at once', async () => {
  const streams = Array.from({ length: 6 }, async () => {
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/stream`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { promise, resolve, reject } = Promise.withResolvers<string[]>()
    const ids: string[] = []
    socket.on('error', reject)
    socket.on('open', () =>
      socket.send(JSON.stringify({ op: 'subscribe', id: 'q', channel: 'snapshots', coin: 'btc' })),
    )
    socket.on('message', (data) => {
      const message = JSON.parse(String(data))
      if (message.data?.id === undefined) return
      ids.push(message.data.id)
      if (ids.length === 6) resolve(ids)
    })
    return promise.finally(() => socket.close())
  })
  for (const ids of await Promise.all(streams)) expect(new Set(ids).size).toBeGreaterThan(5)
}, 300_000)

test('behavior: every connection lists the exports of all threads', async () => {
  const ids = new Set<string>()
  for (let times = 0; times < 12; times++) {
    const response = await ask(`/v1/btc/markets/${market}/export`)
    await response.arrayBuffer()
    ids.add(response.headers.get('x-export-id') ?? '')
  }
  const list = async () => {
    const { data } = (await (await ask('/v1/exports')).json()) as {
      data: { exportId: string; state: string }[]
    }
    return data.filter(({ state }) => state === 'complete').map(({ exportId }) => exportId)
  }
  await poll(async () => (await list()).length >= ids.size)
  for (let times = 0; times < 12; times++) expect(new Set(await list())).toEqual(ids)
}, 300_000)

test('behavior: a thread that dies is replaced, and so is one that hangs; others answer', async () => {
  for (const order of ['die-1', 'hang-2']) {
    const path = join(folder, order)
    writeFileSync(path, '')
    await poll(() => !existsSync(path))
    // Bun ends a connection that was open with the thread.
    expect((await askMany('/healthz', 30))['200']).toBeGreaterThan(0)
    await poll(async () => (await askMany('/healthz', 30))['200'] === 30)
  }
}, 300_000)

test('behavior: limits, usage and revoked keys are the same on every connection', async () => {
  using ledger = openLedger(join(folder, 'ledger.db'), { nowMs: NOW_MS })
  const path = '/v1/btc/markets?limit=1'
  let limited = ''
  let shed = 0
  let found: Record<string, number> = {}
  // On a machine that takes longer than a minute for it, its window would have ended meanwhile.
  for (let startedMs = -MINUTE_MS; performance.now() - startedMs >= MINUTE_MS;) {
    limited = addKey(ledger, tier)
    startedMs = performance.now()
    const answers = await askMany(path, LIMIT + 30, { authorization: `Bearer ${limited}` })
    ;({ '503': shed = 0, ...found } = answers)
  }
  // On a machine that stalls some are refused as too many at once, and are taken from the window.
  expect(found).toEqual({ '200': LIMIT - shed, '429': 30 })
  const own = ledger.findKeyByDigest(digestOf(limited))
  if (own === undefined) throw new Error('There is no key.')
  const counted = () =>
    ledger.usageOf(own.accountId, '2000-01-01').reduce((sum, { requests }) => sum + requests, 0)
  await poll(() => counted() >= LIMIT - shed)
  await ledger.revokeKey(own.id, { actor: 'operator', nowMs: NOW_MS })
  const headers = { authorization: `Bearer ${limited}` }
  await poll(async () => (await ask(path, headers)).status !== 429)
  const refused = await askMany(path, 30, headers)
  expect(Object.keys(refused).filter((status) => !/^(401|429)$/.test(status))).toEqual([])
  // Of the ten a minute of an address without a key; a minute may begin meanwhile. Each thread by
  // itself would let ten pass.
  expect(refused['401'] ?? 0).toBeWithin(0, 21)
}, 300_000)

async function poll(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(20)
}

test('behavior: a stop ends every thread, and leaves the files whole', async () => {
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  const log = (await new Response(server.stderr).text()).trimEnd().split('\n')
  for (const line of log) expect(line).toMatch(/^(\{.*\}|bookfeed: .*|Making .*)$/)
}, 300_000)

test('behavior: a server one of whose threads hangs while it starts is not ready, and starts all the same', async () => {
  const data = mkdtempSync(join(tmpdir(), 'bookfeed-thread-start-'))
  writeFileSync(join(data, 'hang-1'), '')
  const port = findFreePort()
  const env = {
    BOOKFEED_DATA: data,
    BOOKFEED_PORT: String(port),
    BOOKFEED_RECORD: 'off',
    BOOKFEED_SAMPLE: 'off',
    BOOKFEED_WORKERS: '2',
  }
  const child = Bun.spawn([process.execPath, program, 'serve'], {
    env,
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const ready = () =>
    fetch(`http://127.0.0.1:${port}/readyz`, { headers: { connection: 'close' } }).then(
      (response) => response.json(),
      () => undefined,
    )
  try {
    const greeting = child.stdout.getReader().read()
    let first = await ready()
    while (first === undefined) {
      await Bun.sleep(20)
      first = await ready()
    }
    expect(first).toMatchObject({ detail: 'Not ready: accepting. The server is starting.' })
    await greeting
    expect(await ready()).toMatchObject({ ready: true })
  } finally {
    child.kill('SIGKILL')
    await child.exited
    rmSync(data, { recursive: true, force: true })
  }
}, 300_000)
