/**
 * Accounts that ask for much, over real connections: others are answered, and nothing stays taken.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { ACCOUNT_JOBS_MAX } from '#src/http/tasks.ts'
import { storeSimulation } from '#src/simulator/simulator.ts'

import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { readProblem } from '../support/page-client.ts'

const history = openHistory(':memory:')
const { app, ledger, key: unlimited } = createHarness({ history, timer: () => performance.now() })
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
const greedy = addKey(ledger, 'pro')
const other = addKey(ledger, 'pro')
const OWN_STREAMS = 4

let market = ''
let startMs = 0
beforeAll(async () => {
  const options = { seed: 'overload', coins: ['btc'], timeframes: ['5m'], markets: 1 } as const
  await Array.fromAsync(storeSimulation(history, { ...options, startMs: NOW_MS - 900_000 }))
  // One whose requests end soon.
  const short = { ...options, coins: ['eth'], maxSnapshotsPerMarket: 1000 } as const
  await Array.fromAsync(storeSimulation(history, { ...short, startMs: NOW_MS - 900_000 }))
  const [found] = history.listMarkets({ coin: 'btc', limit: 1 })
  market = found?.conditionId ?? ''
  startMs = found?.windowStartMs ?? 0
})
afterAll(async () => {
  await server.stop(true)
  history.dispose()
})

const ask = (key: string, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(server.url.origin + path, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
const exportPath = () => `/v1/btc/markets/${market}/export?format=csv`

/** Sends a request whose answer is never read. */
function hang(key: string, path: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect(server.port ?? 0, '127.0.0.1', () => {
    const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`
    socket.write(head, () => resolve(socket))
  })
  socket.on('error', reject)
  socket.pause()
  return promise
}

/** Waits until as many exports can be begun again, and leaves them. */
async function untilFree(key: string, count: number): Promise<void> {
  for (;;) {
    const answers = await Promise.all(Array.from({ length: count }, () => ask(key, exportPath())))
    const isFree = answers.every(({ status }) => status === 200)
    await Promise.all(answers.map((answer) => answer.body?.cancel()))
    if (isFree) return
  }
}

/** A history, and which reads of it were of ether. */
function watchEth(own: MarketHistory) {
  // What every request looks up.
  const known = ['findMarket', 'gaps', 'derivedGaps', 'ready', 'sourcesOf']
  const reads: string[] = []
  const watched = new Proxy(own, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || known.includes(String(name))) return value
      return (...args: unknown[]) => {
        if (Bun.inspect(args).includes('"eth"')) reads.push(String(name))
        return Reflect.apply(value, target, args) as unknown
      }
    },
  })
  return { watched, reads }
}

describe('an account that asks for much', () => {
  test('error: it has as many exports at once as its tier includes', async () => {
    const hung = await Promise.all(
      Array.from({ length: OWN_STREAMS }, () => hang(greedy, exportPath())),
    )
    // Each has begun to answer.
    await Promise.all(hung.map((socket) => once(socket, 'readable')))
    const refused = await ask(greedy, exportPath())
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    const { code, detail } = await readProblem(refused)
    expect(code).toBe('too_many_streams')
    expect(detail).toStartWith('4 streams of this account are running')
    // Nothing of that is another account's business.
    await untilFree(other, OWN_STREAMS)
    for (const socket of hung) socket.destroy()
    await untilFree(greedy, OWN_STREAMS)
  })

  test('behavior: places are free again, however a caller goes', async () => {
    const paths = [exportPath(), `/v1/btc/markets/${market}/export`, `${exportPath()}&depth=1`]
    for (let round = 0; round < 10; round++) {
      for (const path of paths) {
        const sockets = await Promise.all([hang(greedy, path), hang(greedy, path)])
        if (round % 2 === 0) await Bun.sleep(2)
        for (const socket of sockets) socket.destroy()
      }
      await ask(greedy, exportPath(), { method: 'HEAD' })
    }
    await untilFree(greedy, OWN_STREAMS)
  })

  test('behavior: beside its exports and long requests others are answered, whatever they ask', async () => {
    let isDone = false
    const keepBusy = async (path: string) => {
      while (!isDone) await (await ask(greedy, path)).arrayBuffer()
    }
    const [{ conditionId = '' } = {}] = history.listMarkets({ coin: 'eth', limit: 1 })
    const base = `/v1/eth/markets/${conditionId}`
    const page = `${base}/snapshots?limit=1000`
    const busy = [
      ...Array.from({ length: OWN_STREAMS }, () => keepBusy(`${base}/export?format=csv`)),
      ...Array.from({ length: 6 }, () => keepBusy(`${page}&view=consolidated`)),
    ]
    const requests = Array.from({ length: 100 }, (_, index) => ({
      conditionId,
      outcome: 'up',
      ts: startMs + 1000 * index,
    }))
    const asked: [string, RequestInit?][] = [
      [`/v1/eth/panel?timeframe=5m&offsets=-200s,-100s`],
      ['/v1/eth/coverage'],
      [`${base}/snapshots?view=consolidated&limit=20`],
      [`${base}/quotes?limit=10000&order=desc`],
      ['/v1/eth/snapshots/at', { method: 'POST', body: JSON.stringify({ requests }) }],
      [`${base}/snapshots?limit=100`],
    ]
    for (const [path, init] of asked) {
      const response = await ask(other, path, init)
      await response.arrayBuffer()
      expect([path, response.status]).toEqual([path, 200])
    }
    isDone = true
    await Promise.all(busy)
  }, 300_000)

  test('behavior: a flood is refused with 503 in time, while billing and health go on', async () => {
    const page = `/v1/btc/markets/${market}/snapshots?view=consolidated&limit=50`
    const send = async (key: string, path: string) => {
      const headers = { authorization: `Bearer ${key}` }
      const response = await app.fetch(new Request(`http://localhost${path}`, { headers }))
      await response.arrayBuffer()
      return [response.status, response.headers.get('retry-after')] as const
    }
    const statuses = new Map<number, number>()
    let isDone = false
    const keepAsking = async () => {
      while (!isDone) {
        const [status, wait] = await send(unlimited, page)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        expect(wait).toBe(status === 503 ? '1' : null)
        // As on a connection, whose next request comes with another round of the event loop.
        await setImmediate()
      }
    }
    const flood = Array.from({ length: 1200 }, keepAsking)
    while ((statuses.get(503) ?? 0) < 2000) await setImmediate()
    const urgent = ['/healthz', '/readyz', '/v1/billing/tiers', '/v1/billing/subscription']
    for (const path of urgent) expect([path, (await send(other, path))[0]]).toEqual([path, 200])
    isDone = true
    await Promise.all(flood)
    expect([...statuses.keys()].sort()).toEqual([200, 503])
    expect((await send(unlimited, page))[0]).toBe(200)
  }, 300_000)

  test('error: a long request without room is refused before anything of it is read', async () => {
    const own = openHistory(':memory:')
    const simulation = {
      seed: 'refused',
      timeframes: ['5m'],
      markets: 1,
      maxSnapshotsPerMarket: 800,
    } as const
    for (const coin of ['btc', 'eth'] as const)
      await Array.fromAsync(
        storeSimulation(own, { ...simulation, coins: [coin], startMs: NOW_MS - 900_000 }),
      )
    const [{ conditionId = '' } = {}] = own.listMarkets({ coin: 'eth', limit: 1 })
    const [{ conditionId: busy = '' } = {}] = own.listMarkets({ coin: 'btc', limit: 1 })
    const { watched, reads } = watchEth(own)
    // What is read of the other coin is long in coming.
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const held: MarketHistory = {
      ...watched,
      ready: (ranges) =>
        [...ranges].some(({ market }) => market.coin === 'btc') ? gate : undefined,
    }
    const { send } = createHarness({ history: held })
    const json = { 'content-type': 'application/json' }
    const base = `/v1/eth/markets/${conditionId}`
    const requests = [{ conditionId, outcome: 'up', ts: startMs }]
    const long: [string, RequestInit?][] = [
      ['/v1/eth/panel?timeframe=5m&offsets=-200s'],
      [`${base}/heatmap`],
      [`${base}/heatmap?include=removed`],
      [`${base}/snapshots?view=consolidated&limit=50`],
      [`${base}/snapshots?interval=1s`],
      [`${base}/snapshots?limit=1000&depth=3`],
      [`${base}/quotes?interval=1s`],
      [`${base}/quotes?limit=10000`],
      [`${base}/quotes?limit=1&format=csv`],
      [`${base}/prices?interval=1s`],
      [`${base}/trades?limit=10000`],
      ['/v1/eth/markets?limit=1000'],
      ['/v1/eth/markets?format=parquet'],
      ['/v1/eth/spot?limit=10000'],
      [
        '/v1/eth/snapshots/at',
        { method: 'POST', body: JSON.stringify({ requests }), headers: json },
      ],
    ]
    const running = Array.from({ length: ACCOUNT_JOBS_MAX }, (_, at) =>
      send(`/v1/btc/markets/${busy}/snapshots?limit=1000&view=consolidated&depth=${at + 60}`),
    )
    for (const [path, init] of long) {
      const { code, detail } = await readProblem(await send(path, init))
      expect([path, code]).toEqual([path, 'unavailable'])
      expect(detail).toStartWith('16 long requests of this account')
    }
    expect(reads).toEqual([])
    open()
    for (const response of running) expect((await response).status).toBe(200)
    for (const [path, init] of long) {
      reads.length = 0
      expect([path, (await send(path, init)).status]).toEqual([path, 200])
      expect([path, reads.length]).not.toEqual([path, 0])
    }
    own.dispose()
  }, 300_000)

  test('error: an export beyond those of the tier is refused before it is planned', async () => {
    const own = openHistory(':memory:')
    const simulation = { seed: 'refused', coins: ['eth'], timeframes: ['5m'], markets: 1 } as const
    await Array.fromAsync(storeSimulation(own, { ...simulation, startMs: NOW_MS - 900_000 }))
    const { watched, reads } = watchEth(own)
    const shop = createHarness({ history: watched })
    const authorization = `Bearer ${addKey(shop.ledger, 'pro')}`
    const send = (headers: Record<string, string> = {}) =>
      shop.app.fetch(
        new Request('http://localhost/v1/eth/export?day=2026-01-01', {
          headers: { ...headers, authorization },
        }),
      )
    const open = await Promise.all(Array.from({ length: OWN_STREAMS }, () => send()))
    expect(open.map(({ status }) => status)).toEqual(open.map(() => 200))
    expect(reads.length).toBeGreaterThan(0)
    reads.length = 0
    expect((await send()).status).toBe(429)
    expect(reads).toEqual([])
    // A file that the caller has takes no place.
    const etag = open[0]?.headers.get('etag') ?? ''
    expect((await send({ 'if-none-match': etag })).status).toBe(304)
    expect((await send({ 'if-none-match': '"other"' })).status).toBe(429)
    await Promise.all(open.map((response) => response.body?.cancel()))
    expect((await send()).status).toBe(200)
    own.dispose()
  })

  test('behavior: the connection of a request that waits is kept for two minutes, and then ten seconds', async () => {
    const seconds: number[] = []
    const peers = {
      requestIP: () => ({ address: '127.0.0.1' }),
      timeout: (_: Request, value: number) => void seconds.push(value),
    }
    const headers = { authorization: `Bearer ${other}` }
    const long = `/v1/btc/markets/${market}/snapshots?limit=1000&view=consolidated&depth=50`
    const response = await app.fetch(new Request(server.url.origin + long, { headers }), peers)
    // It waits as often as others have to have their turn; then its answer waits for the client.
    expect([response.status, ...new Set(seconds)]).toEqual([200, 120, 10])
  })
})
