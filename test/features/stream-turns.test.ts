import { afterEach, describe, expect, test } from 'bun:test'

import { addKey } from '../support/harness.ts'
import { closeAll, putMarket, startLiveServer } from '../support/live-client.ts'
import { openStuck } from '../support/stuck-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const subscribe = { op: 'subscribe', channel: 'snapshots', coin: 'btc' }

async function start() {
  const server = startLiveServer()
  for (let number = 1; number <= 4; number++) await putMarket(server.history, number)
  return { ...server, key: addKey(server.ledger, 'enterprise') }
}

describe('operations on GET /v1/stream', () => {
  test('behavior: a burst of them keeps nobody waiting, and each connection has its order', async () => {
    const server = await start()
    const clients = Array.from({ length: 15 }, () => openStuck(server))
    const doneOf = ({ sent }: (typeof clients)[number]) =>
      sent.flatMap(({ type, id }) => (type === 'subscribed' ? [Number(id)] : []))
    const done = () => clients.reduce((total, client) => total + doneOf(client).length, 0)
    const ids = Array.from({ length: 48 }, (_, id) => id)
    for (const id of ids) for (const client of clients) client.ask({ ...subscribe, id: `${id}` })
    // All came in one round of the event loop.
    expect(done()).toBeLessThan(360)
    let mostAtOnce = 0
    for (let before = done(); before < 720; before = done()) {
      await new Promise(setImmediate)
      mostAtOnce = Math.max(mostAtOnce, done() - before)
    }
    expect(mostAtOnce).toBeLessThan(360)
    for (const client of clients) expect(doneOf(client)).toEqual(ids)
  })

  test('behavior: no more wait than are done in a second; one beyond is refused at once', async () => {
    const server = await start()
    const client = openStuck(server)
    for (let id = 0; id < 3000 && !client.isOver(); id++) {
      if (id % 10 === 0) server.advance(1000)
      client.ask({ ...subscribe, id: `${id}` })
    }
    expect(client.sent.at(-1)).toMatchObject({
      type: 'error',
      code: 'rate_limited',
      id: expect.any(String),
    })
    client.take()
    expect(client.state.code).toBe(4002)
  })

  test('behavior: what waits of a connection that ends is not done', async () => {
    const server = await start()
    const client = openStuck(server)
    const other = openStuck(server)
    for (let id = 0; id < 45; id++) client.ask({ ...subscribe, id: `${id}` })
    client.close()
    const done = client.sent.length
    other.ask({ ...subscribe, id: 'a' })
    await until(() => other.sent.some(({ type }) => type === 'subscribed'))
    expect(client.sent).toHaveLength(done)
  })
})
