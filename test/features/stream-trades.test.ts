import { afterEach, describe, expect, test } from 'bun:test'

import type { Outcome } from '#src/domain/market.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { followEvents } from '../support/event-client.ts'
import { closeAll, connect, isRow, putMarket, startLiveServer } from '../support/live-client.ts'

afterEach(closeAll)

const conditionId = conditionIdOf(1)
const path = `/v1/btc/markets/${conditionId}`
const shared = { channel: 'trades', coin: 'btc' }

type Told = [offset: number, outcome?: Outcome]

/** A server with a market, and what records trades of it, each at a price of its own. */
async function start(told: readonly Told[]) {
  const server = startLiveServer()
  await putMarket(server.history)
  let price = 10_000
  const record = (more: readonly Told[]) =>
    server.history.record({
      snapshots: [],
      gaps: [],
      trades: more.map(([offset, outcome]) => {
        price += 10_000
        const trade = { timestampMs: START_MS + offset, price, outcome, size: 1_000_000 }
        return { conditionId, trade }
      }),
    })
  await record(told)
  const list = async (query = '') => {
    const response = await server.send(`${path}/trades?${query}`)
    return ((await response.json()) as { data: Record<string, unknown>[] }).data
  }
  return { ...server, record, list }
}

/** The last of each outcome are not the last of all, and share a millisecond with others. */
const held: Told[] = [[1, 'up'], [7, 'down'], [7, 'down'], [7, 'up'], [9, 'up'], [9, 'up'], [9]]

