/** What a server says whose copy of the database has become old. */
import { afterEach, describe, expect, test } from 'bun:test'

import { staleCoverage } from '#src/domain/coverage.ts'
import { createApiKey } from '#src/domain/selling/api-key.ts'
import { STALE_MS, type StaleSince, UNCONFIRMED_MS_MAX } from '#src/domain/staleness.ts'
import { toIso } from '#src/domain/time.ts'

import { aSnapshot, conditionIdOf, someSnapshots, START_MS } from '../history/books.ts'
import {
  append,
  closeAll,
  gzip,
  plain,
  putMarket,
  startServer as startEvents,
  WINDOW_MS,
} from '../support/event-server.ts'
import { createHarness } from '../support/harness.ts'
import * as sockets from '../support/live-client.ts'
import { until } from '../support/until.ts'

afterEach(async () => {
  await closeAll()
  sockets.closeAll()
})

/** Since when each store is stale, as a test says. */
function createAge() {
  const since: Partial<Record<'history' | 'ledger', number | undefined>> = {}
  return { since, staleSince: ((store) => since[store]) satisfies StaleSince }
}

const KNOWN_MS = START_MS + 55_000
const KNOWN = toIso(KNOWN_MS)
const market = (number: number) => `/v1/btc/markets/${conditionIdOf(number)}`

/** Market 1 is open, market 2 closed; the last rows are of 59 seconds after the start. */
function startServer(since: ReturnType<typeof createAge>) {
  const server = startEvents({ staleSince: since.staleSince })
  const { history } = server
  append(history, someSnapshots(56))
  const earlier = { conditionId: conditionIdOf(2) }
  putMarket(history, 2, {
    windowStartMs: START_MS - WINDOW_MS,
    windowEndMs: START_MS,
    winner: 'up',
  })
  append(
    history,
    someSnapshots(60).map((each) =>
      aSnapshot({ ...each, ...earlier, timestampMs: each.timestampMs - 2 * 60_000 }),
    ),
  )
  history.close(conditionIdOf(2))
  return server
}

/** What clients and caches keep an answer by. */
const same = ['etag', 'cache-control', 'vary', 'content-type', 'x-coverage', 'x-resume-cursor']

const covered = (response: Response) => response.headers.get('x-coverage')

describe('of an open market', () => {
  const paths = [
    '/snapshots',
    '/snapshots?limit=3',
    '/quotes',
    '/prices',
    '/prices?interval=10s',
    '/trades',
    '/coverage',
    '/export',
    '/quotes?format=csv',
    `/snapshots/at?ts=${START_MS + 50_000}`,
    `/fill?outcome=up&side=buy&size=1&ts=${START_MS + 50_000}`,
  ]
  test.each(paths)('behavior: %s says so while it is stale, cached or not', async (path) => {
    const age = createAge()
    const { send, time } = startServer(age)
    time.nowMs = KNOWN_MS
    const before = [await send(market(1) + path), await send(market(1) + path)]
    const coverage = covered(before[0] as Response) ?? ''
    age.since.history = KNOWN_MS
    time.nowMs = KNOWN_MS + 60_000
    const tag = before[0]?.headers.get('etag') ?? ''
    for (const headers of [{}, {}, { 'if-none-match': tag }]) {
      const response = await send(market(1) + path, { headers })
      expect([200, 304]).toContain(response.status)
      expect(covered(response)).toBe(staleCoverage(coverage, KNOWN_MS))
    }
    age.since.history = undefined
    time.nowMs = KNOWN_MS
    expect(covered(await send(market(1) + path))).toBe(coverage)
  })

  test('behavior: a moment that is not known is no gap', async () => {
    const age = createAge()
    const { send, time } = startServer(age)
    time.nowMs = KNOWN_MS
    const known = await (await send(`${market(1)}/coverage`)).json()
    age.since.history = KNOWN_MS
    time.nowMs = KNOWN_MS + 60_000
    const at = await send(`${market(1)}/snapshots/at?ts=${time.nowMs}`)
    const nothing = `none;covered=0.0;gaps=0;reasons="stale";until="${KNOWN}"`
    expect(covered(at)).toBe(nothing)
    expect(await (await send(`${market(1)}/coverage`)).json()).toEqual(known)
    expect(covered(await send(`${market(1)}/heatmap?outcome=up`))).toBe(
      `partial;covered=1.0;gaps=0;reasons="stale";until="${KNOWN}"`,
    )
    const now = await send('/v1/btc/prices')
    expect(covered(now)).toBe(`unknown;gaps=0;reasons="stale";until="${KNOWN}"`)
    expect(covered(await send('/v1/btc/markets'))).toContain('stale')
  })

  test('behavior: what is kept of a market with a result hides nothing before it is closed', async () => {
    const age = createAge()
    const { send, history } = startServer(age)
    putMarket(history, 1, { winner: 'up' })
    const path = `${market(1)}/snapshots`
    for (let round = 0; round < 4; round++) expect(covered(await send(path))).not.toContain('stale')
    age.since.history = KNOWN_MS
    for (let round = 0; round < 2; round++) expect(covered(await send(path))).toContain('stale')
    age.since.history = undefined
    expect(covered(await send(path))).not.toContain('stale')
  })
})

