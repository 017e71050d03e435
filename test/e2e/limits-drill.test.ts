/**
 * Three servers that share accounts (PostgreSQL) and limits (Redis): what holds for one key over
 * all of them, and that nobody gets an error while Redis is dead.
 */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { digestOf } from '#src/domain/selling/api-key.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'

import { postgresPrograms, startPostgres } from '../support/engines/postgres.ts'
import { redisProgram, startRedis } from '../support/engines/redis.ts'
import { addKey } from '../support/harness.ts'
import { type KillableServer, startKillableServer } from '../support/killable-server.ts'
import { asJson } from '../support/signup-client.ts'
import { systemClock } from '../support/venue/venue.ts'

const DRILL_MS_MAX = 240_000
/** 14 for each server: up to 16 wait for it without being refused for their number. */
const AT_ONCE = 42
const LIMIT = 600
/** Within the minute of the limit, also on a machine that is loaded. */
const FLOOD = 1500
const TRIES_MAX = 100
const RETRY_MS = 50
const tierOf = (requestsPerMinute: number): Tier => ({
  tierId: `drill-${requestsPerMinute}`,
  name: 'Drill',
  rank: requestsPerMinute,
  isForSale: false,
  requestsPerMinute,
  coins: ['btc'],
  routes: ['markets', 'snapshots'],
})
const MANY = 1_000_000

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-limits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Servers = readonly KillableServer[]
type Asked = RequestInit & { path?: string }

async function startServers(count: number, env: Record<string, string>): Promise<Servers> {
  const started = Array.from({ length: count }, (_, at) => {
    const data = join(folder, `${at}`)
    mkdirSync(data, { recursive: true })
    return startKillableServer({
      ...env,
      BOOKFEED_DATA: data,
      BOOKFEED_PORT: '0',
      BOOKFEED_SAMPLE: 'off',
      // One of them answers with threads.
      BOOKFEED_LOG: 'off',
      BOOKFEED_WORKERS: at === 0 ? '2' : '0',
    })
  })
  return Promise.all(started)
}

/** Asks the servers in turns, with one key. */
function createAsker(servers: Servers, token: string) {
  const ask = async (at: number, { path = '/v1/btc/markets', ...init }: Asked = {}) => {
    const headers = { ...init.headers, authorization: `Bearer ${token}` }
    const response = await fetch(`${servers[at % servers.length]?.origin}${path}`, {
      ...init,
      headers,
    })
    return { response, text: await response.text() }
  }
  /** Where keys cannot be checked in time nothing is counted: whoever is told so asks again. */
  const askPatiently = async (at: number, asked?: Asked) => {
    let answer = await ask(at, asked)
    for (let tries = 0; answer.response.status === 503 && tries < TRIES_MAX; tries++) {
      await Bun.sleep(RETRY_MS)
      answer = await ask(at, asked)
    }
    return answer
  }
  return {
    ask,
    askPatiently,

    /** How many of so many requests are let through and refused. */
    async flood(count: number) {
      const tally = { passed: 0, refused: 0 }
      const loop = async (at: number): Promise<void> => {
        for (let sent = at; sent < count; sent += AT_ONCE) {
          const { status } = (await askPatiently(at)).response
          expect([200, 429]).toContain(status)
          tally[status === 200 ? 'passed' : 'refused']++
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => loop(at)))
      return tally
    },

    /** Sends one request after the other; `stop` returns every status that there was. */
    load() {
      const seen = new Set<number>()
      let isOver = false
      const loop = async (): Promise<void> => {
        for (let at = 0; !isOver; at++) seen.add((await ask(at)).response.status)
      }
      const loops = [loop(), loop(), loop()]
      return async () => {
        isOver = true
        await Promise.all(loops)
        return [...seen]
      }
    },
  }
}

/** An address is one wherever it signs up: 2 times a minute, of two requests each. */
async function expectSignups({ ask }: ReturnType<typeof createAsker>): Promise<void> {
  const statuses: number[] = []
  for (let at = 0; at < 6; at++) {
    const body = asJson({ address: `0x${`${at}`.padStart(40, '0')}` })
    statuses.push((await ask(at, { ...body, path: '/v1/keys/challenge' })).response.status)
  }
  // 503: nobody is screened here.
  expect(statuses).toEqual([503, 503, 503, 503, 429, 429])
}

