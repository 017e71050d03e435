/** Responses, streams and keys of a server whose copy of the database is behind. */
import { afterEach, describe, expect, test } from 'bun:test'

import { UNCONFIRMED_MS_MAX } from '#src/access/authenticator.ts'
import { toIso } from '#src/domain/time.ts'
import type { Fault } from '#src/features/health/routes.ts'

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
import { createSilences } from '../support/silences.ts'
import { until } from '../support/until.ts'

afterEach(async () => {
  await closeAll()
  sockets.closeAll()
})

const KNOWN_MS = START_MS + 55_000
const KNOWN = toIso(KNOWN_MS)
const market = (number: number) => `/v1/btc/markets/${conditionIdOf(number)}`

/** Market 1 is open, market 2 closed; the last rows are of 56 seconds after the start. */
async function startServer() {
  const { since, silences } = createSilences()
  const server = await startEvents({ silences })
  const { history } = server
  await append(history, someSnapshots(56))
  const earlier = { conditionId: conditionIdOf(2) }
  await putMarket(history, 2, {
    windowStartMs: START_MS - WINDOW_MS,
    windowEndMs: START_MS,
    winner: 'up',
  })
  await append(
    history,
    someSnapshots(60).map((each) =>
      aSnapshot({ ...each, ...earlier, timestampMs: each.timestampMs - 2 * 60_000 }),
    ),
  )
  await history.close(conditionIdOf(2))
  return { ...server, since }
}

/** What clients and caches keep a response by. */
const same = ['etag', 'cache-control', 'vary', 'content-type', 'x-coverage', 'x-resume-cursor']

const covered = (response: Response) => response.headers.get('x-coverage')
const kept = (response: Response) =>
  ['cache-control', 'etag'].map((name) => response.headers.get(name))

describe('of an open market', () => {
  const paths = [
    '',
    '/snapshots',
    '/snapshots?limit=3',
    '/quotes',
    '/prices',
    '/prices?interval=10s',
    '/trades',
    '/coverage',
    '/heatmap?outcome=up',
    '/export',
    '/export?format=csv',
    '/quotes?format=csv',
    `/snapshots/at?ts=${KNOWN_MS + 2000}`,
    `/fill?outcome=up&side=buy&size=1&ts=${KNOWN_MS + 2000}`,
  ].map((path) => market(1) + path)
  const ofCoin = [
    '/v1/btc/markets',
    '/v1/btc/prices',
    '/v1/btc/spot',
    '/v1/btc/coverage',
    '/v1/board',
  ]

  test.each([...paths, ...ofCoin])(
    'behavior: %s says so while the copy is behind, and is not kept',
    async (path) => {
      const { send, time, since } = await startServer()
      time.nowMs = KNOWN_MS + 10_000
      const before = [await send(path), await send(path)]
      since.copy = KNOWN_MS
      const tag = before[0]?.headers.get('etag') ?? ''
      expect(tag).not.toBe('')
      for (const headers of [{}, {}, { 'if-none-match': tag }]) {
        const response = await send(path, { headers })
        expect(response.status).toBe(200)
        expect(covered(response)).toContain('replica_behind')
        expect(kept(response)).toEqual(['no-store', null])
      }
      since.copy = undefined
      const after = await send(path)
      expect([covered(after), ...kept(after)]).toEqual([
        covered(before[0] as Response),
        ...kept(before[0] as Response),
      ])
    },
  )

  test('behavior: a batch of moments says so', async () => {
    const { send, time, since } = await startServer()
    time.nowMs = KNOWN_MS + 10_000
    since.copy = KNOWN_MS
    const ts = KNOWN_MS + 2000
    const requests = [{ conditionId: conditionIdOf(1), outcome: 'up', ts }]
    const response = await send('/v1/btc/snapshots/at', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requests }),
    })
    expect(covered(response)).toContain('replica_behind')
  })

  test('behavior: what was known before is answered and kept as always', async () => {
    const { send, time, since } = await startServer()
    time.nowMs = KNOWN_MS + 10_000
    const path = `${market(1)}/snapshots?to=${KNOWN_MS}`
    const before = await send(path)
    since.copy = KNOWN_MS + 6000
    const after = await send(path)
    expect(same.map((name) => after.headers.get(name))).toEqual(
      same.map((name) => before.headers.get(name)),
    )
  })

  test('behavior: the gap begins before the last moment that is known, as states come late, and ends with the window', async () => {
    const { send, time, since } = await startServer()
    const lastGaps = async () => {
      const { outcomes } = (await (await send(`${market(1)}/coverage`)).json()) as {
        outcomes: { gaps: { reason: string; from: string; to: string }[] }[]
      }
      return outcomes.map(({ gaps }) => gaps.at(-1))
    }
    since.copy = START_MS + 65_000
    time.nowMs = START_MS + 70_000
    const gap = { reason: 'replica_behind', from: toIso(START_MS + 60_000) }
    for (const found of await lastGaps())
      expect(found).toMatchObject({ ...gap, to: toIso(START_MS + 70_000) })
    time.nowMs = START_MS + WINDOW_MS + 60_000
    for (const found of await lastGaps())
      expect(found).toMatchObject({ ...gap, to: toIso(START_MS + WINDOW_MS) })
  })

  test('behavior: what is kept of a market with a result hides nothing before it is closed', async () => {
    const { send, history, since, time } = await startServer()
    time.nowMs = KNOWN_MS + 10_000
    await putMarket(history, 1, { winner: 'up' })
    const path = `${market(1)}/snapshots`
    for (let round = 0; round < 4; round++)
      expect(covered(await send(path))).not.toContain('replica_behind')
    since.copy = KNOWN_MS
    for (let round = 0; round < 2; round++)
      expect(covered(await send(path))).toContain('replica_behind')
    since.copy = undefined
    expect(covered(await send(path))).not.toContain('replica_behind')
  })
})

