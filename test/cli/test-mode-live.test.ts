/** Live streams of test mode, which play the simulated day. */
import { describe, expect, test } from 'bun:test'

import { PUBLIC_TEST_KEY } from '#src/domain/selling/api-key.ts'
import type { StreamData } from '#src/features/stream/sockets.ts'

import { followEvents, parseEvents } from '../support/event-client.ts'
import { connect } from '../support/live-client.ts'
import { createTestGround, openMarket } from '../support/test-mode.ts'
import { until } from '../support/until.ts'

const { slug, windowMs, endMs, dayNowMs, iso } = openMarket

describe('live streams of test mode', () => {
  /** Moves the clock, and hands on what is new. */
  const createLive = () => {
    const ground = createTestGround()
    const step = (ms: number) => {
      ground.advance(ms)
      ground.test.tick()
    }
    /** Until something holds; the test's own limit ends it. */
    const stepUntil = (ms: number, holds: () => boolean) =>
      until(() => {
        step(ms)
        return holds()
      })
    return { ...ground, step, stepUntil }
  }
  type Ground = ReturnType<typeof createLive>

  async function follow({ app }: Ground, fault?: string) {
    const headers = new Headers({ authorization: `Bearer ${PUBLIC_TEST_KEY}` })
    if (fault !== undefined) headers.set('bookfeed-fault', fault)
    const path = 'http://localhost/v1/btc/live?channel=quotes&timeframe=5m&outcome=up'
    const answer = await app.fetch(new Request(path, { headers }))
    expect([answer.status, answer.headers.get('bookfeed-mode')]).toEqual([200, 'test'])
    return followEvents(answer)
  }

  test('default: the day goes by as it would have come, market after market', async () => {
    const ground = createLive()
    const client = await follow(ground)
    const events = () => parseEvents(client.text())
    const names = () => events().map(({ name }) => name)
    await ground.stepUntil(0, () => names().includes('snapshot'))
    const shown = () => events().map(({ data }) => Date.parse(String(data.timestamp)))
    expect(Math.max(...shown())).toBeLessThanOrEqual(dayNowMs)
    const ends = ['market_resolved', 'market_open']
    await ground.stepUntil(1000, () => ends.every((name) => names().includes(name)))
    expect(names()).toContain('row')
    const opened = events().find(({ name }) => name === 'market_open')
    expect(opened?.data).toMatchObject({
      windowStart: iso(endMs),
      status: 'open',
      winner: null,
    })
    const resolved = events().find(({ name }) => name === 'market_resolved')
    expect(resolved?.data).toMatchObject({ slug, winner: expect.any(String) })
    const times = events().flatMap(({ name, data }) =>
      name === 'row' ? Date.parse(String(data.timestamp)) : [],
    )
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    await client.leave()
  }, 300_000)

  test('behavior: with gap and stale there are gap events', async () => {
    for (const fault of ['gap', 'stale']) {
      const ground = createLive()
      const client = await follow(ground, fault)
      const gap = () => parseEvents(client.text()).find(({ name }) => name === 'gap')
      await ground.stepUntil(1000, () => gap() !== undefined)
      expect(gap()?.data).toMatchObject({ outcome: 'up', reason: 'recorder_down' })
      await client.leave()
    }
  }, 300_000)

  test('error: while the data are being made a connection is told to come again', async () => {
    const { app, setData } = createTestGround()
    setData(false)
    using server = Bun.serve<StreamData>({
      port: 0,
      fetch: app.fetch,
      websocket: app.stream.websocket,
    })
    const client = connect(`ws://127.0.0.1:${server.port}/v1/stream`)
    await client.send({ op: 'auth', key: PUBLIC_TEST_KEY })
    expect(await client.closed).toMatchObject({
      code: 1013,
      reason: expect.stringContaining('is generating test data'),
    })
  })

  test('default: over WebSocket, with the key in a header or as the first message', async () => {
    const ground = createLive()
    const { app } = ground
    using server = Bun.serve<StreamData>({
      port: 0,
      fetch: app.fetch,
      websocket: app.stream.websocket,
    })
    const timer = setInterval(() => ground.step(0), 1)
    const url = `ws://127.0.0.1:${server.port}/v1/stream`
    for (const key of [PUBLIC_TEST_KEY, undefined]) {
      const client = connect(url, key)
      if (key === undefined) await client.send({ op: 'auth', key: PUBLIC_TEST_KEY })
      const [hello] = await client.untilType('authenticated')
      expect(hello).toMatchObject({ tier: 'test' })
      const about = { channel: 'quotes', coin: 'btc', timeframe: '5m' }
      await client.send({ op: 'subscribe', id: 'live', ...about })
      const [, snapshot] = await client.untilType('snapshot')
      expect(Date.parse(String(snapshot?.data?.timestamp))).toBeLessThanOrEqual(dayNowMs)
      // What is over, and what is yet to come today.
      const range = { from: iso(windowMs), to: iso(endMs), speed: 0 }
      await client.send({ op: 'replay', id: 'whole', ...about, ...range })
      const played = await client.untilType('replay_end')
      const resolved = played.find(({ id, type }) => id === 'whole' && type === 'market_resolved')
      expect(resolved?.data).toMatchObject({ slug })
      client.socket.close()
      await client.closed
    }
    const real = connect(url, ground.key)
    await real.send({
      op: 'subscribe',
      id: 'live',
      channel: 'quotes',
      coin: 'btc',
      conditionId: slug,
    })
    const refused = (await real.untilType('error')).at(-1)
    expect(refused).toMatchObject({ code: 'unknown_market' })
    real.socket.close()
    const wrong = connect(url)
    await wrong.send({ op: 'auth', key: 'bf_test_wrong' })
    expect((await wrong.closed).code).toBe(4001)
    clearInterval(timer)
  }, 300_000)

  test('behavior: at the end of the day connections are closed as by a server that stops', async () => {
    const ground = createLive()
    const { app } = ground
    using server = Bun.serve<StreamData>({
      port: 0,
      fetch: app.fetch,
      websocket: app.stream.websocket,
    })
    const client = connect(`ws://127.0.0.1:${server.port}/v1/stream`, PUBLIC_TEST_KEY)
    await client.untilType('authenticated')
    ground.step(86_400_000 - (ground.time.nowMs % 86_400_000))
    const timer = setInterval(() => ground.step(100), 1)
    expect((await client.closed).code).toBe(1001)
    clearInterval(timer)
  }, 300_000)

  test('behavior: at the end of the day they end, as when a server stops, and begin again', async () => {
    const ground = createLive()
    const client = await follow(ground)
    await ground.stepUntil(0, () => client.text().includes('event:snapshot'))
    ground.step(86_400_000 - (ground.time.nowMs % 86_400_000))
    await client.ended
    expect(client.text().trimEnd().split('\n').at(-1)).toMatch(/^retry:\d+$/)
    const again = await follow(ground)
    const first = () => parseEvents(again.text()).find(({ name }) => name === 'snapshot')
    await ground.stepUntil(200, () => first() !== undefined)
    expect(String(first()?.data.timestamp)).toStartWith('2026-04-13T00:00:0')
    await again.leave()
  }, 300_000)
})
