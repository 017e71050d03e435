import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import { until } from '../until.ts'
import { generatedPlaybook } from './generated.ts'
import { follow, openMarket, START_MS, startGround, subscription } from './ground.ts'
import { connect, type Message, replay } from './plain-client.ts'
import { recordedPlaybook } from './recorded.ts'
import { startVenue } from './venue.ts'

const recordings = '../shared/data/polymarket'
const isAbsent = !existsSync(recordings)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''
const recorded = (shiftToMs?: number) =>
  recordedPlaybook({
    files: [`${recordings}/snapshots-btc-5m-20260414.jsonl.gz`],
    marketsFile: `${recordings}/markets-btc-5m-tokens.json`,
    marketsMax: 1,
    ...(shiftToMs === undefined ? {} : { shiftToMs }),
  })

const typesOf = (messages: readonly Message[]): string[] =>
  [...new Set(messages.map(({ event_type }) => event_type))].sort()

describe('startVenue', () => {
  test('default: an array of both books, then changes whose hashes match', async () => {
    await using venue = await startGround()
    using client = await follow(venue)
    await until(() => client.texts.length > 300)
    expect(client.texts[0]).toStartWith('[{"market":"0x')
    expect(client.texts[0]).toEndWith('}]\n')
    const messages = client.messages()
    const [up, down] = openMarket(venue).assetIds
    expect(messages.slice(0, 2).map(({ asset_id }) => asset_id)).toEqual([up, down])
    const { wrong, checked } = replay(messages)
    expect(wrong).toEqual([])
    expect(checked).toBeGreaterThan(40)
    expect(typesOf(messages)).toEqual(['book', 'last_trade_price', 'price_change'])
  })

  test('behavior: a client rebuilds the played states, whose books mirror each other', async () => {
    let now = START_MS
    await using venue = await startGround({ clock: () => now })
    const { conditionId } = openMarket(venue)
    using client = await follow(venue)
    await until(() => client.texts.length > 0)
    now += 2000
    // The clock stands still from here on.
    await until(() => (venue.played(conditionId).at(-1)?.atMs ?? 0) > now - 50)
    await until(() => client.texts.length === venue.connections[0]?.sentCount())
    const { books } = replay(client.messages())
    const states = venue.played(conditionId)
    for (const book of books.values()) {
      const state = states.find(({ timestampMs }) => String(timestampMs) === book.timestamp)
      const [up, down] = state?.books ?? []
      const played = up?.assetId === book.asset_id ? up : down
      const print = (levels = played?.bids) => levels?.map(({ text }) => JSON.parse(text))
      expect(print(played?.bids)).toEqual(book.bids)
      expect(print(played?.asks)).toEqual(book.asks)
      const mirrored = (levels = up?.asks) =>
        levels?.map(({ price, size }) => [1_000_000 - price, size])
      expect(mirrored(up?.asks)).toEqual(down?.bids.map(({ price, size }) => [price, size]))
      expect(mirrored(up?.bids)).toEqual(down?.asks.map(({ price, size }) => [price, size]))
    }
    const times = states.map(({ atMs }) => atMs)
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
  })

  test.each(['0.01', '0.001', '0.005', '0.0025'])(
    'behavior: prices are multiples of a tick of %s and hashes match',
    async (tick) => {
      await using venue = await startGround({ ticks: [tick], conditionIdBytes: 31 })
      using client = await follow(venue)
      await until(() => client.texts.length > 100)
      const messages = client.messages()
      expect(messages[0]?.tick_size).toBe(tick)
      expect(messages[0]?.market).toMatch(/^0x[0-9a-f]{62}$/)
      expect(replay(messages)).toMatchObject({ wrong: [] })
      const prices = messages.flatMap(({ price_changes = [] }) => price_changes)
      const steps = prices.map(({ price }) => Number(price) / Number(tick))
      expect(steps.filter((step) => Math.abs(step - Math.round(step)) > 1e-9)).toEqual([])
    },
  )

  test('behavior: a changed tick is announced for both tokens and included in later hashes', async () => {
    const tickChange = { afterSteps: 20, tick: '0.001' }
    let now = START_MS
    await using venue = await startGround({ tickChange, clock: () => now })
    using client = await follow(venue)
    await until(() => client.texts.length > 0)
    // The clock waited for the client, which therefore receives the change.
    now += 20_000
    await until(() => client.texts.length > 400)
    const messages = client.messages()
    const changes = messages.filter(({ event_type }) => event_type === 'tick_size_change')
    expect(changes).toHaveLength(2)
    expect(changes[0]).toMatchObject({ old_tick_size: '0.01', new_tick_size: '0.001' })
    expect(replay(messages).wrong).toEqual([])
  })

  test('behavior: the old schema, on request, has one message per token', async () => {
    await using venue = await startGround({ schema: 'old' })
    using client = await follow(venue)
    await until(() => client.texts.length > 20)
    const change = client.messages().find(({ event_type }) => event_type === 'price_change')
    expect(change?.price_changes).toBeUndefined()
    expect(change?.changes?.[0]).toContainAllKeys(['price', 'side', 'size'])
    expect(change?.hash).toMatch(/^[0-9a-f]{40}$/)
  })

  test('behavior: answers PING and ignores meaningless texts', async () => {
    await using venue = await startGround()
    using client = await connect(venue.marketUrl)
    client.socket.send('PING')
    client.socket.send('hello')
    client.socket.send('PING')
    await until(() => client.texts.length === 2)
    expect(client.texts).toEqual(['PONG', 'PONG'])
    expect(venue.connections[0]?.received).toEqual(['PING', 'hello', 'PING'])
  })

  test('behavior: subscriptions accumulate and never end', async () => {
    await using venue = await startGround({ coins: ['btc', 'eth'] })
    const [btc, eth] = venue.markets().filter(({ startMs }) => startMs === START_MS - 120_000)
    if (btc === undefined || eth === undefined) throw new Error('two open markets')
    using client = await connect(venue.marketUrl, subscription(btc.assetIds))
    client.send({ operation: 'subscribe', assets_ids: eth.assetIds, initial_dump: false })
    client.send({ operation: 'unsubscribe', assets_ids: btc.assetIds })
    client.socket.send('PING')
    await until(() => client.texts.includes('PONG'))
    const before = client.texts.length
    await until(() => client.texts.length > before + 50)
    const messages = client.messages()
    const markets = new Set(messages.slice(before).map(({ market }) => market))
    expect([...markets].sort()).toEqual([btc.conditionId, eth.conditionId].sort())
    const books = messages.filter(({ event_type }) => event_type === 'book')
    expect(books.map(({ market }) => market)).toEqual([btc.conditionId, btc.conditionId])
  })

  test('behavior: a connection with more than 500 tokens receives only PONG', async () => {
    await using venue = await startGround()
    using client = await follow(venue)
    await until(() => client.texts.length > 2)
    const others = Array.from({ length: 499 }, (_, index) => String(index))
    client.send({ operation: 'subscribe', assets_ids: others })
    client.socket.send('PING')
    await until(() => client.texts.includes('PONG'))
    const states = () => venue.played(openMarket(venue).conditionId).length
    const before = states()
    await until(() => states() > before + 20)
    expect(client.texts.at(-1)).toBe('PONG')
  })

  test('behavior: announcements are sent to clients that requested them', async () => {
    let now = START_MS
    await using venue = await startGround({ clock: () => now, stepsPerSecond: 1 })
    using client = await follow(venue, { custom_feature_enabled: true })
    await until(() => client.texts.length > 0)
    // The window ends, and another one is listed.
    now += 240_000
    const has = (type: string) => client.messages().some(({ event_type }) => event_type === type)
    await until(() => ['best_bid_ask', 'new_market', 'market_resolved'].every(has))
    const resolved = client.messages().find(({ event_type }) => event_type === 'market_resolved')
    const market = venue.markets().find(({ conditionId }) => conditionId === resolved?.market)
    expect(market?.assetIds[market.winner]).toBe(resolved?.winning_asset_id ?? '')
  })

  test('behavior: the same seed plays the same events', () => {
    const texts = [1, 2].map(() => {
      const playbook = generatedPlaybook({ seed: 'same', startMs: START_MS, coins: ['btc', 'sol'] })
      return JSON.stringify(Array.from({ length: 500 }, () => playbook.next(START_MS + 60_000)))
    })
    expect(texts[0]).toBe(texts[1] ?? '')
  })

  test('behavior: four coins of every timeframe are open at once', async () => {
    const coins = ['btc', 'eth', 'sol', 'xrp']
    const timeframes = ['5m', '15m', '1h', '4h', '1d']
    await using venue = await startGround({ coins, timeframes })
    const open = venue.markets().filter((each) => each.startMs <= START_MS && each.endMs > START_MS)
    expect(open).toHaveLength(20)
    expect(open.map(({ slug }) => slug)).toContainValues([
      'btc-updown-5m-1795341600',
      'eth-updown-15m-1795341600',
      'solana-up-or-down-november-22-2026-5am-et',
      'xrp-updown-4h-1795338000',
      'bitcoin-up-or-down-on-november-22-2026',
    ])
    using client = await connect(
      venue.marketUrl,
      subscription(open.flatMap(({ assetIds }) => assetIds)),
    )
    await until(() => client.texts.length > 200)
    expect(client.messages().filter(({ event_type }) => event_type === 'book')).toHaveLength(40)
    expect(replay(client.messages()).wrong).toEqual([])
  })

  test.skipIf(isAbsent)(
    `behavior: recorded books are sent as changes with their own hashes${reason}`,
    async () => {
      const pace = { by: 'clients' as const, afterTokens: 2 }
      await using venue = await startVenue({ playbook: await recorded(), pace })
      const [market] = venue.markets()
      if (market === undefined) throw new Error('no market')
      expect(market.slug).toBe('btc-updown-5m-1776153600')
      using client = await connect(venue.marketUrl, subscription(market.assetIds))
      const sentCount = () => venue.connections[0]?.sentCount() ?? Number.POSITIVE_INFINITY
      await until(() => venue.isOver() && client.texts.length === sentCount())
      const states = venue.played(market.conditionId)
      expect(states).toHaveLength(3300)
      // As recorded; the second row of the file is the second state.
      expect(states.slice(0, 2).map(({ books }) => books[1].hash)).toEqual([
        '52afcae590bdca530ad679b2f4e164ec8e68bedd',
        '08018cdc4f6839697d223e2bed7e1c8e59af8881',
      ])
      const { wrong, checked } = replay(client.messages())
      expect(wrong).toEqual([])
      expect(checked).toBe(2 * 3299)
    },
  )

  test.skipIf(isAbsent)(
    `behavior: recorded books moved in time have hashes of the new time${reason}`,
    async () => {
      const pace = { by: 'clients' as const, afterTokens: 2 }
      await using venue = await startVenue({ playbook: await recorded(START_MS), pace })
      const [market] = venue.markets()
      expect(market?.slug).toBe('btc-updown-5m-1795341600')
      using client = await connect(venue.marketUrl, subscription(market?.assetIds ?? []))
      await until(() => client.texts.length > 2000)
      expect(replay(client.messages()).wrong).toEqual([])
    },
  )
})

describe('main', () => {
  test('default: prints its addresses and plays', async () => {
    const program = new URL('./main.ts', import.meta.url).pathname
    const child = Bun.spawn([
      process.execPath,
      program,
      '--port',
      '0',
      '--markets',
      'generated',
      '--seconds',
      '1',
      '--coins',
      'btc',
    ])
    const urls = JSON.parse(await new Response(child.stdout).text())
    expect(urls).toContainAllKeys([
      'marketUrl',
      'gammaUrl',
      'clobUrl',
      'cryptoPriceUrl',
      'liveUrl',
      'rtdsUrl',
    ])
    expect(await child.exited).toBe(0)
  })
})
