/**
 * Two servers with the same accounts behind a real nginx, with each of the load balancers that operators
 * copy from `deploy`: limits are exact over both, and a request that a server did not answer is answered
 * by the other unless it may have changed something.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createApiKey, digestOf, PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import { defaultTiers, FREE_TIER_ID, type Tier } from '#src/domain/selling/tier.ts'

import { type Balancer, balancerConfigs, hasNginx, startBalancer } from '../support/balancer.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { makeKey } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { openLedgerIn } from '../support/stores.ts'
import { systemClock } from '../support/venue/venue.ts'

const names = Object.keys(balancerConfigs)
const LIMIT = 40
const FLOOD = 100
/** Enough that all of them at one server of two would be no accident. */
const MANY = 32
const RETRY_MS = 50
const FREE = defaultTiers.find(({ tierId }) => tierId === FREE_TIER_ID)?.requestsPerMinute ?? 0
const tier: Tier = {
  tierId: 'balanced',
  name: 'Balanced',
  rank: 97,
  isForSale: false,
  requestsPerMinute: LIMIT,
  coins: ['btc'],
  routes: ['markets'],
}
const spellings = ['Bearer ', 'bearer ', 'BEARER   ']
const lacking = [
  hasNginx ? '' : 'nginx',
  postgresPrograms === undefined ? 'PostgreSQL' : '',
].filter(Boolean)

type Asked = { address: string; authorization?: string | undefined; path?: string; method?: string }

const ask = ({ origin }: { origin: string }, asked: Asked): Promise<Response> => {
  const { address, authorization, path = '/v1/coins', method = 'GET' } = asked
  const headers = { 'x-forwarded-for': address, ...(authorization && { authorization }) }
  return fetch(origin + path, { method, headers })
}
/** Statuses of as many requests as `FLOOD`, at once. */
const flood = (balancer: Balancer, toAsked: (at: number) => Asked): Promise<number[]> =>
  Promise.all(
    Array.from({ length: FLOOD }, (_, at) =>
      ask(balancer, toAsked(at)).then(({ status }) => status),
    ),
  )
const countOf = (statuses: readonly number[], wanted: number): number =>
  statuses.filter((status) => status === wanted).length

