import { describe, expect, test } from 'bun:test'

import { until } from '../until.ts'
import type { Fault } from './faults.ts'
import { follow, openMarket, START_MS, startGround } from './ground.ts'
import { connect, type Message, replay } from './plain-client.ts'
import { createVenueClock, type Venue } from './venue.ts'

/** The messages received by a client with a fault, and the venue's own record. */
async function suffer(fault: Fault, isEnough: (venue: Venue) => boolean) {
  let clock = () => START_MS
  const script = [{ afterFrames: 1, fault }]
  await using venue = await startGround({ clock: () => clock(), script })
  using client = await follow(venue)
  await until(() => client.texts.length > 0)
  // The clock begins only now, so that every run is the same.
  clock = createVenueClock(START_MS)
  await until(() => isEnough(venue))
  const sentCount = venue.connections[0]?.sentCount() ?? 0
  await until(() => client.texts.length >= sentCount)
  return {
    messages: client.messages(),
    sent: venue.connections[0]?.frames ?? [],
    replayed: replay(client.messages()),
  }
}

const faulty = (kind: Fault['kind'], count: number) => (venue: Venue) =>
  (venue.connections[0]?.frames ?? []).filter(({ fault }) => fault === kind).length >= count

const isChange = ({ event_type }: Message): boolean => event_type === 'price_change'
const beyond = (frames: number) => (venue: Venue) =>
  (venue.connections[0]?.sentCount() ?? 0) > frames

