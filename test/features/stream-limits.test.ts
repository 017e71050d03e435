import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'

import { START_MS } from '../history/books.ts'
import { addKey, NOW_MS } from '../support/harness.ts'
import { closeAll, connect, putMarket, startLiveServer } from '../support/live-client.ts'
import { idOf } from '../support/operation-requests.ts'
import { readProblem } from '../support/page-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

/** By its path: under its name Bun has one of its own. */
const wrapper = join(import.meta.dir, '../../node_modules/ws/wrapper.mjs')
const { default: WebSocketOfWs }: typeof import('ws') = await import(wrapper)

const subscribe = { op: 'subscribe', channel: 'markets', coin: 'btc' }

describe('PING', () => {
  test('default: is answered with PONG, in its turn, with a key and before one has come', async () => {
    const { url, key } = startLiveServer()
    const socket = new WebSocket(url)
    const texts: string[] = []
    socket.onmessage = ({ data }) => texts.push(String(data))
    await new Promise((resolve) => (socket.onopen = resolve))
    socket.send('PING')
    socket.send(JSON.stringify({ op: 'auth', key }))
    socket.send('PING')
    socket.send('ping')
    await until(() => texts.length >= 4)
    const kinds = texts.map((text) => (text === 'PONG' ? text : JSON.parse(text).type))
    expect(kinds).toEqual(['PONG', 'authenticated', 'PONG', 'error'])
    socket.close()
  })

  test('behavior: counts as an operation', async () => {
    const { url, key } = startLiveServer()
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } })
    const texts: string[] = []
    socket.onmessage = ({ data }) => texts.push(String(data))
    await new Promise((resolve) => (socket.onopen = resolve))
    for (let count = 0; count < 60; count++) socket.send('PING')
    await until(() => texts.length >= 61)
    const refused = texts.filter((text) => text.includes('"rate_limited"'))
    expect(refused).toHaveLength(10)
    expect(texts.filter((text) => text === 'PONG')).toHaveLength(50)
    socket.close()
  })
})

describe('limits of GET /v1/stream', () => {
  test('default: a tier has so many connections; one more is closed with 4029', async () => {
    const { url, ledger } = startLiveServer()
    const key = addKey(ledger, 'starter')
    const held = [connect(url, key), connect(url, key)]
    for (const client of held) await client.untilType('authenticated')
    expect((await connect(url, key).closed).code).toBe(4029)
    held[0]?.socket.close()
    await held[0]?.closed
    await connect(url, key).untilType('authenticated')
    // Of another account there are others.
    await connect(url, addKey(ledger, 'free')).untilType('authenticated')
  })

  test('default: a connection has 20 subscriptions for each that its tier has', async () => {
    const { url, ledger } = startLiveServer()
    const client = connect(url, addKey(ledger, 'free'))
    for (let id = 1; id <= 21; id++) await client.send({ ...subscribe, id: `${id}` })
    const refused = (await client.untilType('error')).at(-1)
    expect(refused).toMatchObject({ id: '21', code: 'too_many_streams' })
    await client.send({ op: 'unsubscribe', id: '1' })
    await client.send({ ...subscribe, id: '21' })
    expect((await client.untilType('subscribed')).at(-1)?.id).toBe('21')
  })

  test('default: who sends no key within ten seconds is closed with 4001', async () => {
    const { url, advance, app } = startLiveServer()
    const client = connect(url)
    await until(() => app.stream.sessions === 1)
    advance(10_001)
    expect((await client.closed).code).toBe(4001)
  })

  test('behavior: a key that is revoked is closed with 4001 within ten seconds', async () => {
    const { url, ledger, advance } = startLiveServer()
    const key = addKey(ledger, 'pro')
    const client = connect(url, key)
    await client.untilType('authenticated')
    await ledger.revokeKey(idOf(ledger, key), { actor: 'operator', nowMs: NOW_MS })
    advance(10_000)
    expect((await client.closed).code).toBe(4001)
  })

  test('behavior: heartbeats come when nothing else does, as often as asked for', async () => {
    const { url, key, app, advance, time } = startLiveServer()
    const client = connect(url, key)
    await client.untilType('authenticated')
    /** The first heartbeat is of its moment, not of the one before. */
    const expectNextAfter = async (...steps: number[]) => {
      for (const ms of steps) {
        advance(ms)
        app.stream.tick()
      }
      const [first] = await client.untilType('heartbeat')
      expect(first).toMatchObject({ type: 'heartbeat', time: new Date(time.nowMs).toISOString() })
    }
    await expectNextAfter(29_000, 1_000)
    await client.send({ op: 'heartbeat', seconds: 5 })
    // Its answer is that nothing is wrong: what comes next is answered.
    await client.send({ op: 'dance' })
    await client.untilType('error')
    await expectNextAfter(4_900, 100)
    for (const seconds of [4, 601, 5.5]) {
      await client.send({ op: 'heartbeat', seconds })
      expect((await client.untilType('error')).at(-1)).toMatchObject({ param: 'seconds' })
    }
  })

  test('behavior: more than 50 operations a second are refused; 20 faults in a row close with 4002', async () => {
    const { url, key, advance } = startLiveServer()
    const client = connect(url, key)
    for (let count = 0; count < 51; count++) await client.send({ op: 'heartbeat', seconds: 5 })
    expect((await client.untilType('error')).at(-1)).toMatchObject({ code: 'rate_limited' })
    advance(1000)
    for (let count = 0; count < 20; count++) await client.send({ op: 'dance' })
    expect((await client.closed).code).toBe(4002)
  })

  test('behavior: a message of more than 16 KiB closes with 1009', async () => {
    const { url, key, app } = startLiveServer()
    const client = connect(url, key)
    await client.untilType('authenticated')
    client.socket.send(JSON.stringify({ op: 'auth', key: 'x'.repeat(16_384) }))
    expect((await client.closed).code).toBe(1009)
    expect(app.stream.sessions).toBe(0)
  })

  test('behavior: at a stop all leave with 1001 within ten seconds, and not all at once', async () => {
    let drawn = 0
    const randomBytes = (length: number) => new Uint8Array(length).fill((drawn++ * 64) % 256)
    const { url, ledger, app, advance, sendAs } = startLiveServer({ randomBytes })
    const clients = Array.from({ length: 4 }, () => connect(url, addKey(ledger, 'free', undefined)))
    for (const client of clients) await client.untilType('authenticated')
    app.drain()
    const left: number[] = []
    for (let seconds = 0; seconds < 10; seconds++) {
      left.push(app.stream.sessions)
      advance(1000)
      app.stream.tick()
    }
    expect(left[0]).toBe(4)
    expect(new Set(left).size).toBeGreaterThan(2)
    for (const client of clients) expect((await client.closed).code).toBe(1001)
    await until(() => app.stream.sessions === 0)
    expect((await sendAs(undefined, '/v1/stream')).status).toBe(503)
  })

  test('behavior: an account cannot take the connection of another over', async () => {
    const { url, ledger, key } = startLiveServer()
    const client = connect(url, key)
    await client.untilType('authenticated')
    await client.send({ op: 'auth', key: addKey(ledger, 'pro') })
    expect((await client.untilType('error')).at(-1)).toMatchObject({ param: 'key' })
  })
})