describe.skipIf(lacking.length > 0)(
  `two servers behind nginx${lacking.map((name) => `, without ${name}`).join('')}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-balancer-'))
    const stack = new AsyncDisposableStack()
    const balancers = new Map<string, Balancer>()
    const servers: KillableServer[] = []
    const keys: string[] = []
    const ids = new Map<string, string>()
    let link: Awaited<ReturnType<typeof startCuttingProxy>>
    let addresses = 0

    const nextAddress = (): string => `198.51.${Math.floor(++addresses / 256)}.${addresses % 256}`
    const nextKey = (): string => keys.pop() ?? ''
    const bearer = (key: string): string => `Bearer ${key}`
    const of = (name: string): Balancer => balancers.get(name) ?? raise(name)
    const portOf = (at: number): number => Number(new URL(servers[at]?.origin ?? '').port)
    /** An unused key that a balancer sends to the server at a port. */
    async function findKeyAt(balancer: Balancer, port: number): Promise<string> {
      for (;;) {
        const key = nextKey()
        const address = nextAddress()
        expect((await ask(balancer, { address, authorization: bearer(key) })).status).toBe(200)
        const [passed] = await balancer.passedFor(address, 1)
        if (passed?.ports[0] === port) return key
      }
    }

    beforeAll(async () => {
      stack.defer(() => rmSync(folder, { recursive: true, force: true }))
      const postgres = stack.use(await startPostgres())
      const port = Number(new URL(postgres.url).port)
      link = await startCuttingProxy(port)
      stack.defer(link.stop)
      {
        using ledger = await openLedgerIn(postgres.url, { nowMs: systemClock() })
        for (let made = 0; made < MANY * 3; made++) keys.push(await makeKey(ledger, tier))
        for (const key of keys) ids.set(key, ledger.findKeyByDigest(digestOf(key))?.id ?? '')
      }
      const cut = new URL(postgres.url)
      cut.port = new URL(link.origin).port
      for (const [at, url] of [cut.href, postgres.url].entries()) {
        const data = join(folder, `${at}`)
        mkdirSync(data)
        const server = await startKillableServer({
          BOOKFEED_DATA: data,
          BOOKFEED_PORT: '0',
          BOOKFEED_LOG: 'off',
          BOOKFEED_SAMPLE: 'off',
          BOOKFEED_LEDGER: url,
          BOOKFEED_TRUSTED_PROXIES: '127.0.0.1',
        })
        stack.defer(server.kill)
        servers.push(server)
      }
      for (const name of names) {
        const origins = servers.map(({ origin }) => origin)
        const balancer = await startBalancer(name, origins, folder)
        stack.defer(balancer.stop)
        balancers.set(name, balancer)
      }
    }, 300_000)
    afterAll(() => stack.disposeAsync(), 120_000)

    describe.each(names)('%s', (name) => {
      test('default: the limit of a key is exact, from everywhere and however it is spelled', async () => {
        const key = nextKey()
        const statuses = await flood(of(name), (at) => ({
          address: nextAddress(),
          authorization: `${spellings[at % spellings.length]}${key}`,
        }))
        expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([LIMIT, FLOOD - LIMIT])
      })

      test('default: keys of one address spread over both servers', async () => {
        const address = nextAddress()
        for (let sent = 0; sent < MANY; sent++) {
          const authorization = bearer(
            createApiKey((length) => crypto.getRandomValues(new Uint8Array(length))),
          )
          await ask(of(name), { address, authorization })
        }
        const passed = await of(name).passedFor(address, MANY)
        expect(new Set(passed.flatMap(({ ports }) => ports)).size).toBe(2)
      })

      test('behavior: callers without a live key share the limit of an IPv4 address', async () => {
        const address = nextAddress()
        const [key] = keys
        const others = [
          undefined,
          bearer(PUBLIC_TEST_KEY),
          bearer(`${key?.slice(0, -1)}`),
          bearer(`${key}0`),
          bearer(`${key?.toUpperCase()}`),
          `Basic ${key}`,
        ]
        const statuses = await flood(of(name), (at) => ({
          address,
          path: '/v1/btc/markets',
          authorization: others[at % others.length],
        }))
        expect([countOf(statuses, 401), countOf(statuses, 429)]).toEqual([FREE, FLOOD - FREE])
        // The sample has a window of its own.
        await ask(of(name), { address, authorization: bearer('sample') })
        const passed = await of(name).passedFor(address, FLOOD + 1)
        expect(new Set(passed.flatMap(({ ports }) => ports)).size).toBe(1)
      })

      test('behavior: they share that of the /64 of an IPv6 address; networks spread', async () => {
        const network = `2001:db8:${names.indexOf(name)}`
        const statuses = await flood(of(name), (at) => ({
          address: `${network}:1:${at.toString(16)}::${at.toString(16)}`,
          path: '/v1/btc/markets',
        }))
        expect([countOf(statuses, 401), countOf(statuses, 429)]).toEqual([FREE, FLOOD - FREE])
        const used = new Set<number>()
        for (let at = 2; at < MANY; at++) {
          const address = `${network}:${at.toString(16)}::1`
          await ask(of(name), { address })
          const [passed] = await of(name).passedFor(address, 1)
          for (const port of passed?.ports ?? []) used.add(port)
        }
        expect(used.size).toBe(2)
      })

      test('behavior: a WebSocket opens at the server of its address, whatever its key is', async () => {
        const address = nextAddress()
        await ask(of(name), { address })
        const url = `${of(name).origin.replace('http', 'ws')}/v1/stream`
        for (const inHeader of [true, false]) {
          for (let opened = 0; opened < 4; opened++) {
            const authorization = bearer(nextKey())
            const headers = { 'x-forwarded-for': address, ...(inHeader && { authorization }) }
            const socket = new WebSocket(url, { headers })
            const type = Promise.withResolvers<string>()
            socket.onerror = () => type.reject(new Error('It does not open.'))
            socket.onmessage = ({ data }) => type.resolve(JSON.parse(`${data}`).type)
            socket.onopen = () => {
              if (!inHeader)
                socket.send(JSON.stringify({ op: 'auth', key: authorization.slice(7) }))
            }
            expect(await type.promise).toBe('authenticated')
            socket.close()
          }
        }
        const passed = await of(name).passedFor(address, 9)
        expect(new Set(passed.flatMap(({ ports }) => ports)).size).toBe(1)
      })

      test('behavior: `Upgrade` at another path does not lead a key to another server', async () => {
        const key = nextKey()
        const used = new Set<number>()
        for (let sent = 0; sent < 12; sent++) {
          const address = nextAddress()
          const { stdout } = Bun.spawnSync([
            ...['curl', '-s', '--http1.1', '-o', '/dev/null', '-w', '%{http_code}'],
            ...['-H', 'Connection: Upgrade', '-H', 'Upgrade: websocket'],
            ...['-H', `X-Forwarded-For: ${address}`, '-H', `Authorization: Bearer ${key}`],
            `${of(name).origin}/v1/coins`,
          ])
          expect(stdout.toString()).toBe('200')
          const [passed] = await of(name).passedFor(address, 1)
          for (const port of passed?.ports ?? []) used.add(port)
        }
        expect(used.size).toBe(1)
      })
    })

    test('behavior: the other server answers a GET of one that is not ready; nothing is posted twice', async () => {
      const found = new Map<string, string>()
      for (const name of names) found.set(name, await findKeyAt(of(name), portOf(0)))
      link.refuse(true)
      const [first = raise('server')] = servers
      for (;;) {
        const authorization = bearer(found.get(names[0] ?? '') ?? '')
        if ((await ask(first, { address: nextAddress(), authorization })).status === 503) break
        await Bun.sleep(RETRY_MS)
      }
      for (const [name, key] of found) {
        const balancer = of(name)
        const authorization = bearer(key)
        const [reading, rotating] = [nextAddress(), nextAddress()]
        const read = await ask(balancer, { address: reading, authorization, path: '/v1/keys' })
        expect(read.status).toBe(200)
        expect(await balancer.passedFor(reading, 1)).toMatchObject([
          { ports: [portOf(0), portOf(1)], statuses: ['503', '200'] },
        ])
        const path = `/v1/keys/${ids.get(key)}/rotate`
        const posted = await ask(balancer, {
          address: rotating,
          authorization,
          path,
          method: 'POST',
        })
        expect(posted.status).toBe(503)
        expect(await balancer.passedFor(rotating, 1)).toMatchObject([
          { ports: [portOf(0)], statuses: ['503'] },
        ])
        const listed = await ask(balancer, {
          address: nextAddress(),
          authorization,
          path: '/v1/keys',
        })
        expect(await listed.json()).toMatchObject({ data: [{}] })
      }
      link.refuse(false)
      while ((await fetch(`${first.origin}/readyz`)).status !== 200) await Bun.sleep(RETRY_MS)
    }, 300_000)

    test('behavior: keys of a server that ends begin a new window at the other one', async () => {
      const found = new Map<string, string>()
      for (const name of names) found.set(name, await findKeyAt(of(name), portOf(0)))
      const left = async (name: string, authorization: string, more: Partial<Asked> = {}) => {
        const answer = await ask(of(name), { address: nextAddress(), authorization, ...more })
        expect(answer.ok).toBe(true)
        return Number(answer.headers.get('x-ratelimit-remaining'))
      }
      for (const [name, key] of found) expect(await left(name, bearer(key))).toBe(LIMIT - 2)
      await servers[0]?.kill()
      for (const [name, key] of found) {
        expect(await left(name, bearer(key))).toBe(LIMIT - 1)
        // It was never sent to the one that has ended.
        const path = `/v1/keys/${ids.get(key)}/rotate`
        expect(await left(name, bearer(key), { path, method: 'POST' })).toBe(LIMIT - 2)
      }
    }, 300_000)
  },
)

function raise(name: string): never {
  throw new Error(`There is no ${name}.`)
}
