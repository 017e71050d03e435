/** Live rows and replays of the TypeScript client, over connections that are cut. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'

import { Bookfeed, type Message } from '../../clients/typescript/src/bookfeed.ts'
import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { closeAll, putMarket, startLiveServer } from '../support/live-client.ts'

setDefaultTimeout(60_000)

type Proxy = Awaited<ReturnType<typeof startCuttingProxy>>
const proxies: Proxy[] = []
const timers: Timer[] = []
afterEach(() => {
  for (const timer of timers.splice(0)) clearInterval(timer)
  for (const proxy of proxies.splice(0)) proxy.stop()
  closeAll()
})

async function start(options: Parameters<typeof startLiveServer>[0] = {}) {
  const server = startLiveServer(options)
  const proxy = await startCuttingProxy(Number(server.port))
  proxies.push(proxy)
  const { history, time } = server
  timers.push(
    setInterval(() => (time.nowMs += 10), 10),
    setInterval(server.app.tick, 2),
  )
  let written = 0
  /** Writes another state of a market, a millisecond after the one before. */
  const write = (market = 1, count = 1) => {
    for (let row = 0; row < count; row++) {
      written++
      const change = {
        conditionId: conditionIdOf(market),
        outcome: written % 2 === 0 ? 'down' : 'up',
        timestampMs: START_MS + 60_000 + written,
      } as const
      appendAll(history, [aSnapshot(change, written * 10_000)])
    }
  }
  /** After the end of its window. */
  const resolve = (market = 1) => {
    time.nowMs = Math.max(time.nowMs, START_MS + 301_000)
    history.putMarket({
      conditionId: conditionIdOf(market),
      coin: 'btc',
      timeframe: '5m',
      source: 'simulated',
      winner: 'up',
      winnerSource: 'simulated',
    })
  }
  const bookfeed = new Bookfeed({ server: proxy.origin, key: server.key })
  return { ...server, proxy, bookfeed, write, resolve }
}

type RowMessage = Extract<Message, { conditionId: string; data: unknown }>
const isRow = (message: Message): message is RowMessage =>
  message.type === 'row' || message.type === 'snapshot'
/** A writer waits for the first snapshots, and ends at 200 rows. */
const isDue = (count: number) => count >= 2 && count < 200
const idOf = ({ data }: RowMessage) => Number('id' in data ? data.id : Number.NaN)

describe('replay', () => {
  test('default: its range is a date, a day, Unix time or RFC 3339', async () => {
    const { history, bookfeed, write } = await start()
    putMarket(history)
    write(1, 4)
    const day = new Date(START_MS).toISOString().slice(0, 10)
    const fromMs = Date.parse(day)
    for (const from of [fromMs, new Date(fromMs), day, `${day}T00:00:00Z`]) {
      let rows = 0
      const to = new Date(fromMs + 2 * 86_400_000)
      const query = { channel: 'snapshots', coin: 'btc', from, to } as const
      for await (const message of bookfeed.replay(query)) if (isRow(message)) rows++
      expect([from, rows]).toEqual([from, 4])
    }
  })
})

