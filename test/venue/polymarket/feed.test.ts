import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'

import fc from 'fast-check'

import { feed } from '#src/venue/polymarket/feed.ts'

const recordings = '../shared/data/polymarket'
const isAbsent = !existsSync(recordings)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''

const MARKET = `0x${'2079b3cb'.repeat(8)}`
const UP = '58575638925756538882'
const DOWN = '11457222089175653'
const HASH = 'f9323be2c8eac2a10062e65670ff1da927b6f63b'
const TIME = '1789987926108'

const aBook = (changes: object = {}) => ({
  market: MARKET,
  asset_id: UP,
  timestamp: TIME,
  hash: HASH,
  bids: [
    { price: '0.01', size: '1694.43' },
    { price: '0.86', size: '20' },
  ],
  asks: [
    { price: '0.99', size: '7' },
    { price: '0.9', size: '1.5' },
    { price: '0.87', size: '662' },
  ],
  tick_size: '0.01',
  event_type: 'book',
  last_trade_price: '0.850',
  ...changes,
})

const aChange = (changes: object = {}) => ({
  asset_id: UP,
  price: '0.83',
  size: '662',
  side: 'BUY',
  hash: HASH,
  best_bid: '0.86',
  best_ask: '0.87',
  ...changes,
})

const changesOf = (...changes: object[]) => ({
  market: MARKET,
  price_changes: changes,
  timestamp: TIME,
  event_type: 'price_change',
})

const aTrade = (changes: object = {}) => ({
  event_type: 'last_trade_price',
  market: MARKET,
  asset_id: UP,
  price: '0.850',
  size: '12.5',
  side: 'BUY',
  fee_rate_bps: '0',
  timestamp: TIME,
  ...changes,
})

const decode = (...messages: object[]) =>
  feed.decode(JSON.stringify(messages.length === 1 ? messages[0] : messages))
const ofToken = { conditionId: MARKET, assetId: UP, timestampMs: Number(TIME) }

const aResolved = { event_type: 'market_resolved', market: MARKET, timestamp: TIME }