describe('the handshake of GET /v1/stream', () => {
  test('default: says what is left of the rate window, and the id of the request', async () => {
    const { url, key } = startLiveServer()
    for (const remaining of ['999999', '999998']) {
      const socket = new WebSocketOfWs(`${url}?`, { headers: { authorization: `Bearer ${key}` } })
      const answered = Promise.withResolvers<Record<string, unknown>>()
      socket.on('upgrade', ({ headers }) => answered.resolve(headers))
      expect(await answered.promise).toMatchObject({
        'x-ratelimit-limit': '1000000',
        'x-ratelimit-remaining': remaining,
        'x-request-id': expect.stringMatching(/^req_/),
      })
      socket.close()
    }
  })

  test('error: a parameter is refused, and named', async () => {
    const { url, key } = startLiveServer()
    const headers = { authorization: `Bearer ${key}` }
    const refused = await fetch(`${url.replace('ws', 'http')}?x=1`, { headers })
    expect(await readProblem(refused)).toMatchObject({ code: 'invalid_parameter', param: 'x' })
  })
})

describe('clients of others', () => {
  test('default: the ws package reads the stream', async () => {
    const { url, key, history, time } = startLiveServer()
    await putMarket(history)
    time.nowMs = START_MS + 1
    const socket = new WebSocketOfWs(url, { headers: { authorization: `Bearer ${key}` } })
    const types: string[] = []
    const ended = Promise.withResolvers<number>()
    socket.on('message', (text: Buffer) => {
      types.push(JSON.parse(text.toString()).type)
      if (types.at(-1) === 'unsubscribed') socket.close()
    })
    socket.on('open', () => {
      socket.send(JSON.stringify({ ...subscribe, id: 'a', channel: 'quotes' }))
      socket.send(JSON.stringify({ op: 'unsubscribe', id: 'a' }))
    })
    socket.on('close', ended.resolve)
    expect(await ended.promise).toBe(1005)
    expect(types).toEqual(['authenticated', 'subscribed', 'unsubscribed'])
  })
})
