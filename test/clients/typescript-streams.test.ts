/** Live rows and replays of the TypeScript client, over connections that are cut. */
import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { constants, createDeflate } from 'node:zlib'

import { Bookfeed, type Message } from '../../clients/typescript/src/bookfeed.ts'
import { appendAll, aSnapshot, conditionIdOf, START_MS } from '../history/books.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { closeAll, putMarket, startLiveServer } from '../support/live-client.ts'
import { createSilences } from '../support/silences.ts'

setDefaultTimeout(120_000)

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
  const write = async (market = 1, count = 1) => {
    for (let row = 0; row < count; row++) {
      written++
      const change = {
        conditionId: conditionIdOf(market),
        outcome: written % 2 === 0 ? 'down' : 'up',
        timestampMs: START_MS + 60_000 + written,
      } as const
      await appendAll(history, [aSnapshot(change, written * 10_000)])
    }
  }
  /** After the end of its window. */
  const resolve = async (market = 1) => {
    time.nowMs = Math.max(time.nowMs, START_MS + 301_000)
    await history.putMarket({
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
    await putMarket(history)
    await write(1, 4)
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
        await putMarket(history)
        await write(1, 4)
        // In the handshake, in a snapshot, and among rows.
        proxy.allow(50, 900, 6000, 12_000)
        const query = { channel, coin: 'btc', conditionId: conditionIdOf(1), transport }
        const places = {}
        const ids: number[] = []
        const others: string[] = []
        const steps = async (message: Message) => {
          if (!isRow(message)) others.push(message.type)
          else if (ids.push(idOf(message)) === 200) await resolve()
          if (isDue(ids.length)) await write()
        }
        for await (const message of bookfeed.live({ ...query, places })) await steps(message)
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
      for (const market of [1, 2]) await putMarket(history, market)
      for (const market of [1, 2]) await write(market, 4)
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
      const goAway = async () => {
        proxy.refuse(true)
        for (const market of [1, 2]) await write(market, 5)
        await resolve(2)
        await putMarket(history, 3, 200_000)
        await write(3, 7)
        setTimeout(() => proxy.refuse(false), 300)
      }
      const end = async () => {
        await write(3)
        await resolve(1)
      }
      const steps = [
        {
          isDue: () => count() === 4,
          act: () => Promise.all([1, 2].map((market) => write(market, 10))),
        },
        { isDue: () => count() === 24, act: goAway },
        { isDue: () => count() === 41 && has('market_resolved 2'), act: end },
      ]
      for await (const message of bookfeed.live({ channel: 'quotes', coin: 'btc', transport })) {
        hear(message)
        if (steps[0]?.isDue()) await steps.shift()?.act()
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
      await putMarket(history)
      await write(1, 2)
      const query = { channel: 'snapshots', coin: 'btc', transport } as const
      const places = {}
      const ids: number[] = []
      /** Takes rows until there are so many in all. */
      const take = async (count: number, more: object) => {
        for await (const message of bookfeed.live({ ...query, ...more })) {
          if (isRow(message) && ids.push(idOf(message)) === 2) await write(1, 20)
          if (ids.length === count) return
        }
      }
      await take(9, { places })
      await take(22, { from: JSON.parse(JSON.stringify(places)) })
      expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, i) => i + 1))
    },
  )

  test.each(transports)(
    'behavior: what the copy of a server lacks is a gap, which is none once it follows (%s)',
    async (transport) => {
      const { since, silences } = createSilences()
      const { history, bookfeed, write, time } = await start({ silences })
      await putMarket(history)
      await write(1, 2)
      const told: Message[] = []
      const query = { channel: 'quotes', coin: 'btc', transport } as const
      for await (const message of bookfeed.live(query)) {
        if (message.type === 'row' || message.type === 'snapshot') since.copy = time.nowMs
        if (message.type !== 'gap' || message.reason !== 'replica_behind') continue
        told.push(message)
        if (told.length === 4) break
        if (told.length === 2) since.copy = undefined
      }
      const ends = told.map((each) => each.type === 'gap' && (each.to ?? 'open') === each.from)
      expect(ends).toEqual([false, false, true, true])
      expect(told).toMatchObject([{ to: null }, { to: null }, {}, {}])
    },
  )

  test('behavior: without a WebSocket a coin comes over server-sent events', async () => {
    const { history, proxy, key, write } = await start()
    await putMarket(history)
    await write(1, 2)
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
    await putMarket(history)
    await write(1, 2)
    const ids: number[] = []
    const query = { channel: 'quotes', coin: 'btc', conditionId: conditionIdOf(1) } as const
    for await (const message of bookfeed.live(query)) {
      if (isRow(message) && ids.push(idOf(message)) === 2) {
        await write(1, 6000)
        await Bun.sleep(500)
      }
      if (ids.length === 6002) break
    }
    expect(new Set(ids).size).toBe(6002)
  })

  test('error: a refused subscription, a wrong key and an abort end it', async () => {
    const { bookfeed, proxy, history } = await start()
    await putMarket(history)
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
    for (const market of [1, 2, 3]) await putMarket(history, market, (market - 1) * 1000)
    for (let round = 0; round < 200; round++) for (const market of [1, 2, 3]) await write(market)
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
    await putMarket(history)
    await write(1, 9000)
    let count = 0
    const query = { channel: 'quotes', coin: 'btc', conditionId: conditionIdOf(1) } as const
    for await (const message of bookfeed.replay(query)) {
      if (isRow(message) && ++count === 10) await Bun.sleep(700)
    }
    expect([count, proxy.connections]).toEqual([9000, 1])
  })
})

