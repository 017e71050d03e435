import { afterEach, describe, expect, test } from 'bun:test'
import { connect as connectTcp } from 'node:net'

import { aSnapshot, getMarket, START_MS } from '../history/books.ts'
import { addKey } from '../support/harness.ts'
import { append, closeAll, type Message } from '../support/live-client.ts'
import { openStuck, startWriting } from '../support/stuck-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const MIB = 2 ** 20
/** Bun drops what is sent beyond, silently. */
const BUN_DROPS_BYTES = 16 * MIB
const BUFFERED_BYTES_MAX = 4 * MIB
const HELD_BYTES_MAX = 8 * MIB
/** At least, of a row of 400 levels. */
const ROW_BYTES = 10_000

const subscribe = { op: 'subscribe', channel: 'snapshots', coin: 'btc' }
const rowsOf = (messages: readonly Message[]) => messages.filter(({ type }) => type === 'row')

describe('slow readers of GET /v1/stream', () => {
  test('default: states are left out and counted, and the last of each outcome always arrives', async () => {
    const server = await startWriting()
    const { history, write } = server
    const client = openStuck(server)
    client.ask({ ...subscribe, id: 'a' })
    await write('up')
    client.state.buffered = BUFFERED_BYTES_MAX / 2
    const before = client.sent.length
    for (let count = 0; count < 60; count++) await write(count % 3 === 0 ? 'down' : 'up')
    expect(client.sent).toHaveLength(before)
    client.take()
    const late = rowsOf(client.sent.slice(before))
    expect(late.map(({ data }) => data?.outcome)).toEqual(['down', 'up'])
    for (const { data } of late) {
      const outcome = data?.outcome === 'up' ? 'up' : 'down'
      expect(history.latest({ market: getMarket(history), outcome })?.id).toBe(Number(data?.id))
    }
    expect(late.map(({ skipped }) => skipped ?? 0)).toEqual([58, 0])
    await write('up')
    const [next] = rowsOf(client.sent.slice(-1))
    expect(next).toMatchObject({ prevSeq: late.at(-1)?.seq })
    expect(next).not.toHaveProperty('skipped')
    client.ask({ op: 'unsubscribe', id: 'a' })
  })

  test('behavior: trades are never left out', async () => {
    const server = await startWriting()
    const { history } = server
    const client = openStuck(server)
    client.ask({ ...subscribe, id: 't', channel: 'trades' })
    client.state.buffered = BUFFERED_BYTES_MAX / 2
    const { conditionId } = getMarket(history)
    for (let count = 1; count <= 20; count++) {
      const trade = { timestampMs: START_MS + count, price: 500_000, outcome: 'up' as const }
      await history.record({ snapshots: [], gaps: [], trades: [{ conditionId, trade }] })
      server.app.stream.tick()
    }
    client.take()
    expect(rowsOf(client.sent)).toHaveLength(20)
    expect(rowsOf(client.sent).some((row) => 'skipped' in row)).toBe(false)
  })

  test('behavior: who chose `close` misses nothing until it is closed with 4008', async () => {
    const server = await startWriting()
    const client = openStuck(server)
    client.ask({ ...subscribe, id: 'a', onSlow: 'close' })
    client.state.buffered = BUFFERED_BYTES_MAX / 2
    for (let count = 0; count < 30; count++) await server.write('up')
    client.take()
    expect(rowsOf(client.sent)).toHaveLength(30)
    for (let id = 0; id < 9; id++) client.ask({ ...subscribe, id: `${id}`, onSlow: 'close' })
    client.state.buffered = BUFFERED_BYTES_MAX / 2
    let rows = 0
    for (; !client.isOver() && rows < 5000; rows++) await server.write('up', 400)
    client.take()
    expect(client.state.code).toBe(4008)
    const rowBytes = JSON.stringify(rowsOf(client.sent).at(-1)).length
    expect(10 * (rows - 1) * rowBytes).toBeLessThan(HELD_BYTES_MAX)
  })

  test.each(['close', 'conflate'])(
    'behavior: a snapshot on request takes its place after what waits, with `%s`',
    async (onSlow) => {
      const server = await startWriting()
      const client = openStuck(server)
      client.ask({ ...subscribe, id: 'a', onSlow })
      client.state.buffered = BUFFERED_BYTES_MAX / 2
      const begun = client.sent.length
      for (let count = 0; count < 9; count++) await server.write('up')
      client.ask({ op: 'snapshot', id: 'a' })
      await server.write('down')
      // Written, and not handed on yet.
      await append(server.history, [aSnapshot({ timestampMs: START_MS + 12 })])
      client.ask({ op: 'snapshot', id: 'a' })
      client.take()
      await server.write('up')
      const late = client.sent.slice(begun)
      const told = late.map(({ type, seq, skipped = 0 }) => [type, seq, skipped])
      const waited = [
        ...Array.from({ length: 9 }, (_, index) => ['row', index + 3, 0]),
        ...[2, 11].map((seq) => ['snapshot', seq, 0]),
        ...[12, 13].map((seq) => ['row', seq, 0]),
        ...[12, 13].map((seq) => ['snapshot', seq, 0]),
        ['row', 14, 0],
      ]
      const replaced = [
        ['snapshot', 12, 9],
        ['snapshot', 13, 0],
        ['row', 14, 0],
      ]
      expect(told).toEqual(onSlow === 'close' ? waited : replaced)
      for (const [index, { prevSeq }] of late.entries())
        expect(prevSeq).toBe((late[index - 1] ?? client.sent[begun - 1])?.seq as number)
    },
  )

  test('behavior: what waits is of the connection, whatever it has subscribed to', async () => {
    const server = await startWriting()
    const client = openStuck(server)
    for (let id = 0; id < 40; id++) client.ask({ ...subscribe, id: `${id}`, onSlow: 'close' })
    client.state.buffered = BUFFERED_BYTES_MAX / 2
    let rows = 0
    for (; !client.isOver() && rows < 5000; rows++) await server.write('up', 400)
    client.take()
    expect([client.state.code, rows < 40]).toEqual([4008, true])
  })

  test('behavior: nothing is ever given to Bun that it would drop', async () => {
    const server = await startWriting()
    for (let count = 0; count < 10; count++) await server.write('up', 400)
    const client = openStuck(server)
    client.ask({ ...subscribe, id: 'a' })
    for (let count = 0; !client.isOver() && count < 5000; count++) {
      client.ask({ op: 'snapshot', id: 'a' })
      server.advance(100)
    }
    client.take()
    expect(client.state.code).toBe(4008)
    expect(client.state.most).toBeLessThan(BUFFERED_BYTES_MAX + MIB)
    expect(client.state.most).toBeLessThan(BUN_DROPS_BYTES)
  })

  test('behavior: the code of a close comes after all that was sent, or after a minute', async () => {
    const written = await startWriting()
    const server = { ...written, key: addKey(written.ledger, 'pro') }
    const startOver = () => {
      const client = openStuck(server)
      client.ask({ ...subscribe, id: 'a' })
      client.state.buffered = 2 * BUFFERED_BYTES_MAX
      client.ask({ op: 'snapshot', id: 'a' })
      expect([client.isOver(), client.state.code]).toEqual([true, 0])
      return client
    }
    const places = 4
    const tick = (ms: number) => {
      server.advance(ms)
      server.app.stream.tick()
    }
    const clients = Array.from({ length: places }, startOver)
    const sent = clients[0]?.sent.length
    await server.write('up')
    tick(59_000)
    expect(clients.map(({ state }) => state.code)).toEqual([0, 0, 0, 0])
    // Until then they have their places.
    expect(openStuck(server).state.code).toBe(4029)
    clients[0]?.take()
    expect([clients[0]?.state.code, clients[0]?.sent.length]).toEqual([4008, sent])
    startOver()
    tick(1000)
    expect(clients.map(({ state }) => state.code)).toEqual([4008, 4008, 4008, 4008])
    expect(server.app.stream.sessions).toBe(1)
  })

  test('behavior: a replay waits for its reader and leaves nothing out', async () => {
    const server = await startWriting()
    for (let count = 0; count < 300; count++) await server.write(count % 2 ? 'up' : 'down', 100)
    const client = openStuck(server)
    const { conditionId } = getMarket(server.history)
    const replay = { op: 'replay', id: 'r', channel: 'snapshots', coin: 'btc', speed: 0 }
    client.ask({ ...replay, conditionId })
    const isAtEnd = () => client.sent.at(-1)?.type === 'replay_end'
    let rounds = 0
    while (!isAtEnd()) {
      await Bun.sleep(5)
      expect(client.state.buffered).toBeLessThan(MIB)
      if (++rounds % 5 === 0) client.take()
    }
    expect(rounds).toBeGreaterThan(5)
    const ids = rowsOf(client.sent).map(({ data }) => Number(data?.id))
    expect(ids).toEqual(Array.from({ length: 302 }, (_, index) => index + 1))
  })

  test('behavior: a real client that stops reading is closed, and memory stays bounded', async () => {
    const server = await startWriting()
    const socket = connectTcp(server.port ?? 0, '127.0.0.1')
    const lines = [
      'GET /v1/stream HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${server.key}`,
    ]
    const handshake = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13']
    const nonce = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
    socket.write(`${[...lines, ...handshake, nonce].join('\r\n')}\r\n\r\n`)
    await until(() => server.app.stream.sessions === 1)
    socket.pause()
    for (let id = 0; id < 20; id++)
      socket.write(maskedText(JSON.stringify({ ...subscribe, id: `${id}`, onSlow: 'close' })))
    let rows = 0
    for (; server.app.stream.sessions === 1; rows++) {
      await server.write('up', 400)
      server.advance(1000)
      await Bun.sleep(0)
    }
    // What is held for it, and what the system takes for both sides.
    expect(rows * 20 * ROW_BYTES).toBeLessThan(HELD_BYTES_MAX + 64 * MIB)
    socket.destroy()
  }, 300_000)

  test('error: what waits on connections is bounded by account, and the one with the most is closed', async () => {
    const server = await startWriting()
    const clients = [20, 30, 40].map((megabytes) => {
      const client = openStuck(server)
      client.state.buffered = megabytes * 1_000_000
      return client
    })
    const other = openStuck({ app: server.app, key: addKey(server.ledger, 'pro') })
    other.state.buffered = 50_000_000
    server.advance(100)
    server.app.stream.tick()
    expect(clients.map(({ isOver }) => isOver())).toEqual([false, false, true])
    expect(other.isOver()).toBe(false)
    // What it was sent waits no longer, either.
    server.advance(100)
    server.app.stream.tick()
    expect(clients[2]?.state.isCut).toBe(true)
  })
})

/** A frame of a client (RFC 6455, 5.2) whose mask changes nothing. */
function maskedText(text: string): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(text.length)
  return Buffer.concat([Buffer.from([0x81, 0xfe]), length, Buffer.alloc(4), Buffer.from(text)])
}