describe('feed.decode', () => {
  test('default: a book comes with its best levels first', () => {
    expect(decode(aBook())).toEqual([
      {
        kind: 'book',
        ...ofToken,
        bids: { prices: [860_000, 10_000], sizes: [20_000_000, 1_694_430_000] },
        asks: { prices: [870_000, 900_000, 990_000], sizes: [662_000_000, 1_500_000, 7_000_000] },
        hash: HASH,
        tickSize: 10_000,
        lastTradePrice: '0.850',
      },
    ])
  })

  test('behavior: an array holds a message each, and may end with a newline', () => {
    const text = `${JSON.stringify([aBook(), aBook({ asset_id: DOWN })])}\n`
    expect(feed.decode(text)).toMatchObject([{ assetId: UP }, { assetId: DOWN }])
    expect(feed.decode('[]')).toEqual([])
  })

  test('behavior: a book of older form has neither hash, tick nor trade', () => {
    const without = { hash: undefined, tick_size: undefined, last_trade_price: undefined }
    const [book] = decode(aBook(without))
    expect(book).toMatchObject({ kind: 'book', ...ofToken })
    expect(book).toMatchObject(
      Object.fromEntries(['hash', 'tickSize', 'lastTradePrice'].map((name) => [name, undefined])),
    )
    expect(decode(aBook({ hash: '', last_trade_price: '' }))).toMatchObject([
      { hash: undefined, lastTradePrice: '' },
    ])
  })

  test('behavior: levels in another order are sorted, and those of no size are none', () => {
    const bids = [
      { price: '0.5', size: '5' },
      { price: '0.3', size: '3' },
      { price: '0.4', size: '0' },
      { price: '0.2', size: '2' },
    ]
    expect(decode(aBook({ bids, asks: bids }))).toMatchObject([
      {
        bids: { prices: [500_000, 300_000, 200_000], sizes: [5_000_000, 3_000_000, 2_000_000] },
        asks: { prices: [200_000, 300_000, 500_000], sizes: [2_000_000, 3_000_000, 5_000_000] },
      },
    ])
  })

  test('behavior: a change is the same in both schemas', () => {
    const change = { side: 'bids' as const, price: 830_000, size: 662_000_000, hash: HASH }
    const market = { conditionId: MARKET, timestampMs: Number(TIME) }
    expect(decode(changesOf(aChange(), aChange({ asset_id: DOWN, side: 'SELL' })))).toEqual([
      {
        kind: 'changes',
        ...market,
        changes: [
          { assetId: UP, ...change, bestBid: 860_000, bestAsk: 870_000 },
          { assetId: DOWN, ...change, side: 'asks', bestBid: 860_000, bestAsk: 870_000 },
        ],
      },
    ])
    const changes = [{ price: '0.83', side: 'BUY', size: '662' }]
    const old = { asset_id: UP, changes, hash: HASH, market: MARKET, timestamp: TIME }
    expect(decode({ event_type: 'price_change', ...old })).toEqual([
      {
        kind: 'changes',
        ...market,
        changes: [{ assetId: UP, ...change, bestBid: undefined, bestAsk: undefined }],
      },
    ])
    expect(decode(changesOf())).toMatchObject([{ kind: 'changes', changes: [] }])
  })

  test.each(['0', '1', ''])('behavior: a best price of %j is an empty side', (best) => {
    const [event] = decode(changesOf(aChange({ best_bid: best, best_ask: best, size: '0' })))
    expect(event).toMatchObject({ changes: [{ bestBid: 0, bestAsk: 0, size: 0 }] })
  })

  test('behavior: a trade keeps the text of its price', () => {
    expect(decode(aTrade())).toEqual([
      {
        kind: 'trade',
        ...ofToken,
        price: 850_000,
        priceText: '0.850',
        size: 12_500_000,
        side: 'buy',
      },
    ])
    expect(decode(aTrade({ price: '.48', side: 'SELL', size: undefined }))).toMatchObject([
      { price: 480_000, priceText: '.48', size: undefined, side: 'sell' },
    ])
    const hash = `0x${'AB12'.repeat(16)}`
    expect(decode(aTrade({ transaction_hash: hash }))).toMatchObject([
      { transactionHash: hash.toLowerCase() },
    ])
    // A trade whose transaction cannot be read is one without it.
    for (const transaction of ['', null, '0x12', 7])
      expect(decode(aTrade({ transaction_hash: transaction }))).toMatchObject([
        { kind: 'trade', transactionHash: undefined },
      ])
  })

  test.each<[string, number]>([
    ['0.01', 10_000],
    ['0.001', 1000],
    ['0.005', 5000],
    ['0.0025', 2500],
  ])('behavior: reads a tick of %s', (text, tickSize) => {
    const change = { market: MARKET, asset_id: UP, timestamp: TIME, old_tick_size: '0.01' }
    const message = { event_type: 'tick_size_change', ...change, new_tick_size: text }
    expect(decode(message)).toEqual([{ kind: 'tick', ...ofToken, tickSize }])
    expect(decode(aBook({ tick_size: text }))).toMatchObject([{ tickSize }])
  })

  test('behavior: reads best prices and what becomes of markets', () => {
    const token = { market: MARKET, asset_id: UP, timestamp: TIME }
    const best = { event_type: 'best_bid_ask', ...token, best_bid: '0.5', best_ask: '1' }
    const open = { event_type: 'new_market', slug: 'sol-updown-15m-1777516200', market: MARKET }
    const resolved = { event_type: 'market_resolved', ...token, winning_asset_id: DOWN }
    const conditionId = MARKET
    expect(decode(best, open, resolved)).toEqual([
      { kind: 'best', ...ofToken, bestBid: 500_000, bestAsk: 0 },
      { kind: 'announced', slug: 'sol-updown-15m-1777516200' },
      { kind: 'resolved', conditionId, winningAssetId: DOWN },
    ])
  })

  test.each([
    ['aB'.repeat(32), 'ab'.repeat(32)],
    // The second protocol's ids of 31 bytes, as they are and padded.
    ['aB'.repeat(31), `${'ab'.repeat(31)}00`],
    [`${'aB'.repeat(31)}00`, `${'ab'.repeat(31)}00`],
  ])('behavior: a condition id of %s is 0x%s', (digits, kept) => {
    expect(decode(aBook({ market: `0x${digits}` }))).toMatchObject([
      { kind: 'book', conditionId: `0x${kept}` },
    ])
  })

  test('behavior: the answer to a ping says nothing', () => expect(feed.decode('PONG')).toEqual([]))

  test('behavior: a type that is not known is passed on', () => {
    expect(decode({ event_type: 'fee_change' })).toEqual([{ kind: 'unknown', type: 'fee_change' }])
    expect(decode({ message: 'slow down' })).toEqual([{ kind: 'unknown', type: '' }])
    expect(decode({ event_type: 'constructor' })).toMatchObject([{ kind: 'unknown' }])
  })

  test.each(['', 'PIN', '{"event_type":"book"', 'null', '7', '"book"', '[1]', '\u0000'])(
    'error: %j is a fault',
    (text) => expect(feed.decode(text)).toMatchObject([{ kind: 'fault' }]),
  )

  const twice = [aBook().bids[0], aBook().bids[1], aBook().bids[0]]
  test.each<[string, object]>([
    ['a price of 1', aBook({ bids: [{ price: '1', size: '5' }] })],
    ['a price of 0', aBook({ asks: [{ price: '0', size: '5' }] })],
    ['a negative size', aBook({ asks: [{ price: '0.5', size: '-5' }] })],
    ['a price twice', aBook({ bids: twice })],
    ['no asks', aBook({ asks: undefined })],
    ['a number for a text', aBook({ bids: [{ price: 0.5, size: '5' }] })],
    ['a time in seconds', aBook({ timestamp: '1789987926' })],
    ['a token that is none', aBook({ asset_id: '0xff' })],
    ['an unreadable side', changesOf(aChange({ side: 'HOLD' }))],
    ['an unreadable best price', changesOf(aChange({ best_bid: '2' }))],
    ['no changes', { ...changesOf(), price_changes: undefined }],
    ['a change that is none', changesOf([])],
  ])('error: a message with %s is a fault of the books of its market', (_, message) => {
    expect(decode(message)).toEqual([
      { kind: 'fault', reason: expect.any(String), conditionId: MARKET, isOfBook: true },
    ])
  })

  test.each<[string, object]>([
    ['a trade at 1', aTrade({ price: '1' })],
    ['a trade of no side', aTrade({ side: 'HOLD' })],
    ['a trade of a size that is none', aTrade({ size: 'some' })],
    ['a trade without a time', aTrade({ timestamp: undefined })],
    ['a winner that is no token', { ...aResolved, winning_asset_id: 'up' }],
  ])('error: %s is a fault, and says nothing of a book', (_, message) => {
    expect(decode(message)).toMatchObject([{ kind: 'fault', conditionId: MARKET, isOfBook: false }])
  })

  test('behavior: members that may be absent may be empty, null or not there', () => {
    for (const absent of ['', null, undefined]) {
      expect(decode(aTrade({ size: absent, side: absent }))).toMatchObject([
        { kind: 'trade', size: undefined, side: undefined },
      ])
      expect(decode({ ...aResolved, winning_asset_id: absent })).toEqual([
        { kind: 'resolved', conditionId: MARKET, winningAssetId: undefined },
      ])
      expect(decode({ event_type: 'new_market', slug: absent })).toEqual([
        { kind: 'announced', slug: undefined },
      ])
      expect(decode(aBook({ hash: absent, tick_size: absent }))).toMatchObject([
        { kind: 'book', hash: undefined, tickSize: undefined },
      ])
    }
  })

  test.each(['buy', 'Buy', 'BUY'])('behavior: a side may be written %s', (side) => {
    expect(decode(aTrade({ side }))).toMatchObject([{ side: 'buy' }])
    expect(decode(changesOf(aChange({ side })))).toMatchObject([{ changes: [{ side: 'bids' }] }])
  })

  test('behavior: a hash of another form proves nothing, and the levels are read', () => {
    expect(decode(aBook({ hash: 'ab' }))).toMatchObject([{ kind: 'book', hash: undefined }])
    expect(decode(aBook({ hash: 'AB'.repeat(20) }))).toMatchObject([{ hash: 'ab'.repeat(20) }])
  })

  test('error: a fault leaves the other messages of its frame', () => {
    const events = decode(aBook(), aBook({ market: '0x1' }), aTrade())
    expect(events.map(({ kind }) => kind)).toEqual(['book', 'fault', 'trade'])
  })

  test('fuzz: never throws, whatever comes', () => {
    const sound = [aBook(), changesOf(aChange()), aTrade()]
    const members = ['market', 'asset_id', 'timestamp', 'bids', 'asks', 'price', 'price_changes']
    const twisted = fc
      .tuple(fc.constantFrom(...sound), fc.constantFrom(...members), fc.jsonValue())
      .map(([message, name, value]) => JSON.stringify({ ...message, [name]: value }))
    const cut = fc
      .tuple(fc.constantFrom(...sound), fc.nat(400))
      .map(([message, length]) => JSON.stringify(message).slice(0, length))
    const anything = fc.oneof(fc.string(), fc.json(), twisted, cut)
    fc.assert(
      fc.property(anything, (text) => Array.isArray(feed.decode(text))),
      { numRuns: 500 },
    )
    expect(feed.decode('['.repeat(100_000))).toMatchObject([{ kind: 'fault' }])
  })

  test.skipIf(isAbsent)(`behavior: reads every recorded book as it is written${reason}`, () => {
    const file = readFileSync(`${recordings}/wire-book-frames-btc-5m.jsonl.gz`)
    const lines = new TextDecoder().decode(Bun.gunzipSync(file)).trimEnd().split('\n')
    expect(lines).toHaveLength(185)
    for (const line of lines) {
      const [book] = feed.decode(line)
      if (book?.kind !== 'book') throw new Error(`not a book: ${line.slice(0, 200)}`)
      const wire = JSON.parse(line)
      expect(book.hash).toBe(wire.hash)
      for (const side of ['bids', 'asks'] as const) {
        const levels = wire[side].toReversed()
        const toNumbers = (name: string) =>
          levels.map((level: Record<string, string>) => Math.round(Number(level[name]) * 1e6))
        expect(book[side]).toEqual({ prices: toNumbers('price'), sizes: toNumbers('size') })
      }
    }
  })
})

describe('subscription', () => {
  test('default: names the tokens and asks for their books', () => {
    expect(JSON.parse(feed.subscription([UP, DOWN], { hasLifecycle: false }))).toEqual({
      assets_ids: [UP, DOWN],
      type: 'market',
      initial_dump: true,
    })
  })

  test('behavior: events of all markets come only where they are asked for', () => {
    expect(JSON.parse(feed.subscription([UP], { hasLifecycle: true }))).toMatchObject({
      custom_feature_enabled: true,
    })
  })
})
