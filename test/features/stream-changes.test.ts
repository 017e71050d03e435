import { afterEach, describe, expect, test } from 'bun:test'

import { conditionIdOf, simulatedSnapshots, START_MS } from '../history/books.ts'
import { followEvents } from '../support/event-client.ts'
import {
  append,
  closeAll,
  connect,
  isRow,
  type Message,
  putMarket,
  startLiveServer,
} from '../support/live-client.ts'
import { rebuild, type Row, stored } from '../support/rebuilt-books.ts'

afterEach(closeAll)

const conditionId = conditionIdOf(1)
const path = `/v1/btc/markets/${conditionId}`
const subscribe = { op: 'subscribe', channel: 'changes', coin: 'btc', conditionId }
const snapshots = simulatedSnapshots('live changes', 120).map((snapshot, index) => ({
  ...snapshot,
  conditionId,
  // Without gaps.
  timestampMs: START_MS + index * 500,
}))

async function start(first: number) {
  const server = startLiveServer()
  await putMarket(server.history)
  await append(server.history, snapshots.slice(0, first))
  const list = async (query = '') => {
    const response = await server.send(`${path}/snapshots?limit=1000&${query}`)
    const { data } = (await response.json()) as { data: Row[] }
    return new Map(data.map((row) => [row.id, stored(row)]))
  }
  return { ...server, list }
}

const rowsOf = (messages: readonly Message[]): Row[] =>
  messages.flatMap(({ data }) => (data === undefined ? [] : [data as Row]))

/** Each rebuilt book is the stored one. */
function expectStored(rows: readonly Row[], held: ReadonlyMap<string, object>): void {
  for (const state of rebuild(rows)) expect(state).toEqual(held.get(state.id) as never)
}

const untilRows = async (client: ReturnType<typeof connect>, count: number) => {
  const found: Message[] = []
  while (found.filter(isRow).length < count) found.push(...(await client.until(isRow)))
  return found
}

describe('changes of GET /v1/stream', () => {
  test('default: begin with whole books, and rebuild each state', async () => {
    const { url, key, history, list } = await start(40)
    const client = connect(url, key)
    await client.send({ ...subscribe, id: 'a' })
    const messages = await client.untilType('snapshot')
    messages.push(...(await client.untilType('snapshot')))
    for (const snapshot of snapshots.slice(40, 60)) await append(history, [snapshot])
    messages.push(...(await untilRows(client, 20)))
    const rows = rowsOf(messages)
    expect(rows.map(({ snapshot }) => snapshot)).toEqual([
      true,
      true,
      ...Array.from({ length: 20 }, () => false),
    ])
    expectStored(rows, await list())
  })

  test('behavior: cursors of rows resume without a whole book, here and in the route', async () => {
    const { url, key, send, history, list } = await start(50)
    const client = connect(url, key)
    await client.send({ ...subscribe, id: 'a' })
    const messages = [
      ...(await client.untilType('snapshot')),
      ...(await client.untilType('snapshot')),
    ]
    await append(history, snapshots.slice(50, 60))
    messages.push(...(await untilRows(client, 10)))
    const { cursor } = messages.at(-1) as { cursor?: string }
    client.socket.close()
    await append(history, snapshots.slice(60, 90))
    const again = connect(url, key)
    await again.send({ ...subscribe, id: 'a', from: cursor })
    const more = await again.untilType('live')
    const rows = [...rowsOf(messages), ...rowsOf(more)]
    expect(rows.filter(({ snapshot }) => snapshot)).toHaveLength(2)
    expectStored(rows, await list())
    const page = await send(`${path}/changes?limit=1000&cursor=${cursor}`)
    expect(((await page.json()) as { data: Row[] }).data).toEqual(rowsOf(more))
  })

  test('behavior: after a late state comes a whole book, so that what follows is exact', async () => {
    const { url, key, history, list } = await start(40)
    const client = connect(url, key)
    await client.send({ ...subscribe, id: 'a' })
    const messages = [
      ...(await client.untilType('snapshot')),
      ...(await client.untilType('snapshot')),
    ]
    const [next, late, ...rest] = snapshots.slice(40, 60)
    const outcomeOf = next?.outcome === 'up' ? 'down' : 'up'
    if (next === undefined || late === undefined) throw new Error('There are states.')
    await append(history, [{ ...next, timestampMs: next.timestampMs + 1 }])
    messages.push(...(await untilRows(client, 1)))
    await append(history, [{ ...late, outcome: outcomeOf, timestampMs: next.timestampMs }])
    await append(
      history,
      rest.map((each) => ({ ...each, timestampMs: each.timestampMs + 2 })),
    )
    messages.push(...(await untilRows(client, rest.length)))
    const rows = rowsOf(messages)
    expectStored(rows, await list())
    expect(
      rows
        .filter(({ snapshot }) => snapshot)
        .map(({ outcome }) => outcome)
        .at(-1),
    ).toBe(outcomeOf)
    expect(rows.filter(({ snapshot }) => snapshot)).toHaveLength(3)
  })

  test('behavior: a replay has the rows of the route after the books before it', async () => {
    const { url, key, list } = await start(120)
    const client = connect(url, key)
    const from = snapshots[30]?.timestampMs
    await client.send({ ...subscribe, op: 'replay', id: 'r', from, speed: 0 })
    const rows = rowsOf(
      (await client.untilType('replay_end')).filter(
        ({ type }) => type !== 'market_open' && type !== 'market_closed',
      ),
    )
    expect(rows.length).toBeGreaterThan(90)
    expectStored(rows, await list())
  })
})

test('behavior: events have the rows of the route', async () => {
  const { app, key, history, list } = await start(40)
  const ticking = setInterval(app.tick, 1)
  const headers = { authorization: `Bearer ${key}` }
  const response = await app.fetch(
    new Request(`http://localhost${path}/live?channel=changes`, { headers }),
  )
  const client = followEvents(response)
  await client.until(() => client.events().length === 2)
  await append(history, snapshots.slice(40, 60))
  await client.until(() => client.rows().length === 20)
  const rows = client.events().map(({ data }) => data as Row)
  expectStored(rows, await list())
  expect(rows.filter(({ snapshot }) => snapshot)).toHaveLength(2)
  clearInterval(ticking)
})