/** Connections are upgraded after an answer of Redis. */
async function expectStreams(servers: Servers, token: string): Promise<void> {
  for (const { origin } of servers) {
    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/stream`, { headers } as never)
    const first = await new Promise((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(JSON.parse(`${data}`))
      socket.onerror = reject
    })
    expect(first).toMatchObject({ type: 'authenticated' })
    socket.close()
  }
}

async function expectRevoked(servers: Servers, ledger: Ledger): Promise<void> {
  const token = addKey(ledger, tierOf(MANY))
  const { ask, askPatiently } = createAsker(servers, token)
  for (const at of servers.keys()) expect((await askPatiently(at)).response.status).toBe(200)
  const { id = '' } = ledger.findKeyByDigest(digestOf(token)) ?? {}
  ledger.revokeKey(id, byOperator(systemClock()))
  const revokedMs = systemClock()
  for (const at of servers.keys()) {
    // A request that was sent before that may be answered late on a loaded machine.
    for (let status = 0; status !== 401;) {
      const sentMs = systemClock()
      ;({ status } = (await ask(at)).response)
      if (status !== 401) expect(sentMs - revokedMs).toBeLessThan(1_000)
    }
  }
}

/** Returns what waits until every server logs a text from now on; the test's own limit ends it. */
function watchLogs(servers: Servers) {
  const marks = servers.map(({ errors }) => errors().length)
  return async (text: string): Promise<void> => {
    const isLogged = () =>
      servers.every(({ errors }, at) => errors().slice(marks[at]).includes(text))
    while (!isLogged()) await Bun.sleep(RETRY_MS)
  }
}

describe.skipIf(postgresPrograms === undefined || redisProgram === null)(
  'three servers with the same accounts and limits',
  () => {
    test(
      'behavior: limits are exact over all, a revoked key is refused by all, and Redis may die',
      async () => {
        await using postgres = await startPostgres()
        await using redis = await startRedis()
        using ledger = openLedger(postgres.url, { nowMs: systemClock() })
        const large = addKey(ledger, tierOf(MANY))
        const servers = await startServers(3, {
          BOOKFEED_LEDGER: postgres.url,
          BOOKFEED_LIMITS: redis.url,
          BOOKFEED_SIGNUPS_PER_DAY: '12',
        })
        await using ends = new AsyncDisposableStack()
        for (const server of servers) ends.defer(() => server.kill())
        const asker = createAsker(servers, large)
        const [first, second] = [0, 1].map(() =>
          createAsker(servers, addKey(ledger, tierOf(LIMIT))),
        )
        const token = addKey(ledger, tierOf(LIMIT))
        const third = createAsker(servers, token)
        const atOneServer = createAsker(servers.slice(0, 1), token)

        expect(await first?.flood(FLOOD)).toEqual({ passed: LIMIT, refused: FLOOD - LIMIT })
        await expectSignups(asker)
        await expectStreams(servers, large)
        await expectRevoked(servers, ledger)

        // One server admits more than its share, and then Redis hangs: the others have no more.
        expect((await atOneServer.flood(LIMIT - 100)).passed).toBe(LIMIT - 100)
        const untilSilent = watchLogs(servers)
        redis.hang()
        await untilSilent('This server admits 1/3 of each limit')
        expect((await third.flood(400)).passed).toBe(0)
        const untilAwake = watchLogs(servers)
        redis.wake()
        await untilAwake('BOOKFEED_LIMITS answers again')
        expect((await third.flood(400)).passed).toBeLessThanOrEqual(100)

        // Its minute begins here, and lasts until Redis is dead.
        const usage = await second?.askPatiently(2, { path: '/v1/usage' })
        const { windows } = JSON.parse(usage?.text ?? '')
        expect(windows.data.remaining).toBe(LIMIT - 1)
        const stop = asker.load()
        await Bun.sleep(500)
        const untilDead = watchLogs(servers)
        await redis.kill()
        await untilDead('This server admits 1/3 of each limit')
        // The last server may have 199 more, the others 200.
        expect((await second?.flood(1_000))?.passed).toBe(LIMIT - 1)
        const untilBack = watchLogs(servers)
        await redis.restart()
        await untilBack('BOOKFEED_LIMITS answers again')
        // Its counts are lost, and nobody has a second limit in the same minute.
        expect((await second?.flood(300))?.passed).toBe(0)
        expect((await stop()).filter((status) => status !== 200)).toEqual([])
      },
      DRILL_MS_MAX,
    )
  },
)
