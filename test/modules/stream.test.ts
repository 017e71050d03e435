import { afterEach, describe, expect, test } from 'bun:test'

import type { Snapshot } from '#src/core/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createRandom } from '#src/lib/random.ts'
import type { Connection } from '#src/modules/stream/service.ts'

import { aSnapshot, conditionIdOf, simulatedSnapshots, START_MS } from '../history/books.ts'
import { addKey, createHarness } from '../support/harness.ts'

type Message = Record<string, unknown> & { type: string; data?: { id?: string } }
const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server on a port of its own, ticked every millisecond. */
function startServer() {
  const history = openHistory(':memory:', { chunkCacheBytes: 1 << 24, lagMs: 0 })
  const harness = createHarness({ history })
  const { app } = harness
  harness.time.nowMs = START_MS + 60_000
  const server = Bun.serve<Connection['data']>({
    port: 0,
    fetch: app.fetch,
    websocket: {
      open: app.stream.open,
      message: app.stream.message,
      drain: app.stream.drain,
      close: app.stream.close,
    },
  })
  const timer = setInterval(app.stream.tick, 1)
  closers.push(() => {
    clearInterval(timer)
    void server.stop(true)
    history.dispose()
  })
  return { ...harness, history, url: `ws://127.0.0.1:${server.port}/v1/stream` }
}