test('default: closed markets are as before, byte for byte', async () => {
  const age = createAge()
  const { send, time } = startServer(age)
  const ts = START_MS - 60_000
  const paths = [
    '',
    '/snapshots',
    '/quotes',
    '/prices',
    '/trades',
    '/coverage',
    '/heatmap',
    '/export',
    `/snapshots/at?ts=${ts}`,
  ].map((path) => market(2) + path)
  const batch = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ requests: [{ conditionId: conditionIdOf(2), outcome: 'up', ts }] }),
  }
  const told = async (path: string, init?: RequestInit) => {
    const response = await send(path, init)
    const headers = same.map((name) => response.headers.get(name))
    return [path, response.status, headers, await response.text()]
  }
  const all = async () => [
    ...(await Promise.all(paths.map((path) => told(path)))),
    await told('/v1/btc/snapshots/at', batch),
  ]
  const before = await all()
  age.since.history = KNOWN_MS
  time.nowMs += 1000
  expect(await all()).toEqual(before)
})

describe('streams', () => {
  test.each([plain, gzip])(
    'default: events say it once, and that it is over (%p)',
    async (coding) => {
      const age = createAge()
      const { follow, history, advance } = startServer(age)
      const clients = [
        await follow(`${market(1)}/live?heartbeat=5`, coding),
        await follow('/v1/btc/live?channel=quotes', coding),
      ]
      const closed = await follow(`${market(2)}/live`, coding)
      for (const { events } of clients) await until(() => events().length >= 2)
      age.since.history = KNOWN_MS
      const names = ({ events }: (typeof clients)[0]) =>
        events()
          .filter(({ name }) => name !== 'snapshot')
          .map(({ name, data }) => (name === 'row' ? name : [name, data]))
      const stale = ['stale', { since: KNOWN }]
      for (const client of clients) await until(() => names(client).length === 1)
      advance(6000)
      const late = await follow(`${market(1)}/live`, coding)
      await until(() => names(late).length === 1)
      append(history, someSnapshots(58).slice(-2))
      age.since.history = undefined
      for (const client of [...clients, late]) await until(() => names(client).length === 4)
      for (const client of [...clients, late])
        expect(names(client)).toEqual([stale, 'row', 'row', ['current', expect.anything()]])
      expect(names(closed)).toEqual([])
      if (coding === plain) expect(clients[0]?.text()).toContain('\n\n:stale\n\n')
    },
  )

  test('default: a socket says it once, and a heartbeat does not pretend', async () => {
    const age = createAge()
    const { history, url, key, time } = sockets.startLiveServer({ staleSince: age.staleSince })
    sockets.putMarket(history)
    sockets.append(history, someSnapshots(56))
    const client = sockets.connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' })
    await client.untilType('subscribed')
    age.since.history = KNOWN_MS
    time.nowMs += 100
    const [stale] = (await client.untilType('stale')).slice(-1)
    expect(stale).toEqual({ type: 'stale', since: KNOWN })
    await client.send({ op: 'heartbeat', seconds: 5 })
    await client.send({ op: 'unsubscribe', id: 'a' })
    await client.untilType('unsubscribed')
    time.nowMs += 6000
    const [beat] = (await client.untilType('heartbeat')).slice(-1)
    expect(beat).toEqual({ type: 'heartbeat', time: expect.anything(), staleSince: KNOWN })
    age.since.history = undefined
    time.nowMs += 100
    const [current] = (await client.untilType('current')).slice(-1)
    expect(current).toEqual({ type: 'current', time: toIso(time.nowMs) })
    expect(client.messages.filter(({ type }) => type === 'stale')).toEqual([])
  })

  test('behavior: time stands still, so no market closes and no gap begins', async () => {
    const age = createAge()
    const { follow, time, history } = startServer(age)
    const client = await follow(`${market(1)}/live`, plain)
    await until(() => client.events().length === 2)
    age.since.history = KNOWN_MS
    await until(() => client.events().length === 3)
    time.nowMs = START_MS + WINDOW_MS + 60_000
    append(history, someSnapshots(57).slice(-1))
    await until(() => client.rows().length === 1)
    expect(client.events().map(({ name }) => name)).not.toContain('market_closed')
    age.since.history = undefined
    await until(() => client.events().some(({ name }) => name === 'market_closed'))
  })
})

