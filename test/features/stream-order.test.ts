import { afterEach, describe, expect, spyOn, test } from 'bun:test'

import { ENDLESS_MS } from '#src/domain/coverage.ts'

import { aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { append, closeAll, type Message } from '../support/live-client.ts'
import { openStuck, startWriting } from '../support/stuck-client.ts'

afterEach(closeAll)

const conditionId = conditionIdOf(1)
const subscribe = { op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' }
const SLOW_BYTES = 2 ** 20
const toldOf = (messages: readonly Message[]) =>
  messages.filter(({ type }) => type !== 'heartbeat').map(({ type, seq }) => seq ?? type)

const start = async (onSlow = 'close') => {
  const server = await startWriting()
  const client = openStuck(server)
  client.ask({ ...subscribe, onSlow })
  client.state.buffered = SLOW_BYTES
  const begun = client.sent.length
  const late = () => toldOf(client.sent.slice(begun))
  const tick = (ms: number) => {
    server.advance(ms)
    server.app.stream.tick()
  }
  const putGap = (fromMs: number, toMs: number) =>
    server.history.putGaps(conditionId, [{ outcome: 'up', reason: 'venue_silent', fromMs, toMs }])
  return { ...server, client, late, tick, putGap }
}

describe('order of messages of GET /v1/stream', () => {
  test.each(['close', 'conflate'])(
    'behavior: a gap comes after the rows that waited before it, with `%s`',
    async (onSlow) => {
      const { client, write, tick, putGap, late } = await start(onSlow)
      await write('up')
      await write('down')
      await putGap(START_MS + 5, START_MS + 6)
      tick(1000)
      for (let row = 5; row < 8; row++) await write('down')
      client.take()
      const waited = onSlow === 'close' ? [3, 4, 'gap', 5, 6, 7] : [3, 'gap', 7]
      expect(late()).toEqual(waited)
    },
  )

  test('behavior: a gap comes before the first row after it, however fast that comes', async () => {
    const { client, tick, history, putGap, late } = await start()
    client.take()
    await append(history, [aSnapshot({ timestampMs: START_MS + 3 }, 30_000)])
    await putGap(START_MS + 4, START_MS + 6)
    await append(history, [aSnapshot({ timestampMs: START_MS + 7 }, 70_000)])
    for (let ticks = 0; ticks < 4; ticks++) tick(0)
    expect(late()).toEqual([3, 'gap', 4])
  })

  test('behavior: what is said of a market comes after its rows, the last word after all', async () => {
    const { client, write, tick, putGap, late, history } = await start()
    for (const outcome of ['up', 'down', 'up'] as const) await write(outcome)
    tick(300_000)
    await putGap(START_MS + 6, ENDLESS_MS)
    await append(history, [aSnapshot({ timestampMs: START_MS + 6 }, 70_000)])
    await history.putMarket({
      conditionId,
      coin: 'btc',
      timeframe: '5m',
      source: 'simulated',
      winner: 'up',
      winnerSource: 'simulated',
    })
    tick(1000)
    expect(late()).toEqual([])
    client.take()
    expect(late()).toEqual([3, 4, 5, 'market_closed', 6, 'gap', 'market_resolved'])
    await write('up')
    expect(late().at(-1)).toBe('market_resolved')
  })

  test('behavior: whoever is cut off among the first snapshots has no place to continue from', async () => {
    const server = await startWriting()
    for (const ask of [subscribe, { ...subscribe, op: 'snapshot' }]) {
      const client = openStuck(server)
      client.ask(subscribe)
      if (ask !== subscribe) client.ask({ op: 'snapshot', id: 'a' })
      const snapshots = client.sent.filter(({ type }) => type === 'snapshot').slice(-2)
      const cursors = snapshots.map(({ cursor }) => cursor)
      expect(cursors).toEqual([undefined, expect.any(String)])
    }
  })

  test('behavior: a connection that ends while a subscription begins leaves no follower', async () => {
    const server = await startWriting()
    openStuck(server).ask({ ...subscribe, channel: 'markets' })
    const client = openStuck(server)
    client.state.buffered = 8 * SLOW_BYTES
    client.ask(subscribe)
    client.take()
    expect(client.state.code).toBe(4008)
    const reads = spyOn(server.history, 'page')
    await server.write('up')
    expect(reads).not.toHaveBeenCalled()
  })
})