describe('live', () => {
  for (const transport of ['websocket', 'sse'] as const) {
    for (const channel of ['snapshots', 'quotes'] as const) {
      test(`default: ${channel} of a market over ${transport}, cut in the middle, each once`, async () => {
        const { history, bookfeed, proxy, write, resolve } = await start()
        putMarket(history)
        write(1, 4)
        // In the handshake, in a snapshot, and among rows.
        proxy.allow(50, 900, 6000, 12_000)
        const query = { channel, coin: 'btc', conditionId: conditionIdOf(1), transport }
        const places = {}
        const ids: number[] = []
        const others: string[] = []
        const steps = (message: Message) => {
          if (!isRow(message)) others.push(message.type)
          else if (ids.push(idOf(message)) === 200) resolve()
          if (isDue(ids.length)) write()
        }
        for await (const message of bookfeed.live({ ...query, places })) steps(message)
        const first = Math.min(ids[0] ?? 0, ids[1] ?? 0)
        expect([...ids].sort((a, b) => a - b)).toEqual(ids.map((_, index) => first + index))
        expect(ids.slice(2)).toEqual(ids.slice(2).sort((a, b) => a - b))
        expect(ids).toHaveLength(200)
        expect(others.at(-1)).toBe('market_resolved')
        expect(new Set(others).size).toBe(others.length)
        expect(places).toEqual({})
        expect(proxy.connections).toBeGreaterThanOrEqual(4)
      })
    }
  }

  const transports = ['websocket', 'sse'] as const
  test.each(transports)(
    'default: a coin over %s, while markets open and are resolved during a break',
    async (transport) => {
      const { history, bookfeed, proxy, write, resolve } = await start()
      for (const market of [1, 2]) putMarket(history, market)
      for (const market of [1, 2]) write(market, 4)
      const rows = new Map<string, number[]>()
      const others: string[] = []
      const count = () => [...rows.values()].flat().length
      const has = (event: string) => others.includes(event)
      const hear = (message: Message) => {
        if (isRow(message)) {
          const { conditionId } = message
          rows.set(conditionId, [...(rows.get(conditionId) ?? []), idOf(message)])
        } else if ('data' in message && !('channel' in message))
          others.push(`${message.type} ${message.data.conditionId.at(-1)}`)
      }
      const goAway = () => {
        proxy.refuse(true)
        for (const market of [1, 2]) write(market, 5)
        resolve(2)
        putMarket(history, 3, 200_000)
        write(3, 7)
        setTimeout(() => proxy.refuse(false), 300)
      }
      const end = () => {
        write(3)
        resolve(1)
      }
      const steps = [
        {
          isDue: () => count() === 4,
          act: () => [1, 2].forEach((market) => void write(market, 10)),
        },
        { isDue: () => count() === 24, act: goAway },
        { isDue: () => count() === 41 && has('market_resolved 2'), act: end },
      ]
      for await (const message of bookfeed.live({ channel: 'quotes', coin: 'btc', transport })) {
        hear(message)
        if (steps[0]?.isDue()) steps.shift()?.act()
        if (has('market_resolved 1') && count() === 42) break
      }
      const counts = [1, 2, 3].map((market) => rows.get(conditionIdOf(market))?.length)
      expect(counts).toEqual([17, 17, 8])
      for (const ids of rows.values()) expect(new Set(ids).size).toBe(ids.length)
      expect(others.filter((each) => each.startsWith('market_resolved'))).toEqual([
        'market_resolved 2',
        'market_resolved 1',
      ])
    },
  )

  test.each(transports)(
    'default: over %s a later run continues where the places of an earlier one are',
    async (transport) => {
      const { history, bookfeed, write } = await start()
      putMarket(history)
      write(1, 2)
      const query = { channel: 'snapshots', coin: 'btc', transport } as const
      const places = {}
      const ids: number[] = []
      /** Takes rows until there are so many in all. */
      const take = async (count: number, more: object) => {
        for await (const message of bookfeed.live({ ...query, ...more })) {
          if (isRow(message) && ids.push(idOf(message)) === 2) write(1, 20)
          if (ids.length === count) return
        }
      }
      await take(9, { places })
      await take(22, { from: JSON.parse(JSON.stringify(places)) })
      expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, i) => i + 1))
    },
  )

  test.each(transports)(
    'behavior: a stream says when it is stale, and current (%s)',
    async (transport) => {
      let sinceMs: number | undefined
      const { history, bookfeed, write } = await start({
        staleSince: (store) => (store === 'history' ? sinceMs : undefined),
      })
      putMarket(history)
      write(1, 2)
      const told: Message[] = []
      const query = { channel: 'quotes', coin: 'btc', transport } as const
      for await (const message of bookfeed.live(query)) {
        if (message.type === 'stale' || message.type === 'current') told.push(message)
        if (message.type === 'current') break
        sinceMs = message.type === 'stale' ? undefined : START_MS
      }
      expect(told).toMatchObject([
        { type: 'stale', since: '2026-04-14T08:00:00.000Z' },
        { type: 'current', time: expect.any(String) },
      ])
    },
  )

  test('behavior: without a WebSocket a coin comes over server-sent events', async () => {
    const { history, proxy, key, write } = await start()
    putMarket(history)
    write(1, 2)
    const real = globalThis.WebSocket
    try {
      // As in Node 20.
      Reflect.deleteProperty(globalThis, 'WebSocket')
      const bookfeed = new Bookfeed({ server: proxy.origin, key })
      const places = {}
      for await (const message of bookfeed.live({ channel: 'quotes', coin: 'btc', places }))
        if (message.type === 'snapshot' && message.cursor) break
      expect(Object.keys(places)).toEqual(['btc'])
      const replay = bookfeed.replay({ channel: 'quotes', coin: 'btc', from: 0 })
      expect(replay.next()).rejects.toMatchObject({
        code: 'no_websocket',
        message: expect.stringContaining('Node 22'),
      })
    } finally {
      globalThis.WebSocket = real
    }
  })

  test('error: places of the other transport are refused, with the reason', async () => {
    const { bookfeed } = await start()
    const query = { channel: 'quotes', coin: 'btc' } as const
    const ofMarkets = { [conditionIdOf(1)]: 'AQ' }
    expect(() => bookfeed.live({ ...query, transport: 'sse', from: ofMarkets })).toThrow(
      'these are of a WebSocket',
    )
    expect(() => bookfeed.live({ ...query, transport: 'websocket', from: { btc: 'AQ' } })).toThrow(
      'of server-sent events',
    )
  })

  test('behavior: a reader who is too slow is cut off, and still gets every row', async () => {
    const { history, bookfeed, write } = await start()
    putMarket(history)
    write(1, 2)
    const ids: number[] = []
    const query = { channel: 'quotes', coin: 'btc', conditionId: conditionIdOf(1) } as const
    for await (const message of bookfeed.live(query)) {
      if (isRow(message) && ids.push(idOf(message)) === 2) {
        write(1, 6000)
        await Bun.sleep(500)
      }
      if (ids.length === 6002) break
    }
    expect(new Set(ids).size).toBe(6002)
  })

  test('error: a refused subscription, a wrong key and an abort end it', async () => {
    const { bookfeed, proxy, history } = await start()
    putMarket(history)
    const wrong = new Bookfeed({ server: proxy.origin, key: 'bf_live_wrong' })
    const query = { channel: 'quotes', coin: 'btc' } as const
    const next = (stream: AsyncGenerator<Message>) => stream.next()
    expect(next(bookfeed.live({ ...query, coin: 'nocoin' }))).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'coin',
    })
    expect(next(bookfeed.live({ ...query, conditionId: '0x00' }))).rejects.toMatchObject({
      code: 'invalid_parameter',
    })
    expect(next(wrong.live(query))).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(
      next(wrong.live({ ...query, conditionId: conditionIdOf(1), transport: 'sse' })),
    ).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(next(wrong.live({ ...query, transport: 'sse' }))).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    for (const channel of ['spot', 'markets'] as const)
      expect(next(bookfeed.live({ ...query, channel, transport: 'sse' }))).rejects.toMatchObject({
        code: 'no_websocket',
        message: expect.stringContaining('npm install ws'),
      })
    const signal = AbortSignal.timeout(200)
    await expect(next(bookfeed.live({ ...query, signal }))).rejects.toThrow('timed out')
  })
})