describe('trades of GET /v1/stream', () => {
  test('default: the last of each outcome come first, and on request', async () => {
    const { url, key, list, record } = await start(held)
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', ...shared })
    const first = [...(await client.untilType('snapshot')), ...(await client.untilType('snapshot'))]
    const trades = await list()
    const snapshots = first.filter(({ type }) => type === 'snapshot')
    expect(snapshots.map(({ data }) => data)).toEqual([trades[3], trades[6]] as never)
    expect(snapshots.map((each) => 'cursor' in each)).toEqual([false, true])
    expect(await list(`cursor=${snapshots[1]?.cursor}`)).toEqual(trades.slice(7))
    await record([[12, 'down']])
    await client.send({ op: 'snapshot', id: 'a' })
    const later = [...(await client.untilType('snapshot')), ...(await client.untilType('snapshot'))]
    const last = (await list()).at(-1)
    expect(later.map(({ type }) => type)).toEqual(['row', 'snapshot', 'snapshot'])
    expect(later.map(({ data }) => data)).toEqual([last, trades[6], last] as never)
    // Of one outcome, and of a replay, those before its beginning.
    await client.send({ op: 'subscribe', id: 'd', ...shared, outcome: 'down' })
    const [, ofDown] = await client.untilType('snapshot')
    expect(ofDown?.data).toEqual(last as never)
    const range = { from: START_MS + 9, to: START_MS + 10 }
    await client.send({ op: 'replay', id: 'r', ...shared, conditionId, ...range, speed: 0 })
    const played = (await client.untilType('replay_end')).filter(({ data }) => data?.price)
    expect(played.map(({ type }) => type)).toEqual(['snapshot', 'snapshot', 'row', 'row', 'row'])
    expect(played.map(({ data }) => data)).toEqual([trades[1], ...trades.slice(3)] as never)
  })

  test('behavior: no two have the same `seq`, and `prevSeq` is that of the one before', async () => {
    const { url, key, history, record } = await start(held)
    await putMarket(history, 2)
    const other = {
      conditionId: conditionIdOf(2),
      trade: { timestampMs: START_MS, price: 9, size: 1 },
    }
    await history.record({ snapshots: [], gaps: [], trades: [other] })
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', ...shared, conditionId })
    const messages = await client.untilType('snapshot')
    messages.push(...(await client.untilType('snapshot')))
    await record([
      [11, 'up'],
      [11, 'down'],
      [12, 'up'],
    ])
    await record([
      [12, 'down'],
      [20, 'up'],
    ])
    while (messages.filter(isRow).length < 5) messages.push(...(await client.until(isRow)))
    const got = messages.filter(({ seq }) => seq !== undefined)
    const seqs = got.map(({ seq }) => seq)
    // The numbers are of the store, where that of the other market is between.
    expect(seqs).toEqual([3, 6, 9, 10, 11, 12, 13])
    expect(got.map(({ prevSeq }) => prevSeq)).toEqual([null, ...seqs.slice(0, -1)] as never)
    const replay = { from: START_MS + 10, to: START_MS + 60_000, speed: 0 }
    await client.send({ op: 'replay', id: 'r', ...shared, conditionId, ...replay })
    const played = (await client.untilType('replay_end')).filter(({ seq }) => seq !== undefined)
    expect(played.map(({ seq, prevSeq }) => [seq, prevSeq])).toEqual(
      got.map(({ seq, prevSeq }) => [seq, prevSeq]),
    )
  })

  test('behavior: trades of one millisecond that are stored one after the other each come once', async () => {
    const { app, key, list, record } = await start([[1, 'up']])
    const headers = { authorization: `Bearer ${key}` }
    const request = new Request(`http://localhost${path}/live?channel=trades`, { headers })
    const client = followEvents(await app.fetch(request))
    // Each comes before the ones of before by its content.
    for (const outcome of ['down', 'up', undefined] as const) {
      await record([outcome === undefined ? [12] : [12, outcome]])
      app.tick()
    }
    await client.until(() => client.rows().length === 3)
    expect(client.rows().map(({ data }) => data.outcome)).toEqual(['down', 'up', null])
    expect((await list()).map(({ outcome }) => outcome)).toEqual(['up', null, 'up', 'down'])
    await client.leave()
  })

  test('behavior: events begin with them too', async () => {
    const { app, key, list, record } = await start(held)
    const headers = { authorization: `Bearer ${key}` }
    const follow = (query = '') =>
      app.fetch(new Request(`http://localhost${path}/live?channel=trades${query}`, { headers }))
    const client = followEvents(await follow())
    await record([[12, 'down']])
    app.tick()
    await client.until(() => client.rows().length === 1)
    const trades = await list()
    expect(client.events().map(({ name }) => name)).toEqual(['snapshot', 'snapshot', 'row'])
    expect(client.events().map(({ data }) => data)).toEqual([3, 6, 7].map((at) => trades[at] ?? {}))
    await client.leave()
  })

  test('default: one that comes after a later one is sent, once and marked, and no other is', async () => {
    const { url, key, app, list, record } = await start([[100, 'up']])
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', ...shared, conditionId })
    await client.untilType('snapshot')
    const headers = { authorization: `Bearer ${key}` }
    const request = (query = '') =>
      app.fetch(new Request(`http://localhost${path}/live?channel=trades${query}`, { headers }))
    const events = followEvents(await request())
    const steps: Told[][] = [
      [[300, 'up']],
      [
        [200, 'down'],
        [400, 'up'],
        [100, 'down'],
      ],
      [[250, 'up']],
      // Too late to be sent.
      [[-40_000, 'up']],
      [[500, 'up']],
    ]
    for (const step of steps) {
      await record(step)
      app.tick()
    }
    const rows: Awaited<ReturnType<typeof client.until>> = []
    while (rows.length < 6) rows.push(...(await client.until(isRow)).filter(isRow))
    const told = rows.map(({ data, late }) => {
      return `${Date.parse(String(data?.timestamp)) - START_MS}${late === true ? ' late' : ''}`
    })
    expect(told).toEqual(['300', '200 late', '100 late', '400', '250 late', '500'])
    expect(rows.map(({ data }) => data).toSorted(byTime)).toEqual(
      (await list()).filter(({ timestamp }) => Date.parse(String(timestamp)) > START_MS).slice(1),
    )
    // A client that continues after a late one gets what follows in order.
    expect(await list(`cursor=${rows[1]?.cursor}`)).toEqual((await list()).slice(-2))
    await events.until(() => events.events().length >= 7)
    expect(events.events().map(({ name }) => name)).toEqual([
      ...(['snapshot', 'row', 'late', 'late', 'row', 'late', 'row'] as const),
    ])
    expect(
      events
        .events()
        .slice(1)
        .map(({ data }) => data),
    ).toEqual(rows.map(({ data }) => data) as never)
    await events.leave()
  })

  test('behavior: a transaction that becomes known later is no late trade', async () => {
    const { url, key, history } = await start([[300, 'up']])
    const client = connect(url, key)
    await client.send({ op: 'subscribe', id: 'a', ...shared, conditionId })
    await client.untilType('snapshot')
    const trade = { timestampMs: START_MS + 200, price: 70_000, outcome: 'up' } as const
    const put = (...trades: object[]) =>
      history.record({
        snapshots: [],
        gaps: [],
        trades: trades.map((more) => ({ conditionId, trade: { ...trade, ...more } })),
      })
    await put({})
    const [first] = (await client.until(isRow)).filter(isRow)
    expect(first).toMatchObject({ late: true, data: { transactionHash: null } })
    await put({ transactionHash: `0x${'a'.repeat(64)}` }, { timestampMs: START_MS + 400 })
    const [next] = (await client.until(isRow)).filter(isRow)
    expect(next?.data?.timestamp).toBe(new Date(START_MS + 400).toISOString())
  })
})

const byTime = (a: unknown, b: unknown): number =>
  String((a as { timestamp: string }).timestamp) < String((b as { timestamp: string }).timestamp)
    ? -1
    : 1
