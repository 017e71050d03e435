import { afterEach, describe, expect, test } from 'bun:test'

import { ENDLESS_MS } from '#src/domain/coverage.ts'

import { conditionIdOf, START_MS } from '../history/books.ts'
import { closeAll, type Message } from '../support/live-client.ts'
import { openStuck, startWriting } from '../support/stuck-client.ts'
import { until } from '../support/until.ts'

afterEach(closeAll)

const conditionId = conditionIdOf(1)
const subscribe = { op: 'subscribe', channel: 'snapshots', coin: 'btc', conditionId }
const seqsOf = (messages: readonly Message[], type = 'row') =>
  messages.filter((message) => message.type === type).map(({ seq }) => seq)
const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

/** A market with so many rows, a client, and where to begin to have all but the first of them. */
async function startHeld(count: number) {
  const server = await startWriting()
  for (let written = 2; written < count; written++) await server.write(written % 2 ? 'down' : 'up')
  const first = await server.send(`/v1/btc/markets/${conditionId}/snapshots?limit=1`)
  const from = first.headers.get('x-resume-cursor')
  const client = openStuck(server)
  const isLive = () => client.sent.some(({ type }) => type === 'live')
  return { ...server, client, from, isLive }
}

describe('catching up on GET /v1/stream', () => {
  test('behavior: goes on live when the only other follower of the same leaves meanwhile', async () => {
    const { client, from, isLive, write } = await startHeld(10)
    client.ask({ ...subscribe, id: 'other' })
    client.ask({ ...subscribe, id: 'a', from })
    client.ask({ op: 'unsubscribe', id: 'other' })
    await until(isLive)
    await write('up')
    await write('down')
    expect(seqsOf(client.sent.filter(({ id }) => id === 'a'))).toEqual(upTo(12, 2))
  })

  test('behavior: a snapshot on request comes after what is held, of which no row is missing', async () => {
    const { client, from, isLive, write } = await startHeld(170)
    client.ask({ ...subscribe, id: 'a', from })
    client.ask({ op: 'snapshot', id: 'a' })
    await until(isLive)
    await write('up')
    expect(seqsOf(client.sent)).toEqual(upTo(171, 2))
    expect(seqsOf(client.sent, 'snapshot')).toEqual([169, 170])
    const types = client.sent.slice(-5).map(({ type }) => type)
    expect(types).toEqual(['row', 'snapshot', 'snapshot', 'live', 'row'])
  })

  test('behavior: goes as fast as it is taken, and leaves nothing out whatever `onSlow` says', async () => {
    const { client, from, isLive, write } = await startHeld(10)
    for (let count = 0; count < 300; count++) await write(count % 2 ? 'up' : 'down', 200)
    client.ask({ ...subscribe, id: 'a', from })
    for (let rounds = 0; !isLive(); rounds++) {
      await Bun.sleep(1)
      expect(client.state.buffered).toBeLessThan(300_000)
      if (rounds % 20 === 0) client.take()
      if (rounds < 5) await write('up')
    }
    const last = Math.max(...seqsOf(client.sent).map(Number))
    expect(last).toBeGreaterThan(310)
    expect(seqsOf(client.sent)).toEqual(upTo(last, 2))
    expect(client.sent.some((message) => 'skipped' in message)).toBe(false)
  })

  test('behavior: gaps after the place come once and in order of time, an open one also when new', async () => {
    const { client, app, history, from, isLive, write, advance } = await startHeld(4)
    const put = (fromMs: number, toMs: number) =>
      history.putGaps(conditionId, [
        { outcome: 'up', reason: 'venue_silent', fromMs: START_MS + fromMs, toMs },
      ])
    await put(0, START_MS + 1)
    await put(2, START_MS + 3)
    await put(3, START_MS + 4)
    await put(5, ENDLESS_MS)
    client.ask({ ...subscribe, id: 'a', from })
    await until(isLive)
    client.ask({ ...subscribe, id: 'b' })
    const toldTo = (id: string) =>
      client.sent
        .filter((message) => message.id === id && message.type !== 'subscribed')
        .map(({ type, seq, from: begun }) => (type === 'gap' ? [type, begun] : [type, seq]))
    const gapAt = (ms: number) => ['gap', new Date(START_MS + ms).toISOString()]
    const ofA: unknown[][] = [['row', 2], gapAt(2), ['row', 3], gapAt(3), ['row', 4], gapAt(5)]
    const ofB: unknown[][] = [['snapshot', 3], ['snapshot', 4], gapAt(5)]
    expect([toldTo('a'), toldTo('b')]).toEqual([[...ofA, ['live', undefined]], ofB])
    advance(1000)
    while (app.stream.tick());
    await put(6, START_MS + 7)
    await write('up')
    advance(1000)
    await until(() => toldTo('b').length === 5)
    expect(toldTo('b')).toEqual([...ofB, ['row', 5], gapAt(6)])
    expect(toldTo('a').slice(ofA.length + 1)).toEqual([['row', 5], gapAt(6)])
  })

  test('behavior: a price of `spot` comes once, whoever else follows it', async () => {
    const { client, history, send, isLive } = await startHeld(2)
    const put = (second: number) =>
      history.putSpot([
        { coin: 'btc', source: 'pyth', windowSeconds: 0, timestampMs: second * 1000, price: '1' },
      ])
    const spot = { op: 'subscribe', channel: 'spot', coin: 'btc' }
    const toldTo = (name: string): unknown[][] =>
      client.sent.flatMap(({ id, type, seq }) => (id === name && seq ? [[type, seq]] : []))
    await put(1)
    client.ask({ ...spot, id: 'other' })
    await until(() => toldTo('other').length === 1)
    const { headers } = await send('/v1/btc/spot')
    await put(2)
    // Not handed on to the other one yet.
    client.ask({ ...spot, id: 'new' })
    client.ask({ ...spot, id: 'a', from: headers.get('x-resume-cursor') })
    await until(isLive)
    await put(3)
    client.ask({ op: 'snapshot', id: 'new' })
    await until(() => toldTo('new').length === 3 && toldTo('other').length === 3)
    const all: unknown[][] = [2, 3].map((seq) => ['row', seq])
    expect(toldTo('other')).toEqual([['snapshot', 1], ...all])
    expect(toldTo('new')).toEqual([
      ['snapshot', 2],
      ['row', 3],
      ['snapshot', 3],
    ])
    expect(toldTo('a')).toEqual(all)
  })
})