/** A client that was not written by us reads what comes. */
function connect(url: string, key?: string) {
  const messages: Message[] = []
  const waiting: (() => void)[] = []
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const socket = new WebSocket(url, { headers })
  const closed = Promise.withResolvers<CloseEvent>()
  socket.onclose = closed.resolve
  socket.onmessage = ({ data }) => {
    messages.push(JSON.parse(data))
    for (const wake of waiting.splice(0)) wake()
  }
  const opened = new Promise((resolve) => {
    socket.onopen = resolve
  })
  const send = async (message: object) => {
    await opened
    socket.send(JSON.stringify(message))
  }
  /** Waits until a message of the kind is there that was not taken, and takes those before it. */
  const until = async (isIt: (message: Message) => boolean): Promise<Message[]> => {
    for (;;) {
      const at = messages.findIndex(isIt)
      if (at >= 0) return messages.splice(0, at + 1)
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
  return { send, until, messages, closed: closed.promise, socket }
}

let batches = 0
function append(history: MarketHistory, snapshots: readonly Snapshot[]): void {
  history.append({ id: `stream-${++batches}`, source: 'simulated', snapshots })
}

const put = (history: MarketHistory) =>
  history.putMarket({
    ...{ conditionId: conditionIdOf(1), coin: 'btc', timeframe: '5m', source: 'simulated' },
    ...{ windowStartMs: START_MS, windowEndMs: START_MS + 300_000 },
  })

const isRow = ({ type }: Message) => type === 'row'

describe('GET /v1/stream', () => {
  test('default: the last rows first, then each as it is written, as the routes answer it', async () => {
    const { history, url, key, send } = startServer()
    put(history)
    append(history, [aSnapshot({}, 10_000)])
    const client = connect(url)
    await client.send({ op: 'auth', key })
    await client.send({ op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' })
    const [, , snapshot] = await client.until(({ type }) => type === 'snapshot')
    append(history, [aSnapshot({ timestampMs: START_MS + 5 }, 20_000)])
    const [row] = await client.until(isRow)
    const response = await send(`/v1/btc/markets/${conditionIdOf(1)}/snapshots`)
    const { data } = (await response.json()) as { data: unknown[] }
    expect([snapshot?.data, row?.data]).toEqual(data as Message['data'][])
    expect(row).toMatchObject({ id: 'a', channel: 'snapshots', prevSeq: snapshot?.seq, seq: 2 })
  })

  test('behavior: a cursor of a route continues live, and one of a row in the route', async () => {
    const { history, url, key, send } = startServer()
    put(history)
    const all = simulatedSnapshots('stream', 400).map((each) => ({
      ...aSnapshot(),
      bids: each.bids,
      asks: each.asks,
      timestampMs: START_MS + (each.timestampMs % 60_000),
    }))
    append(history, all.slice(0, 150))
    const path = `/v1/btc/markets/${conditionIdOf(1)}/quotes`
    const first = await send(`${path}?limit=10`)
    const from = first.headers.get('x-resume-cursor')
    const client = connect(url, key)
    const conditionId = conditionIdOf(1)
    await client.send({
      op: 'subscribe',
      id: 'q',
      channel: 'quotes',
      coin: 'btc',
      conditionId,
      from,
    })
    const rows = (await client.until(({ type }) => type === 'live')).filter(isRow)
    const rest = (await (await send(`${path}?cursor=${from}&limit=10000`)).json()) as {
      data: object[]
    }
    expect(rows.map(({ data }) => data)).toEqual(rest.data as Message['data'][])
    const cursor = String(rows[3]?.cursor)
    const again = (await (await send(`${path}?cursor=${cursor}&limit=10000`)).json()) as typeof rest
    expect(again.data).toEqual(rest.data.slice(4))
  })

  test('behavior: from any cursor, whatever is written meanwhile, no row is missed or repeated', async () => {
    const random = createRandom('from cursor')
    for (let round = 0; round < 8; round++) {
      const { history, url, key, send } = startServer()
      put(history)
      const count = 60 + random.integer(600)
      const all = Array.from({ length: count }, (_, index) =>
        aSnapshot(
          { outcome: random.integer(2) ? 'up' : 'down', timestampMs: START_MS + index * 7 },
          (index + 1) * 10_000,
        ),
      )
      let written = 1 + random.integer(count - 1)
      append(history, all.slice(0, written))
      const path = `/v1/btc/markets/${conditionIdOf(1)}/snapshots`
      const first = await send(`${path}?limit=${1 + random.integer(written)}`)
      const from = first.headers.get('x-resume-cursor')
      const client = connect(url, key)
      const conditionId = conditionIdOf(1)
      const channel = 'snapshots'
      await client.send({ op: 'subscribe', id: 's', channel, coin: 'btc', conditionId, from })
      while (written < count) {
        const more = 1 + random.integer(40)
        append(history, all.slice(written, written + more))
        written += more
        await Bun.sleep(random.integer(4))
      }
      const lastId = String(
        history.latest({ market: marketOf(history), outcome: all.at(-1)?.outcome ?? 'up' })?.id,
      )
      const got = (await client.until(({ data }) => data?.id === lastId)).filter(isRow)
      const rest = (await (await send(`${path}?cursor=${from}&limit=1000`)).json()) as {
        data: object[]
      }
      expect(got.map(({ data }) => data)).toEqual(rest.data as Message['data'][])
      for (const [index, { prevSeq }] of got.entries())
        expect(prevSeq).toBe(index === 0 ? null : (got[index - 1]?.seq as number))
    }
  })

  test('error: what is wrong is named, and the connection lives', async () => {
    const { url, key } = startServer()
    const client = connect(url)
    const errorOf = async (message: object | string) => {
      if (typeof message === 'string') client.socket.send(message)
      else await client.send(message)
      return (await client.until(({ type }) => type === 'error')).at(-1)
    }
    expect(
      await errorOf({ op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' }),
    ).toMatchObject({
      code: 'unauthenticated',
    })
    await client.send({ op: 'auth', key })
    expect(await errorOf('no json')).toMatchObject({ code: 'invalid_request' })
    expect(await errorOf({ op: 'dance' })).toMatchObject({ code: 'invalid_parameter', param: 'op' })
    expect(await errorOf({ op: 'subscribe', id: 'a', coin: 'btc' })).toMatchObject({
      param: 'channel',
    })
    const subscribe = { op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' }
    expect(await errorOf({ ...subscribe, from: 'x' })).toMatchObject({ param: 'from' })
    expect(await errorOf({ ...subscribe, seconds: 5 })).toMatchObject({ param: 'seconds' })
    expect(await errorOf({ ...subscribe, conditionId: conditionIdOf(9) })).toMatchObject({
      ...{ code: 'unknown_market', id: 'a' },
    })
    await client.send(subscribe)
    await client.until(({ type }) => type === 'subscribed')
    expect(await errorOf(subscribe)).toMatchObject({ code: 'invalid_parameter', param: 'id' })
  })

  test('error: a tier without the route or coin is told which has it; a bad key is closed with 4001', async () => {
    const { url, ledger } = startServer()
    const client = connect(url, addKey(ledger, 'free'))
    await client.send({ op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' })
    const error = (await client.until(({ type }) => type === 'error')).at(-1)
    expect(error).toMatchObject({ code: 'tier_route', requiredTier: 'starter' })
    const other = connect(url)
    await other.send({ op: 'auth', key: 'bf_live_wrong' })
    expect((await other.closed).code).toBe(4001)
  })

  test('error: a plain request is told what to connect with', async () => {
    const { send } = startServer()
    const response = await send('/v1/stream')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'not_found' })
  })
})

function marketOf(history: MarketHistory) {
  const market = history.findMarket(conditionIdOf(1))
  if (!market) throw new Error('It was put.')
  return market
}
