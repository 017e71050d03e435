/** The stream in one zlib stream, against the same in text. */
import { afterEach, describe, expect, test } from 'bun:test'
import { constants, inflateSync } from 'node:zlib'

import { aSnapshot, simulatedSnapshots, START_MS } from '../history/books.ts'
import {
  append,
  asDocumented,
  closeAll,
  connect,
  isRow,
  putMarket,
  startLiveServer,
} from '../support/live-client.ts'
import { accountOf } from '../support/operation-requests.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const encoding = 'zlib-stream'
const states = simulatedSnapshots('encoding', 200).map((each, at) => ({
  ...aSnapshot(),
  bids: each.bids,
  asks: each.asks,
  timestampMs: START_MS + at,
}))

/** A connection whose binary messages are inflated together, each as it comes. */
async function connectBinary(url: string, key: string) {
  const binary: Uint8Array[] = []
  const texts: string[] = []
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } })
  socket.binaryType = 'arraybuffer'
  const closed = new Promise<CloseEvent>((resolve) => (socket.onclose = resolve))
  socket.onmessage = ({ data }) => {
    if (typeof data === 'string') texts.push(data)
    else binary.push(new Uint8Array(data as ArrayBuffer))
  }
  await new Promise((resolve) => (socket.onopen = resolve))
  const inflated = () =>
    inflateSync(Buffer.concat(binary), { finishFlush: constants.Z_SYNC_FLUSH }).toString()
  return {
    binary,
    texts,
    closed,
    inflated,
    send: (operation: object) => socket.send(JSON.stringify(operation)),
    messages: () =>
      binary.length === 0
        ? []
        : inflated()
            .split('\n')
            .slice(0, -1)
            .map((line) => asDocumented(JSON.parse(line))),
  }
}

describe('GET /v1/stream with zlib-stream', () => {
  test('default: messages are those of a text connection, each up to a sync flush', async () => {
    const { history, url, key } = startLiveServer()
    await putMarket(history)
    await append(history, states.slice(0, 1))
    const plain = connect(url, key)
    const zlib = await connectBinary(url, key)
    const subscribe = { op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' }
    await plain.send(subscribe)
    zlib.send({ ...subscribe, encoding })
    await plain.untilType('snapshot')
    await until(() => zlib.messages().some(({ type }) => type === 'snapshot'))
    const expected: unknown[] = []
    for (const state of states.slice(1)) {
      await append(history, [state])
      const rows = await plain.until(isRow)
      expected.push(...rows.filter(isRow))
    }
    await until(() => zlib.messages().filter(isRow).length === expected.length)
    expect(zlib.messages().filter(isRow)).toEqual(expected as never)
    expect(zlib.texts.map((text) => JSON.parse(text).type)).toEqual(['authenticated'])
    for (const message of zlib.binary) {
      expect(Buffer.from(message.slice(-4)).toString('hex')).toBe('0000ffff')
    }
    // One message is one text: what came before it is inflated whole.
    const first = Buffer.concat(zlib.binary.slice(0, 2))
    const text = inflateSync(first, { finishFlush: constants.Z_SYNC_FLUSH }).toString()
    expect(text.split('\n')).toHaveLength(3)
    // After the first messages the stream refers to the books before.
    const last = zlib.binary.slice(-100)
    expect(last).toHaveLength(100)
    expect(last.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(100 * 155)
  })

  test('default: what is counted is what is sent', async () => {
    const { history, url, key, ledger, app } = startLiveServer()
    await putMarket(history)
    await append(history, states.slice(0, 50))
    const zlib = await connectBinary(url, key)
    await until(() => zlib.texts.length === 1)
    const [authenticated = ''] = zlib.texts
    zlib.send({
      op: 'replay',
      id: 'a',
      channel: 'snapshots',
      coin: 'btc',
      speed: 0,
      encoding,
      from: START_MS,
      to: START_MS + 60_000,
    })
    await until(() => zlib.messages().some(({ type }) => type === 'replay_end'))
    await app.flushUsage()
    const account = accountOf({ ledger, key }, key)
    const [used] = ledger.usageOf(account, '2020-01-01').filter(({ route }) => route === 'stream')
    const sent = zlib.binary.reduce((sum, { length }) => sum + length, authenticated.length)
    expect(used?.bytes).toBe(sent)
  })

  test('behavior: may begin with the key, and ends with the code and all before it', async () => {
    const { url, key, app, time } = startLiveServer()
    const zlib = await connectBinary(url, key)
    zlib.send({ op: 'auth', key, encoding })
    zlib.send({ op: 'heartbeat', seconds: 5 })
    zlib.send({ op: 'unsubscribe', id: 'none' })
    await until(() => zlib.messages().length === 1)
    expect(zlib.messages()).toMatchObject([{ type: 'error', code: 'invalid_parameter' }])
    app.drain()
    time.nowMs += 10_000
    expect((await zlib.closed).code).toBe(1001)
  })

  test('error: another encoding is refused, and changes nothing', async () => {
    const { url, key } = startLiveServer()
    const client = connect(url, key)
    const one = { op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' }
    await client.send({ ...one, encoding: 'zstd' })
    const refused = await client.untilType('error')
    expect(refused.at(-1)).toMatchObject({ code: 'invalid_parameter', param: 'encoding' })
    await client.send(one)
    await client.untilType('subscribed')
  })
})
