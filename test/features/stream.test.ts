import { afterEach, describe, expect, test } from 'bun:test'

import type { SpotTick } from '#src/domain/spot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { aSnapshot, conditionIdOf, simulatedSnapshots, START_MS } from '../history/books.ts'
import { addKey } from '../support/harness.ts'
import {
  append,
  closeAll,
  connect,
  isRow,
  type Message,
  putMarket,
  startLiveServer,
} from '../support/live-client.ts'

afterEach(closeAll)

const put = (history: MarketHistory) => putMarket(history)

describe('GET /v1/stream', () => {
  test('default: the last rows first, then each as it is written, as the routes answer it', async () => {
    const { history, url, key, send } = startLiveServer()
    await put(history)
    await append(history, [aSnapshot({}, 10_000)])
    const client = connect(url)
    await client.send({ op: 'auth', key })
    await client.send({ op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' })
    const [, , snapshot] = await client.until(({ type }) => type === 'snapshot')
    await append(history, [aSnapshot({ timestampMs: START_MS + 5 }, 20_000)])
    const [row] = await client.until(isRow)
    const response = await send(`/v1/btc/markets/${conditionIdOf(1)}/snapshots`)
    const { data } = (await response.json()) as { data: unknown[] }
    expect([snapshot?.data, row?.data]).toEqual(data as Message['data'][])
    expect(row).toMatchObject({ id: 'a', channel: 'snapshots', prevSeq: snapshot?.seq, seq: 2 })
  })

  test('behavior: who comes after a market has closed still gets its winner', async () => {
    const { history, url, key, time } = startLiveServer()
    await put(history)
    await append(history, [aSnapshot({}, 10_000)])
    time.nowMs = START_MS + 301_000
    const client = connect(url)
    await client.send({ op: 'auth', key })
    const one = { channel: 'quotes', coin: 'btc', conditionId: conditionIdOf(1) }
    await client.send({ op: 'subscribe', id: 'a', ...one })
    await client.untilType('snapshot')
    await history.putMarket({
      conditionId: conditionIdOf(1),
      coin: 'btc',
      timeframe: '5m',
      source: 'simulated',
      winner: 'up',
      winnerSource: 'simulated',
    })
    time.nowMs += 1000
    const messages = await client.untilType('market_resolved')
    expect(messages.map(({ type }) => type)).toEqual(['market_resolved'])
  })

  test('behavior: a cursor of a route continues live, and one of a row in the route', async () => {
    const { history, url, key, send } = startLiveServer()
    await put(history)
    const all = simulatedSnapshots('stream', 400).map((each) => ({
      ...aSnapshot(),
      bids: each.bids,
      asks: each.asks,
      timestampMs: START_MS + (each.timestampMs % 60_000),
    }))
    await append(history, all.slice(0, 150))
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

  test.each(['snapshots', 'quotes', 'prices'] as const)(
    'behavior: from any cursor of %s, whatever is written meanwhile, no row is missed or repeated',
    async (channel) => {
      const random = createRandom(`from cursor ${channel}`)
      for (let round = 0; round < 3; round++) {
        const { got, data } = await continueFromCursor(random, channel)
        expect(got.map((row) => row.data)).toEqual(data as Message['data'][])
        for (const [index, { prevSeq }] of got.entries())
          expect(prevSeq).toBe(index === 0 ? null : (got[index - 1]?.seq as number))
      }
    },
  )

  test('behavior: `trades` and `spot` are the rows of their routes, cursors work in both', async () => {
    const { history, url, key, send } = startLiveServer()
    await put(history)
    const conditionId = conditionIdOf(1)
    const record = (offsets: readonly number[], price = 500_000) =>
      history.record({
        snapshots: [],
        gaps: [],
        trades: offsets.map((offset, index) => ({
          conditionId,
          trade: { timestampMs: START_MS + offset, price: price + index, outcome: 'up' as const },
        })),
      })
    const ticks = (from: number, count: number): SpotTick[] =>
      Array.from({ length: count }, (_, index) => ({
        coin: 'btc',
        source: 'chainlink',
        windowSeconds: (from + index) % 2 ? 60 : 0,
        // The averages come late.
        timestampMs: START_MS + (from + index) * 1000 - ((from + index) % 2) * 2500,
        price: `64000.${from + index}`,
      }))
    await record([1, 1, 5])
    await history.putSpot(ticks(0, 6))
    const trades = `/v1/btc/markets/${conditionId}/trades`
    const client = connect(url, key)
    const cursorOf = async (path: string) =>
      (await send(`${path}?limit=2`)).headers.get('x-resume-cursor')
    const shared = { op: 'subscribe', coin: 'btc' }
    const from = await cursorOf(trades)
    await client.send({ ...shared, id: 't', channel: 'trades', conditionId, from })
    await client.untilType('live')
    await client.send({ ...shared, id: 's', channel: 'spot', from: await cursorOf('/v1/btc/spot') })
    const caught = (await client.untilType('live')).filter(isRow)
    const listed = async (path: string) =>
      ((await (await send(path)).json()) as { data: Message['data'][] }).data
    expect(caught.map(({ data }) => data)).toEqual((await listed('/v1/btc/spot')).slice(2))
    await record([5, 9], 600_000)
    await history.putSpot(ticks(6, 4))
    const rows: Message[] = []
    while (rows.length < 6) rows.push(...(await client.until(isRow)).filter(isRow))
    const ofTrades = rows.filter(({ id }) => id === 't')
    const ofSpot = rows.filter(({ id }) => id === 's')
    expect(ofTrades.map(({ data }) => data)).toEqual((await listed(trades)).slice(-2))
    expect(ofSpot.map(({ data }) => data?.id)).toEqual(['8', '7', '10', '9'])
    const rest = await listed(`${trades}?cursor=${ofTrades[0]?.cursor}`)
    expect(rest).toEqual([ofTrades[1]?.data])
    expect((await listed(`/v1/btc/spot?cursor=${ofSpot.at(-1)?.cursor}`)).length).toBeLessThan(2)
  })

  test('error: what is wrong is named, and the connection lives', async () => {
    const { url, key, history } = startLiveServer()
    await put(history)
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
    expect(await errorOf('no json')).toMatchObject({
      code: 'invalid_request',
      detail: 'The message is not JSON.',
    })
    expect(await errorOf({ op: 'dance' })).toMatchObject({ code: 'invalid_parameter', param: 'op' })
    expect(await errorOf({ op: 'subscribe', id: 'a', coin: 'btc' })).toMatchObject({
      param: 'channel',
    })
    const subscribe = { op: 'subscribe', id: 'a', channel: 'quotes', coin: 'btc' }
    expect(await errorOf({ ...subscribe, from: 'x' })).toMatchObject({ param: 'from' })
    for (const place of [{ conditionId: conditionIdOf(1) }, { channel: 'spot' }])
      expect(await errorOf({ ...subscribe, ...place, from: 'x' })).toMatchObject({
        code: 'cursor_invalid',
        param: 'from',
      })
    const replay = { ...subscribe, op: 'replay', conditionId: conditionIdOf(1) }
    for (const speed of [0.05, -1, 1001])
      expect((await errorOf({ ...replay, speed }))?.detail).toContain(
        'must be 0, or a number from 0.1 to 1000.',
      )
    expect(await errorOf({ ...subscribe, seconds: 5 })).toMatchObject({ param: 'seconds' })
    expect(await errorOf({ ...subscribe, conditionId: conditionIdOf(9) })).toMatchObject({
      code: 'unknown_market',
      id: 'a',
    })
    const hourly = { conditionId: conditionIdOf(1), timeframe: '1h' }
    for (const asked of [subscribe, { ...replay, speed: 0 }])
      expect(await errorOf({ ...asked, ...hourly })).toMatchObject({ param: 'timeframe' })
    await client.send(subscribe)
    await client.until(({ type }) => type === 'subscribed')
    expect(await errorOf(subscribe)).toMatchObject({ code: 'invalid_parameter', param: 'id' })
    await client.send({ ...subscribe, id: 'm', channel: 'markets' })
    await client.until(({ type }) => type === 'subscribed')
    expect(await errorOf({ op: 'snapshot', id: 'm' })).toMatchObject({ param: 'id', id: 'm' })
  })

  const ofSpot = ['conditionId', 'timeframe', 'outcome', 'depth']
  const ofMarkets = ['outcome', 'depth', 'source', 'window']
  const range = { from: START_MS, to: START_MS + 1, speed: 0 }
  test.each([
    [{ op: 'subscribe', channel: 'spot' }, ofSpot],
    [{ op: 'subscribe', channel: 'markets' }, [...ofMarkets, 'from']],
    [{ op: 'subscribe', channel: 'quotes' }, ['depth', 'source', 'window']],
    [{ op: 'replay', channel: 'spot', ...range }, [...ofSpot, 'with']],
    [{ op: 'replay', channel: 'markets', ...range }, [...ofMarkets, 'cursor']],
    [{ op: 'replay', channel: 'quotes', ...range }, ['depth', 'source', 'window']],
  ])('error: a member that does not fit the channel is named: %o', async (asked, names) => {
    const { url, key, history } = startLiveServer()
    await put(history)
    const client = connect(url, key)
    const values: Record<string, unknown> = {
      conditionId: conditionIdOf(1),
      timeframe: '5m',
      outcome: 'up',
      depth: 5,
      source: 'chainlink',
      window: 60,
      from: 'AQGd',
      cursor: 'AQGd',
      with: 'spot',
    }
    for (const name of names) {
      await client.send({ id: 'a', coin: 'btc', ...asked, [name]: values[name] })
      const refused = (await client.untilType('error')).at(-1)
      expect(refused).toMatchObject({ code: 'invalid_parameter', param: name })
    }
  })

  test('behavior: what is known of a market after it opened comes once', async () => {
    const { url, key, app, history, time } = startLiveServer()
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'm', channel: 'markets', coin: 'btc' })
    await client.untilType('subscribed')
    await putMarket(history)
    time.nowMs += 1000
    expect((await client.untilType('market_open')).at(-1)?.data).toMatchObject({ strike: null })
    const facts = history.findMarket(conditionIdOf(1))
    if (facts === undefined) throw new Error('no market')
    const strike = { strike: '64000.5', strikeSource: 'simulated', strikeMs: START_MS } as const
    const put = async (more: object) => {
      await history.putMarket({ ...facts, ...strike, ...more })
      time.nowMs += 1000
    }
    await put({})
    const update = (await client.untilType('market_update')).at(-1)
    expect(update?.data).toMatchObject({ strike: 64_000.5, status: 'open' })
    time.nowMs += 1000
    app.stream.tick()
    time.nowMs = START_MS + 301_000
    expect((await client.untilType('market_closed')).length).toBe(1)
    await put({
      finalPrice: '64001',
      finalPriceSource: 'simulated',
      finalPriceMs: START_MS + 300_000,
    })
    const final = (await client.untilType('market_update')).at(-1)
    expect(final?.data).toMatchObject({ finalPrice: 64_001, status: 'closed' })
    await put({ winner: 'up', winnerSource: 'simulated' })
    expect((await client.untilType('market_resolved')).length).toBe(1)
  })

  test('behavior: a snapshot of what has no row yet is answered, and then comes', async () => {
    const { url, key, history, time } = startLiveServer()
    const client = connect(url, key)
    const names = ['quotes', 'spot'] as const
    for (const channel of names)
      await client.send({ op: 'subscribe', id: channel, channel, coin: 'btc' })
    const answerOf = async (id: string) => {
      await client.send({ op: 'snapshot', id })
      return (await client.until((each) => each.type.startsWith('snapshot') && each.id === id)).at(
        -1,
      )
    }
    // Without a market, and with one that has no row.
    for (const id of names) expect(await answerOf(id)).toEqual({ type: 'snapshot_empty', id })
    await putMarket(history)
    time.nowMs += 1000
    await client.untilType('market_open')
    expect(await answerOf('quotes')).toEqual({ type: 'snapshot_empty', id: 'quotes' })
    await append(history, [aSnapshot()])
    await client.until(isRow)
    expect(await answerOf('quotes')).toMatchObject({ type: 'snapshot', data: { id: '1' } })
  })

  test('error: a tier without the route or coin learns which has it; a bad key is closed with 4001', async () => {
    const { url, ledger } = startLiveServer()
    const client = connect(url, addKey(ledger, 'free'))
    await client.send({ op: 'subscribe', id: 'a', channel: 'snapshots', coin: 'btc' })
    const error = (await client.until(({ type }) => type === 'error')).at(-1)
    expect(error).toMatchObject({ code: 'tier_route', requiredTier: 'starter' })
    const other = connect(url)
    await other.send({ op: 'auth', key: 'bf_live_wrong' })
    expect((await other.closed).code).toBe(4001)
  })

  test('error: a plain request learns what to connect with', async () => {
    const { send } = startLiveServer()
    const response = await send('/v1/stream')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: 'not_found' })
  })
})