describe('startVenue with a fault', () => {
  test.each<[Fault, number]>([
    [{ kind: 'drop', hasCloseFrame: true }, 1001],
    [{ kind: 'drop', hasCloseFrame: false }, 1006],
  ])('behavior: %j ends every connection after so many messages', async (fault, code) => {
    await using venue = await startGround({ script: [{ afterFrames: 20, fault }] })
    for (const _ of [1, 2]) {
      using client = await follow(venue)
      await until(() => client.closes.length > 0)
      expect([client.texts.length, client.closes]).toEqual([20, [code]])
    }
    expect(venue.connections.map((each) => each.isOpen())).toEqual([false, false])
  })

  test('behavior: a script sets the moment and the connection of a fault', async () => {
    const fault: Fault = { kind: 'drop', hasCloseFrame: true }
    let now = START_MS
    const script = [{ atMs: 300, connection: 1, fault }]
    await using venue = await startGround({ clock: () => now, script })
    using first = await follow(venue)
    using second = await follow(venue)
    now += 300
    await until(() => second.closes.length > 0)
    expect(first.closes).toEqual([])
  })

  test('behavior: a frozen connection answers only PING, and resumes later', async () => {
    await using venue = await startGround()
    using client = await follow(venue)
    await until(() => client.texts.length > 5)
    venue.inject({ kind: 'freeze', forMs: 300 })
    client.socket.send('PING')
    await until(() => client.texts.at(-1) === 'PONG')
    const frozen = client.texts.length
    const states = () => venue.played(openMarket(venue).conditionId)
    const before = states().length
    await until(() => client.texts.length > frozen)
    expect(states().length - before).toBeGreaterThan(10)
  })

  test('behavior: without a book only changes are sent', async () => {
    const fault: Fault = { kind: 'no-book', tokens: 1 }
    await using venue = await startGround({ script: [{ afterFrames: 0, fault }] })
    using client = await follow(venue)
    await until(() => client.texts.length > 20)
    const [up, down] = openMarket(venue).assetIds
    const books = client.messages().filter(({ event_type }) => event_type === 'book')
    expect(books.map(({ asset_id }) => asset_id)).toEqual([up])
    expect(client.texts.at(-1)).toContain(down)
  })

  test('behavior: duplicates are sent and do not change the rebuilt book', async () => {
    const { messages, replayed } = await suffer({ kind: 'duplicate', frames: 5 }, beyond(60))
    const changes = messages.filter(isChange).map((each) => JSON.stringify(each))
    expect(changes.length - new Set(changes).size).toBe(5)
    expect(replayed.wrong).toEqual([])
  })

  test('behavior: a lost message is revealed by the hash of the same token', async () => {
    const { replayed } = await suffer({ kind: 'lose', frames: 3 }, beyond(60))
    expect(replayed.wrong.length).toBeGreaterThan(0)
  })

  test('behavior: reordered changes of a millisecond lead to the true book', async () => {
    const fault: Fault = { kind: 'reorder', batches: 5 }
    const { replayed, sent } = await suffer(fault, faulty('reorder', 10))
    const isHash = (text: string) => /^[0-9a-f]{40}$/.test(text)
    expect(replayed.wrong.filter(isHash)).toEqual([])
    expect(sent.filter((each) => each.fault === 'reorder').length).toBeGreaterThan(9)
  })

  test.each<Fault>([
    { kind: 'corrupt-level', of: 'size', frames: 1 },
    { kind: 'corrupt-level', of: 'price', frames: 1 },
    { kind: 'wrong-hash', batches: 1 },
  ])('behavior: %j is seen by the hash, and named in what was sent', async (fault) => {
    const { replayed, sent } = await suffer(fault, beyond(100))
    expect(replayed.wrong.length).toBeGreaterThan(0)
    expect(sent.filter((each) => each.fault === fault.kind)).not.toEqual([])
  })

  test('behavior: with another recipe no hash matches; afterwards all do', async () => {
    await using venue = await startGround()
    venue.inject({ kind: 'other-recipe' })
    using client = await follow(venue)
    await until(() => client.texts.length > 50)
    // The hashes before the change are in the first message, and correct.
    const { wrong, checked } = replay(client.messages())
    expect(wrong.length).toBeGreaterThan(checked - 3)
    venue.inject({ kind: 'other-recipe' })
    const { conditionId } = openMarket(venue)
    const count = venue.played(conditionId).length
    await until(() => venue.played(conditionId).length > count)
    using later = await follow(venue)
    await until(() => later.texts.length > 50)
    expect(replay(later.messages()).wrong).toEqual([])
  })

  test('behavior: a late trade arrives after the hash that includes it', async () => {
    const fault: Fault = { kind: 'late-trade', trades: 1, byMs: 88 }
    const { messages, replayed, sent } = await suffer(fault, faulty('late-trade', 1))
    const at = messages.findIndex((message, index) => {
      const before = messages[index - 1]
      return message.event_type === 'last_trade_price' && before && isLater(before, message)
    })
    expect(at).toBeGreaterThan(0)
    expect(replayed.wrong.length).toBeGreaterThan(0)
    const late = sent.find((each) => each.fault === 'late-trade')
    expect((late?.sentMs ?? 0) - Number(messages[at]?.timestamp)).toBeGreaterThanOrEqual(88)
  })
  const isLater = (before: Message, { timestamp }: Message) => before.timestamp > timestamp

  test.each<[Fault, RegExp]>([
    [{ kind: 'garbage' }, /"0x$/],
    [{ kind: 'unknown-event' }, /maker_rebate_v9/],
  ])('behavior: %j is one message among the others', async (fault, text) => {
    await using venue = await startGround({ script: [{ afterFrames: 5, fault }] })
    using client = await follow(venue)
    await until(() => client.texts.length > 50)
    expect(client.texts.filter((each) => text.test(each))).toHaveLength(1)
    expect(replay(client.messages()).wrong).toEqual([])
  })

  test('behavior: a dripping message arrives whole, followed by later ones', async () => {
    const fault: Fault = { kind: 'slow-drip', bytes: 100, everyMs: 10 }
    await using venue = await startGround({ script: [{ afterFrames: 5, fault }] })
    using client = await follow(venue)
    await until(() => client.texts.length > 200)
    expect(replay(client.messages()).wrong).toEqual([])
    const sent = venue.connections[0]?.frames.map(({ text }) => text) ?? []
    expect(client.texts.every((text, index) => text === sent[index])).toBe(true)
  })

  test('behavior: a line that stops within a batch resumes without loss', async () => {
    const fault: Fault = { kind: 'hold', batches: 1, forMs: 300 }
    const { messages, replayed, sent } = await suffer(fault, beyond(200))
    expect(replayed.wrong).toEqual([])
    const at = sent.findIndex((each) => each.fault === 'hold')
    expect((sent[at]?.sentMs ?? 0) - (sent[at - 1]?.sentMs ?? 0)).toBeGreaterThanOrEqual(300)
    expect(messages[at]?.timestamp).toBe(messages[at - 1]?.timestamp)
  })

  test('behavior: after a jump of the clock, timestamps and hashes use the new time', async () => {
    await using venue = await startGround({
      script: [{ afterFrames: 30, fault: { kind: 'clock-jump', byMs: -4000 } }],
    })
    using client = await follow(venue)
    await until(() => client.texts.length > 100)
    const messages = client.messages()
    const times = messages.map(({ timestamp }) => Number(timestamp))
    expect(times.some((time, index) => time < (times[index - 1] ?? 0) - 3000)).toBe(true)
    expect(replay(messages).wrong).toEqual([])
  })

  test('behavior: refuses for a while, then accepts', async () => {
    let now = START_MS
    await using venue = await startGround({ clock: () => now })
    venue.inject({ kind: 'refuse', forMs: 300 })
    using refused = await follow(venue).catch(() => undefined)
    expect(refused?.socket.readyState ?? WebSocket.CLOSED).toBe(WebSocket.CLOSED)
    now += 300
    using client = await follow(venue)
    await until(() => client.texts.length > 0)
  })

  test('behavior: an accepted connection without an upgrade never completes its handshake', async () => {
    await using venue = await startGround()
    venue.inject({ kind: 'no-upgrade', connections: 1 })
    const waiting = new WebSocket(venue.marketUrl)
    await until(() => waiting.readyState === WebSocket.CONNECTING)
    using client = await connect(venue.marketUrl)
    client.socket.send('PING')
    await until(() => client.texts.length > 0)
    expect([waiting.readyState, venue.connections.length]).toEqual([WebSocket.CONNECTING, 1])
    waiting.close()
  })
})