describe('keys whose ledger is not confirmed', () => {
  const unconfirmed = { code: 'unavailable', detail: expect.stringContaining(KNOWN) }

  test('error: 503 beyond the bound, for a key that was never seen too, and nothing before it', async () => {
    const age = createAge()
    const { send, sendAs, time } = createHarness({ staleSince: age.staleSince })
    age.since.ledger = KNOWN_MS
    time.nowMs = KNOWN_MS + UNCONFIRMED_MS_MAX
    expect((await send('/v1/btc/markets')).status).toBe(200)
    time.nowMs++
    const unknown = createApiKey((length) => crypto.getRandomValues(new Uint8Array(length)))
    const ways = [send('/v1/btc/markets'), send('/v1/usage'), sendAs(unknown, '/v1/btc/markets')]
    for (const response of await Promise.all(ways)) {
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(await response.json()).toMatchObject(unconfirmed)
    }
    expect((await sendAs('sample', '/v1/btc/markets')).status).toBe(200)
    expect((await sendAs(undefined, '/v1/btc/markets')).status).toBe(401)
    expect((await send('/healthz')).status).toBe(200)
    age.since.ledger = undefined
    expect((await send('/v1/btc/markets')).status).toBe(200)
  })

  test('error: streams of keys end at once', async () => {
    const age = createAge()
    const { follow, time } = startServer(age)
    const client = await follow(`${market(1)}/live`, plain)
    await until(() => client.events().length === 2)
    age.since.ledger = KNOWN_MS
    time.nowMs = KNOWN_MS + UNCONFIRMED_MS_MAX + 1
    await client.ended
    expect(client.events().at(-1)).toMatchObject({ name: 'end', data: unconfirmed })
  })

  test('error: a socket is closed with 1013', async () => {
    const age = createAge()
    const { url, key, time } = sockets.startLiveServer({ staleSince: age.staleSince })
    const client = sockets.connect(url, key)
    await client.untilType('authenticated')
    age.since.ledger = KNOWN_MS
    time.nowMs = KNOWN_MS + UNCONFIRMED_MS_MAX + 1
    expect(await client.closed).toMatchObject({ code: 1013 })
  })
})

test('error: /readyz names the store, and since when', async () => {
  const age = createAge()
  const said: string[] = []
  const { send } = createHarness({
    staleSince: age.staleSince,
    say: (line) => void said.push(line),
  })
  age.since.history = KNOWN_MS
  age.since.ledger = KNOWN_MS - STALE_MS
  for (let asked = 0; asked < 2; asked++) {
    const response = await send('/readyz')
    expect([response.status, await response.json()]).toMatchObject([
      503,
      {
        detail: `Not ready: history, ledger. The history is stale: nothing after ${KNOWN} is known. The ledger is stale: nothing after ${toIso(KNOWN_MS - STALE_MS)} is known.`,
      },
    ])
  }
  expect(said).toHaveLength(2)
  age.since.history = undefined
  age.since.ledger = undefined
  expect((await send('/readyz')).status).toBe(200)
})