test('default: closed markets are as before, byte for byte', async () => {
  const { send, time, since } = await startServer()
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
  since.copy = KNOWN_MS
  time.nowMs += 1000
  expect(await all()).toEqual(before)
})

describe('streams', () => {
  test.each([plain, gzip])(
    'default: events have the gap once, then what was missing, then that it is none (%p)',
    async (coding) => {
      const { follow, history, since, advance } = await startServer()
      advance(KNOWN_MS + 10_000 - START_MS)
      const clients = [
        await follow(`${market(1)}/live?heartbeat=5`, coding),
        await follow('/v1/btc/live?channel=quotes', coding),
      ]
      const closed = await follow(`${market(2)}/live`, coding)
      for (const { events } of clients) await until(() => events().length >= 2)
      const told = ({ events }: (typeof clients)[0]) =>
        events().flatMap(({ name, data }) => {
          const { reason, to } = data as { reason?: string; to?: string | null }
          if (name === 'row') return name
          return reason === 'replica_behind' ? to === null : []
        })
      since.copy = KNOWN_MS + 7000
      for (const client of clients) await until(() => told(client).length === 2)
      advance(6000)
      await append(history, someSnapshots(62).slice(-2))
      since.copy = undefined
      for (const client of clients) await until(() => told(client).length === 6)
      for (const client of clients) {
        expect(told(client).map(String).toSorted()).toEqual([
          'false',
          'false',
          'row',
          'row',
          'true',
          'true',
        ])
        expect(told(client).slice(0, 2)).toEqual([true, true])
      }
      expect(told(closed)).toEqual([])
    },
  )

  test('default: a socket has the gap for each subscription, and that it is none', async () => {
    const { since, silences } = createSilences()
    const { history, url, key, time } = sockets.startLiveServer({ silences })
    await sockets.putMarket(history)
    await sockets.append(history, someSnapshots(56))
    time.nowMs = KNOWN_MS + 10_000
    const client = sockets.connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' })
    await client.untilType('subscribed')
    const gaps = () =>
      client.messages.filter(({ type, reason }) => type === 'gap' && reason === 'replica_behind')
    since.copy = KNOWN_MS + 7000
    time.nowMs += 100
    await until(() => gaps().length === 2)
    const from = toIso(KNOWN_MS + 2000)
    expect(gaps()).toMatchObject([
      { from, to: null },
      { from, to: null },
    ])
    since.copy = undefined
    time.nowMs += 100
    await until(() => gaps().length === 4)
    expect(gaps().slice(2)).toMatchObject([
      { from, to: from },
      { from, to: from },
    ])
  })

  test('behavior: a window closes by the clock, and what comes later is no gap of it', async () => {
    const { follow, time, history, since } = await startServer()
    const client = await follow(`${market(1)}/live`, plain)
    await until(() => client.events().length === 2)
    since.copy = KNOWN_MS + 7000
    time.nowMs = START_MS + WINDOW_MS + 60_000
    const gaps = () =>
      client.events().flatMap(({ name, data }) => {
        const { reason, from, to } = data as { reason?: string; from: string; to: string }
        return name === 'gap' && reason === 'replica_behind' ? [[from, to]] : []
      })
    await until(() => gaps().length === 2)
    const [from, to] = [toIso(KNOWN_MS + 2000), toIso(START_MS + WINDOW_MS)]
    expect(gaps()).toEqual([
      [from, to],
      [from, to],
    ])
    expect(client.events().map(({ name }) => name)).toContain('market_closed')
    await append(history, someSnapshots(60).slice(-2))
    since.copy = undefined
    await until(() => gaps().length === 4)
    expect(gaps().slice(2)).toEqual([
      [from, from],
      [from, from],
    ])
  })
})

