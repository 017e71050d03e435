/** What callers that pay nothing take leaves room for accounts that pay, and for one another. */
import { describe, expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'

import { createLimits } from '#src/access/limits.ts'
import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'
import type { PeerSource } from '#src/http/call.ts'
import { createRounds } from '#src/http/rounds.ts'
import { createConcurrencyLimit, createCounts } from '#src/platform/concurrency-limit.ts'

import { addKey, createHarness } from '../support/harness.ts'
import { createMarketHistory } from '../support/market-history.ts'
import { readProblem } from '../support/page-client.ts'
import { createTestGround } from '../support/test-mode.ts'

const addressAt = (index: number) => `10.0.${index >> 8}.${index & 255}`
const peersAt = (address: string): PeerSource => ({ requestIP: () => ({ address }) })

type Fetch = ReturnType<typeof createHarness>['app']['fetch']
const askAt = async (fetch: Fetch, path: string, { token = '', address = '192.0.2.1' }) => {
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` }
  return fetch(new Request(`http://localhost${path}`, { headers }), peersAt(address))
}

describe('places of three levels', () => {
  test('default: the rooms lie in one another, so each level has places that no later one can take', () => {
    const rooms = [{ max: 8 }, { max: 4 }, { max: 2 }] as const
    const places = createConcurrencyLimit({ rooms: [...rooms] }, createCounts())
    const fill = (level: number) => {
      const closes: (() => void)[] = []
      for (let owner = 0; ; owner++) {
        const place = places.open({ owner: `${level} ${owner}`, ownMax: 1, level })
        if (place === 'all') return closes
        if (typeof place !== 'string') closes.push(place)
      }
    }
    const guests = fill(2)
    expect(guests).toHaveLength(2)
    expect(fill(1)).toHaveLength(2)
    expect(fill(0)).toHaveLength(4)
    guests[0]?.()
    expect(fill(2)).toHaveLength(1)
    places.clear(1)
    expect(fill(0)).toHaveLength(8)
    expect([places.isFull(0), places.total()]).toEqual([true, 8])
  })

  test('behavior: owners of a group share a bound, and a group that has none gets one of the last', () => {
    const rooms = [{ max: 3, firstMax: 4 }] as const
    const places = createConcurrencyLimit({ rooms: [...rooms], groupMax: 2 }, createCounts())
    const open = (owner: string, group: string) => {
      const place = places.open({ owner, group, ownMax: 2 })
      return typeof place === 'string' ? place : 'taken'
    }
    expect([open('a', 'x'), open('b', 'x'), open('c', 'x')]).toEqual(['taken', 'taken', 'group'])
    expect([open('d', 'y'), open('d', 'y'), open('e', 'z')]).toEqual(['taken', 'all', 'taken'])
  })

  test('behavior: what is larger than its bound is taken where its owner has nothing', () => {
    const places = createConcurrencyLimit({ rooms: [{ max: 100 }] }, createCounts())
    const open = (size: number) => places.open({ owner: 'a', ownMax: 10, size })
    const first = open(60)
    expect(first).toBeFunction()
    expect(open(1)).toBe('account')
    if (typeof first === 'function') first()
    expect(open(101)).toBe('all')
  })
})

describe('streams and long requests', async () => {
  const known = await createMarketHistory()
  const config = { streamsMax: 64 }

  test('behavior: sample streams of many addresses leave those of paying accounts', async () => {
    const harness = createHarness({ history: known.history })
    const { app, ledger } = harness
    const live = '/v1/btc/live?channel=prices'
    const statuses: number[] = []
    const open: Response[] = []
    for (let address = 0; address < 64; address++) {
      const response = await askAt(app.fetch, live, {
        token: 'sample',
        address: addressAt(address >> 1),
      })
      statuses.push(response.status)
      open.push(response)
    }
    const taken = statuses.filter((status) => status === 200).length
    expect(taken).toBe(config.streamsMax / 4)
    expect(statuses.filter((status) => status === 503).length).toBe(64 - taken)
    for (let account = 0; account < 12; account++) {
      const key = addKey(ledger, 'pro')
      for (let stream = 0; stream < 4; stream++) {
        const response = await askAt(app.fetch, live, { token: key })
        expect(response.status).toBe(200)
        open.push(response)
      }
    }
    for (const response of open) await response.body?.cancel()
  })

  test('behavior: test keys of one address leave streams to those of another', async () => {
    const ground = createTestGround()
    const keys: string[] = []
    for (let count = 0; count < 10; count++) {
      const made = await ground.app.fetch(
        new Request('http://localhost/v1/keys/test', { method: 'POST' }),
        peersAt('192.0.2.9'),
      )
      keys.push(((await made.json()) as { key: string }).key)
    }
    const open: Response[] = []
    const ask = async (token: string, address: string) => {
      const path = '/v1/btc/live?channel=quotes'
      const response = await askAt(ground.app.fetch, path, { token, address })
      open.push(response)
      return response
    }
    const greedy: Response[] = []
    for (const key of keys)
      for (let count = 0; count < 2; count++) greedy.push(await ask(key, '192.0.2.9'))
    expect(greedy.filter(({ status }) => status === 200)).toHaveLength(4)
    const refused = greedy.at(-1)
    expect(refused?.status).toBe(429)
    const { code, detail } = await readProblem(refused as Response)
    expect([code, detail]).toEqual(['too_many_streams', expect.stringContaining('network address')])
    // Twelve are for addresses that have some already; an address without any gets one of the rest.
    for (const address of ['192.0.2.10', '192.0.2.11'])
      for (let count = 0; count < 4; count++) await ask(keys[count] ?? '', address)
    expect((await ask(PUBLIC_TEST_KEY, '192.0.2.12')).status).toBe(200)
    for (const { body } of open) if (body?.locked === false) await body.cancel()
  })
})

/** Connections of the stream in this process, by network address. */
function createSockets() {
  // Connections are answered at once, also when the clock is moved.
  const rounds = createRounds(() => 0)
  const harness = createHarness({ limits: createLimits(8), replaced: { rounds } })
  const { app } = harness
  const { websocket } = app.stream
  const connect = (address: string, token?: string) => {
    const state: { code?: number; sent: string[] } = { sent: [] }
    let connection: Parameters<typeof websocket.open>[0] | undefined
    const peers: PeerSource = {
      requestIP: () => ({ address }),
      upgrade(_, { data }) {
        connection = {
          data: data as StreamData,
          send: (text: string) => void state.sent.push(text),
          getBufferedAmount: () => 0,
          close(code: number) {
            state.code = code
            if (connection !== undefined) websocket.close(connection)
          },
        }
        return true
      },
    }
    const headers: Record<string, string> =
      token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = app.fetch(new Request('http://localhost/v1/stream', { headers }), peers)
    if (connection !== undefined) websocket.open(connection)
    const ask = (message: object) =>
      connection && websocket.message(connection, JSON.stringify(message))
    return { response, state, ask, isOpen: connection !== undefined }
  }
  return { ...harness, connect }
}

describe('connections of the live stream', () => {
  test('behavior: a thousand without a key keep nobody out, with a key in a header or as a message', async () => {
    const { connect, ledger, app } = createSockets()
    const strangers = Array.from({ length: 1_000 }, (_, at) => connect(addressAt(at % 100)))
    expect(strangers.filter(({ isOpen }) => isOpen)).toHaveLength(1_000)
    const withHeader = connect('192.0.2.1', addKey(ledger, 'pro'))
    expect(withHeader.state.sent[0]).toContain('authenticated')
    const withMessage = connect('192.0.2.2')
    expect(withMessage.isOpen).toBe(true)
    withMessage.ask({ op: 'auth', key: addKey(ledger, 'pro') })
    await setImmediate()
    expect(withMessage.state.sent[0]).toContain('authenticated')
    // The oldest without a key gave way, and those that have one are none of them.
    expect(strangers.filter(({ state }) => state.code === 4001)).toHaveLength(1)
    expect(strangers[0]?.state.code).toBe(4001)
    expect(app.stream.sessions).toBe(1_001)
  })

  test('error: an address has twenty whose key has not come yet', async () => {
    const { connect, ledger, advance } = createSockets()
    const own = Array.from({ length: 21 }, (_, at) => {
      // Of one window it has ten.
      if (at % 10 === 0) advance(60_000)
      return connect('192.0.2.1')
    })
    expect(own.filter(({ isOpen }) => isOpen)).toHaveLength(20)
    const refused = await own[20]?.response
    expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([503, '5'])
    expect(connect('192.0.2.2').isOpen).toBe(true)
    // Its place is free once its key has come.
    own[0]?.ask({ op: 'auth', key: addKey(ledger, 'pro') })
    await setImmediate()
    expect(connect('192.0.2.1').isOpen).toBe(true)
  })
})