/** Some repeat the best of the one before, so that they are no row of every channel. */
const statesOf = (random: Random, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const bids = { prices: [400_000 + random.integer(3) * 10_000], sizes: [1_000_000] }
    const outcome = random.integer(2) ? 'up' : 'down'
    const timestampMs = START_MS + index * 7
    return aSnapshot({ outcome, timestampMs, ...(index % 3 ? { bids } : {}) }, 1 + index)
  })

/** What arrives after a cursor while somebody writes, and what the route has after it. */
async function continueFromCursor(random: Random, channel: 'snapshots' | 'quotes' | 'prices') {
  const { history, url, key, send } = startLiveServer()
  await put(history)
  const count = 60 + random.integer(600)
  const all = statesOf(random, count)
  let written = 1 + random.integer(count - 1)
  await append(history, all.slice(0, written))
  const conditionId = conditionIdOf(1)
  const path = `/v1/btc/markets/${conditionId}/${channel}`
  const first = await send(`${path}?limit=${1 + random.integer(written)}`)
  const from = first.headers.get('x-resume-cursor')
  const client = connect(url, key)
  await client.send({ op: 'subscribe', id: 's', channel, coin: 'btc', conditionId, from })
  while (written < count) {
    const more = 1 + random.integer(40)
    await append(history, all.slice(written, written + more))
    written += more
    await Bun.sleep(random.integer(4))
  }
  const page = await send(`${path}?cursor=${from}&limit=1000`)
  const { data } = (await page.json()) as { data: { id: string }[] }
  const got: Message[] = []
  while (got.length < data.length) got.push(...(await client.until(isRow)).filter(isRow))
  await Bun.sleep(20)
  got.push(...client.messages.filter(isRow))
  return { got, data }
}