describe('keys of which the ledger has told nothing for ten seconds', () => {
  const unconfirmed = { code: 'unavailable', detail: expect.stringContaining(KNOWN) }

  function createLedgerCopy() {
    const behind: { sinceMs: number | undefined } = { sinceMs: undefined }
    const ledgerCopy = { pull: async () => undefined, behindSince: () => behind.sinceMs }
    return { behind, ledgerCopy }
  }

  test('error: 503, and nothing before', async () => {
    const { behind, ledgerCopy } = createLedgerCopy()
    const { send, sendAs, time } = createHarness({ ledgerCopy })
    behind.sinceMs = KNOWN_MS
    time.nowMs = KNOWN_MS + UNCONFIRMED_MS_MAX
    expect((await send('/v1/btc/markets')).status).toBe(200)
    time.nowMs++
    for (const response of [await send('/v1/btc/markets'), await send('/v1/usage')]) {
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(await response.json()).toMatchObject(unconfirmed)
    }
    expect((await sendAs('sample', '/v1/btc/markets')).status).toBe(200)
    expect((await sendAs(undefined, '/v1/btc/markets')).status).toBe(401)
    expect((await send('/healthz')).status).toBe(200)
    behind.sinceMs = undefined
    expect((await send('/v1/btc/markets')).status).toBe(200)
  })

  test('error: streams of keys end when the key is looked at again', async () => {
    const { behind, ledgerCopy } = createLedgerCopy()
    const { follow, advance } = await startEvents({ ledgerCopy })
    const client = await follow('/v1/btc/live', plain)
    behind.sinceMs = KNOWN_MS
    advance(KNOWN_MS + UNCONFIRMED_MS_MAX + 1 - START_MS)
    await client.ended
    expect(client.events().at(-1)).toMatchObject({ name: 'end', data: unconfirmed })
  })

  test('error: a socket is closed with 1013', async () => {
    const { behind, ledgerCopy } = createLedgerCopy()
    const { url, key, time } = sockets.startLiveServer({ ledgerCopy })
    const client = sockets.connect(url, key)
    await client.untilType('authenticated')
    behind.sinceMs = KNOWN_MS
    time.nowMs = KNOWN_MS + UNCONFIRMED_MS_MAX + 5001
    expect(await client.closed).toMatchObject({ code: 1013 })
  })
})

test('error: /readyz says what the server was told besides', async () => {
  const said: string[] = []
  let faults: Fault[] = []
  const { send } = createHarness({ faults: () => faults, say: (line) => void said.push(line) })
  faults = [
    { check: 'history', reason: 'The copy is behind.' },
    { check: 'clock', reason: 'The clock is wrong.' },
  ]
  const response = await send('/readyz')
  expect([response.status, await response.json()]).toMatchObject([
    503,
    { detail: 'Not ready: history, clock. The copy is behind. The clock is wrong.' },
  ])
  faults = []
  expect((await send('/readyz')).status).toBe(200)
})