describe('replay', () => {
  async function record() {
    const { history, write, ...rest } = await start()
    for (const market of [1, 2, 3]) putMarket(history, market, (market - 1) * 1000)
    for (let round = 0; round < 200; round++) for (const market of [1, 2, 3]) write(market)
    return { history, write, ...rest }
  }
  const read = async (stream: AsyncIterable<Message>) => {
    const messages: string[] = []
    for await (const message of stream) {
      const { id, prevSeq, ...rest } = message as Record<string, unknown>
      messages.push(JSON.stringify(rest))
    }
    return messages
  }

  test.each([{}, { conditionId: conditionIdOf(2) }])(
    'default: cut in the middle it is the same as whole: %j',
    async (which) => {
      const { bookfeed, proxy } = await record()
      const range = { from: START_MS, to: START_MS + 3_600_000 }
      const query = { channel: 'quotes', coin: 'btc', ...range, ...which } as const
      const whole = await read(bookfeed.replay(query))
      expect(whole.length).toBeGreaterThan('conditionId' in which ? 200 : 600)
      const before = proxy.connections
      proxy.allow(100, 700, 20_000, 50_000)
      expect(await read(bookfeed.replay(query))).toEqual(whole)
      expect(proxy.connections - before).toBe(5)
    },
  )

  test('behavior: it stands still while nobody takes it', async () => {
    const { history, bookfeed, write, proxy } = await start()
    putMarket(history)
    write(1, 9000)
    let count = 0
    const query = { channel: 'quotes', coin: 'btc', conditionId: conditionIdOf(1) } as const
    for await (const message of bookfeed.replay(query)) {
      if (isRow(message) && ++count === 10) await Bun.sleep(700)
    }
    expect([count, proxy.connections]).toEqual([9000, 1])
  })
})