describe('in one zlib stream', () => {
  const encoding = 'zlib-stream'

  test('default: live rows and a replay are those of text, through a cut connection', async () => {
    const { bookfeed, history, proxy, write, resolve } = await start()
    await putMarket(history)
    await write(1, 3)
    const place = { coin: 'btc', conditionId: conditionIdOf(1) } as const
    const one = { ...place, channel: 'snapshots' } as const
    const taken: unknown[] = []
    for await (const message of bookfeed.live({ ...one, encoding })) {
      if (!isRow(message)) continue
      taken.push(message.data)
      if (taken.length === 20) proxy.cut()
      if (taken.length < 40) await write()
      else await resolve()
    }
    const rows: unknown[] = []
    for await (const { data } of bookfeed.snapshots(place).pages()) rows.push(...data)
    expect(taken).toEqual(rows.slice(-taken.length))
    const replayed: unknown[] = []
    for await (const message of bookfeed.replay({ ...one, encoding }))
      if (isRow(message)) replayed.push(message.data)
    expect(replayed).toEqual(rows)
  })

  test('error: a close comes after the messages that are still being inflated', async () => {
    const deflate = createDeflate({ flush: constants.Z_SYNC_FLUSH })
    const resolved = (market: number): Promise<Uint8Array<ArrayBuffer>> =>
      new Promise((resolve) => {
        const data = { conditionId: conditionIdOf(market) }
        deflate.write(`${JSON.stringify({ type: 'market_resolved', id: 'all', data })}\n`, () =>
          resolve(deflate.read()),
        )
      })
    const messages = [await resolved(1), await resolved(2), await resolved(3)]
    let opened = 0
    /** Sends all messages and closes at once, first for a restart, then for good. */
    class ClosingSocket extends EventTarget {
      onopen = () => {}
      onmessage = (_: object) => {}
      onclose = (_: object) => {}
      constructor() {
        super()
        const code = opened++ === 0 ? 1001 : 4001
        setTimeout(() => {
          this.onopen()
          if (code === 1001) for (const { buffer: data } of messages) this.onmessage({ data })
          this.onclose({ code, reason: 'ends' })
        })
      }
      send() {}
      close() {}
    }
    const bookfeed = new Bookfeed({
      server: 'http://localhost',
      WebSocket: ClosingSocket as never,
    })
    const taken: string[] = []
    const follow = async () => {
      for await (const { type } of bookfeed.live({ coin: 'btc', channel: 'markets', encoding }))
        taken.push(type)
    }
    await expect(follow()).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(taken).toEqual(['market_resolved', 'market_resolved', 'market_resolved'])
  })
})
