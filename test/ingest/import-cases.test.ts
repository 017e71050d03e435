/** Recordings as people keep them: small copies of each class, and the cases of ../shared. */
import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import type { MarketHistory } from '#src/history/history.ts'

import { aRecord } from '../support/snapshot-lines.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'
import { aGammaMarket, aToken, conditionId, downId, slug, startMs, upId } from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

const folder = '../shared/cases'
const isAbsent = !existsSync(folder)
const reason = isAbsent ? ' (skipped: ../shared/cases is not here)' : ''

const tokens = JSON.stringify([
  aToken({ assetId: upId, outcome: 'up' }),
  aToken({ assetId: downId, outcome: 'down' }),
])

const aBook = (ms: number, more: object = {}) => ({
  event_type: 'book',
  market: conditionId,
  asset_id: upId,
  timestamp: String(startMs + ms),
  bids: [{ price: '0.49', size: '10' }],
  asks: [{ price: '0.51', size: '12.5' }],
  ...more,
})

const statesIn = (history: MarketHistory, id: string) => {
  const market = history.findMarket(id)
  return market === undefined ? [] : [...snapshotRuns(history, { market })].flat()
}

async function importTexts(...texts: [name: string, text: string | Uint8Array][]) {
  const history = aHistory()
  const files: string[] = []
  for (const [name, text] of texts) files.push(await write(`${crypto.randomUUID()}-${name}`, text))
  const { report, faults } = await run(files, { history })
  return { history, report, faults, reasons: faults.map((fault) => fault.reason), files }
}

const importCases = (names: string[], more: string[] = []) => {
  const history = aHistory()
  const files = [...names.map((name) => `${folder}/${name}`), ...more]
  return run(files, { history, clock: () => Date.UTC(2026, 10, 27) }).then((result) => ({
    ...result,
    history,
  }))
}

describe('importFiles of messages as people keep them', () => {
  const received = startMs + 7
  test.each([
    ['text beside milliseconds', { received_ms: received, raw: JSON.stringify(aBook(0)) }],
    ['object beside seconds', { ts: received / 1000, msg: aBook(0) }],
    ['text beside seconds', { recv_wall_ts: received / 1000, payload: JSON.stringify(aBook(0)) }],
    ['array beside nanoseconds', { recv_ts_ns: `${received}123456`, data: [aBook(0)] }],
    ['microseconds', { local_timestamp: `${received}123`, message: aBook(0) }],
    ['ISO 8601', { received_at: new Date(received).toISOString(), raw: aBook(0) }],
    ['a clock of the machine too', { monotonic_ns: 17, recv_ms: received, raw: aBook(0) }],
    ['in two members', { ts: received, data: { payload: JSON.stringify(aBook(0)) } }],
    ['beside the message itself', { ...aBook(0), recv_ts: received }],
  ])('default: in a member: %s', async (_, line) => {
    const { history, report, reasons } = await importTexts(
      ['kept.jsonl', `${JSON.stringify(line)}\n`],
      ['tokens.json', tokens],
    )
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ accepted: 1, invalid: 0, filesRefused: [] })
    expect(statesIn(history, conditionId)).toMatchObject([
      { timestampMs: startMs, receivedMs: received, outcome: 'up' },
    ])
  })

  test('behavior: prices of the coin are read whatever their first member is', async () => {
    const payload = { symbol: 'btc/usd', timestamp: startMs, value: 71_000.25 }
    const price = { payload, topic: 'crypto_prices_chainlink', type: 'update' }
    const average = {
      v: 1,
      channel: 'price.crypto.twap',
      seq: 2,
      payload: { symbol: 'btcusd', timestamp: startMs, full_accuracy_value: '71000.5' },
    }
    for (const line of [
      { connection_id: 'x', ...price },
      average,
      { ts: received, raw: JSON.stringify(price) },
    ]) {
      const { report, reasons } = await importTexts(['prices', JSON.stringify(line)])
      expect(reasons).toEqual([])
      expect(report).toMatchObject({ prices: { accepted: 1 }, filesRefused: [] })
    }
  })

  test('behavior: an answer to a ping is nothing, and lines of other feeds are counted', async () => {
    const lines = [
      { ts: received, raw: JSON.stringify(aBook(0)) },
      { ts: received, raw: 'PONG' },
      { ts: received, raw: 'connected' },
      { ts: received, raw: { e: 'trade', s: 'BTCUSDT', p: '71000.1' } },
      { ts: received, data: { code: 1000 } },
      { lastUpdateId: 1, bids: [['71000', '1']], asks: [] },
    ]
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const { report, reasons } = await importTexts(['kept.jsonl', text], ['tokens.json', tokens])
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ accepted: 1, invalid: 0, filesRefused: [] })
    expect(Object.fromEntries(report.passedOver)).toEqual({
      'lines of text': 1,
      'messages of other feeds': 2,
      'books without a token': 1,
    })
  })

  const plainLines = [
    'PING',
    'ping',
    '"PING"',
    'null',
    '17',
    '# captured by hand, {"asset_id": "1"}',
    `${received}\tPING`,
    '[INFO] connected',
    '2026-04-13 01:15:09 INFO subscribed to 2 assets [a, b]',
  ]

  test.each(['first', 'last'])(
    'behavior: lines of text are counted, the %s ones too',
    async (at) => {
      const book = JSON.stringify(aBook(0))
      const row = JSON.stringify(aRecord({ assetId: downId }))
      for (const line of [book, row]) {
        const text = (at === 'first' ? [...plainLines, line] : [line, ...plainLines]).join('\n')
        const { report, reasons } = await importTexts(['capture', text], ['tokens.json', tokens])
        expect(reasons).toEqual([])
        expect(report).toMatchObject({ accepted: 1, invalid: 0, filesRefused: [] })
        expect([...report.passedOver]).toEqual([['lines of text', plainLines.length]])
      }
    },
  )

  test('behavior: a table may have comments before its header', async () => {
    const row = `${upId},${startMs},bid,0.5,1`
    const table = `# by hand\n\n# twice\ntoken_id,timestamp,side,price,size\n${row}\n`
    const { report, reasons } = await importTexts(['levels.csv', table], ['tokens.json', tokens])
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ accepted: 1, invalid: 0, filesRefused: [] })
    expect([...report.passedOver]).toEqual([['lines of text', 2]])
  })

  test('error: of lines of text alone nothing is read, and a cut line is no text', async () => {
    const alone = await importTexts(['log.txt', plainLines.join('\n')])
    expect(alone.report).toMatchObject({ accepted: 0, filesRefused: alone.files })
    const book = JSON.stringify(aBook(0))
    const row = JSON.stringify(aRecord({ assetId: downId }))
    for (const whole of [book, row]) {
      const cuts = [whole.slice(0, -9), whole.slice(9), whole.slice(0, 1), '"PIN', whole.slice(-2)]
      const text = [whole, ...cuts].join('\n')
      const { report, faults } = await importTexts(['cut', text], ['tokens.json', tokens])
      expect(faults.map(({ line }) => line)).toEqual(cuts.map((_, index) => index + 2))
      expect(report.invalid).toBe(cuts.length)
    }
  })

  test('error: a message that was cut is named, and so is a capture without messages', async () => {
    const cut = JSON.stringify({ ts: received, raw: JSON.stringify(aBook(0)).slice(0, -9) })
    const { report, faults } = await importTexts(
      ['cut.jsonl', `${JSON.stringify(aBook(0))}\n${cut}`],
      ['tokens.json', tokens],
    )
    expect(report).toMatchObject({ accepted: 1, invalid: 1 })
    expect(faults).toMatchObject([{ line: 2, reason: 'not JSON' }])
    const foreign = `${JSON.stringify({ raw: 'x', what: { asset_id: 1 } })}\n`
    const none = await importTexts(['foreign.jsonl', foreign])
    expect(none.report).toMatchObject({ accepted: 0, filesRefused: none.files })
  })

  test('behavior: messages of an array keep their own times of receipt', async () => {
    const text = JSON.stringify([
      { ...aBook(0), _recv: received },
      { ...aBook(1, { bids: [] }), _recv: received + 5 },
    ])
    const { history, reasons } = await importTexts(['own.jsonl', text], ['tokens.json', tokens])
    expect(reasons).toEqual([])
    expect(statesIn(history, conditionId).map(({ receivedMs }) => receivedMs)).toEqual([
      received,
      received + 5,
    ])
  })

  test('behavior: a time of receipt is never taken for the time of a book', async () => {
    const { timestamp: _, ...timeless } = aBook(0)
    const text = JSON.stringify({ timestamp: received, payload: timeless })
    const { report, reasons } = await importTexts(['timeless.jsonl', text], ['tokens.json', tokens])
    expect(report).toMatchObject({ accepted: 0, invalid: 1 })
    expect(reasons).toEqual(['book: timestamp: not a string'])
  })

  test('behavior: one message of an array that is refused does not take the others along', async () => {
    const text = JSON.stringify([aBook(0), { ...aBook(1), market: '0x12' }, aBook(2)])
    const { report } = await importTexts(['kept.jsonl', text], ['tokens.json', tokens])
    expect(report).toMatchObject({ accepted: 2, invalid: 1, filesRefused: [] })
  })

  test('behavior: numbers are taken where they are exact, and refused where they are not', async () => {
    const exact = { bids: [{ price: 0.49, size: 1e1 }], asks: [{ price: 5.1e-1, size: 12.5 }] }
    const inexact = { bids: [{ price: 0.30000000000000004, size: 10 }] }
    const lines = [
      { ...aBook(0), ...exact, timestamp: startMs },
      { ...aBook(5), ...inexact },
    ]
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const { history, report, faults } = await importTexts(
      ['numbers.jsonl', text],
      ['tokens.json', tokens],
    )
    expect(report).toMatchObject({ accepted: 1, invalid: 1 })
    expect(faults[0]).toMatchObject({ line: 2 })
    expect(statesIn(history, conditionId)).toMatchObject([
      {
        bids: { prices: [490_000], sizes: [10_000_000] },
        asks: { prices: [510_000], sizes: [12_500_000] },
      },
    ])
  })

  test('behavior: a market that is announced is known from then on', async () => {
    const announced = {
      event_type: 'new_market',
      market: conditionId,
      slug,
      outcomes: ['Down', 'Up'],
      assets_ids: [downId, upId],
      timestamp: String(startMs - 1000),
      order_price_min_tick_size: '0.001',
    }
    const foreign = { ...announced, market: `0x${'9'.repeat(64)}`, slug: 'rain-in-paris' }
    const lines = [[foreign, announced], aBook(0)].map((line) => JSON.stringify(line))
    const { history, report, reasons } = await importTexts(['heard.jsonl', lines.join('\n')])
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ accepted: 1, invalid: 0, leftOut: 0 })
    expect(history.findMarket(conditionId)).toMatchObject({
      assetIds: { up: upId, down: downId },
      tickSize: 1000,
    })
  })

  test('behavior: what waits for its transaction is no file of which nothing was kept', async () => {
    const text = [aBook(0), { ...aBook(1), market: '0x12' }]
      .map((line) => JSON.stringify(line))
      .join('\n')
    const { report } = await importTexts(['one-bad.jsonl', text], ['tokens.json', tokens])
    expect(report).toMatchObject({ accepted: 1, invalid: 1, filesRefused: [] })
    const bad = await importTexts(['all-bad.jsonl', JSON.stringify(aBook(0))])
    expect(bad.report).toMatchObject({ accepted: 0, invalid: 1, filesRefused: bad.files })
  })

  test('behavior: messages of a coin that is not kept are passed over and counted', async () => {
    const other = `0x${'9'.repeat(64)}`
    const listed = aGammaMarket({ slug: 'nocoin-updown-5m-1776153600', conditionId: other })
    const messages = [aBook(0), { ...aBook(1), market: other, asset_id: '77' }]
    const { report, reasons } = await importTexts(
      ['messages.jsonl', messages.map((each) => JSON.stringify(each)).join('\n')],
      ['catalogue.json', JSON.stringify([listed, aGammaMarket()])],
    )
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ accepted: 1, invalid: 0, filesRefused: [] })
    expect([...report.leftOutReasons]).toEqual([['nocoin is not a supported coin', 2]])
  })
})

describe('importFiles of the venue’s other APIs', () => {
  const trade = {
    proxyWallet: '0x0000000000000000000000000000000000000001',
    side: 'BUY',
    asset: upId,
    conditionId,
    size: 12.5,
    price: 0.51,
    timestamp: startMs / 1000 + 12,
    slug,
    outcome: 'Up',
    outcomeIndex: 0,
  }

  test('default: trades of the Data API, as a list and as a page', async () => {
    const { asset, conditionId: id, ...rest } = trade
    const page = {
      data: [
        { ...rest, token_id: downId, condition_id: id, outcome: 'Down', outcome_index: 999 },
        { ...rest, token_id: '5', condition_id: `0x${'7'.repeat(64)}`, slug: 'who-wins' },
      ],
      has_more: false,
      next_cursor: null,
    }
    const { history, report, reasons } = await importTexts(
      ['v1.json', JSON.stringify([trade])],
      ['v2.json', JSON.stringify(page)],
    )
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ trades: { accepted: 2 }, leftOut: 1, filesRefused: [] })
    const market = history.findMarket(conditionId)
    expect(market?.assetIds).toEqual({ up: upId, down: downId })
    const shared = { price: 510_000, size: 12_500_000, side: 'buy', timestampMs: startMs + 12_000 }
    expect(market && history.trades({ market })).toMatchObject([
      { ...shared, outcome: 'up' },
      { ...shared, outcome: 'down' },
    ])
  })

  test('error: a trade of a token that is not its outcome’s is refused', async () => {
    const text = JSON.stringify([{ ...trade, asset: downId }, trade])
    const { report, reasons } = await importTexts(['tokens.json', tokens], ['v1.json', text])
    expect(report).toMatchObject({ trades: { accepted: 1 }, invalid: 1 })
    expect(reasons).toEqual([`the token of up is another one in market ${conditionId}`])
  })

  test.each([
    ['one', (market: object) => market],
    ['a page of them', (market: object) => ({ data: [market], next_cursor: 'LTE=' })],
  ])('default: markets of the order book API: %s', async (_, toBody) => {
    const market = {
      condition_id: conditionId,
      market_slug: slug,
      minimum_tick_size: 0.01,
      tokens: [
        { token_id: upId, outcome: 'Up', price: 1, winner: true },
        { token_id: downId, outcome: 'Down', price: 0, winner: false },
      ],
    }
    const { history, reasons } = await importTexts(['clob.json', JSON.stringify(toBody(market))])
    expect(reasons).toEqual([])
    expect(history.findMarket(conditionId)).toMatchObject({
      assetIds: { up: upId, down: downId },
      tickSize: 10_000,
      winner: 'up',
      winnerSource: 'venue',
    })
  })

  test.each([
    ['one line', undefined],
    ['several lines', 2],
  ])('default: a page of events of the catalogue, in %s', async (_, indent) => {
    const page = { events: [{ slug, markets: [aGammaMarket()] }], next_cursor: 'abc' }
    const { history, reasons } = await importTexts([
      'events.json',
      JSON.stringify(page, null, indent),
    ])
    expect(reasons).toEqual([])
    expect(history.findMarket(conditionId)?.assetIds).toEqual({ up: upId, down: downId })
  })
})

describe('importFiles of tables of others', () => {
  const header = 'ts_ms,window_slug,outcome,clob_token_id,bid_p1,bid_s1,ask_p1,ask_s1,bid_p2,bid_s2'
  const row = (...cells: (string | number)[]) => cells.join(',')

  test('default: one state per row, with its levels in columns', async () => {
    const rows = [
      header,
      row(startMs, slug, 'Up', upId, 0.49, '10.0', 0.51, 12.5, 0.48, 3),
      row(startMs + 1000, slug, 'Up', upId, 0.49, 11, 0.51, 12.5, '', ''),
      row(startMs + 2000, slug, 'Up', upId, 'nan', 'nan', 0.51, 12.5, 0, 0),
    ]
    const { history, reasons, report } = await importTexts(
      ['wide.csv', rows.join('\n')],
      ['tokens.json', tokens],
    )
    expect(reasons).toEqual([])
    expect(report).toMatchObject({ accepted: 3, invalid: 0 })
    expect(statesIn(history, conditionId).map(({ bids }) => bids.prices)).toEqual([
      [490_000, 480_000],
      [490_000],
      [],
    ])
  })

  test('error: a row whose token is not that of its outcome is refused', async () => {
    const text = [header, row(startMs, slug, 'Up', downId, 0.49, 10, 0.51, 12.5, '', '')]
    const { reasons, report } = await importTexts(
      ['wide.csv', text.join('\n')],
      ['tokens.json', tokens],
    )
    expect(report).toMatchObject({ accepted: 0, invalid: 1 })
    expect(reasons[0]).toContain('is not that of up')
  })

  test('behavior: rows of a coin that is not kept are passed over and counted', async () => {
    const rows = [
      header,
      row(startMs, 'nocoin-updown-5m-1776153600', 'Up', '5', 0.4, 1, 0.6, 1, '', ''),
    ]
    const wide = await importTexts(['wide.csv', rows.join('\n')])
    const outcomes = await importTexts([
      'outcomes.csv',
      'timestamp,outcome,nocoin_open,nocoin_close\n1776153600,up,1,2\n',
    ])
    for (const { report, reasons } of [wide, outcomes]) {
      expect(reasons).toEqual([])
      expect(report).toMatchObject({ invalid: 0, leftOut: 1, filesRefused: [] })
      expect([...report.leftOutReasons.keys()]).toEqual(['nocoin is not a supported coin'])
    }
  })

  test('default: outcomes of windows of any coin', async () => {
    const eth = 'eth-updown-5m-1776153600'
    const { history, report } = await importTexts(
      [
        'outcomes.csv',
        'timestamp,outcome,up_price,eth_open,eth_close\n1776153600,up,1,2105.25,2108.17\n',
      ],
      ['tokens.json', JSON.stringify([aToken({ slug: eth })])],
    )
    expect(report).toMatchObject({ waiting: { accepted: 0 }, invalid: 0 })
    expect(history.findMarketBySlug(eth)).toMatchObject({
      winner: 'up',
      strike: '2105.25',
      finalPrice: '2108.17',
    })
  })
})

describe('importFiles of files that are not read', () => {
  test.each([
    ['x.zip', 'PK\x03\x04rest', 'a ZIP archive, which is not read; extract it'],
    ['x.zst', '\x28\xb5\x2f\xfdrest', 'a Zstandard file, which is not read; decompress it: zstd'],
    ['x.xz', '\xfd7zXZ\0rest', 'an xz file, which is not read; decompress it: xz -dc'],
    ['x.db', 'SQLite format 3\0rest', 'an SQLite database, which is not read; export its rows'],
    ['x.pkl', '\x80\x04\x95rest', 'a Python pickle, which is not read; open it in Python'],
    ['x.npy', '\x93NUMPY\x01\0', 'a NumPy array, which is not read; write it in Python'],
    ['x.feather', 'ARROW1\0\0', 'an Arrow or Feather file, which is not read; write it as Parquet'],
    ['x.tar', `${'f'.repeat(257)}ustar\0`, 'a tar archive, which is not read; extract it'],
    ['x.txt', '\xff\xfea\0b\0', 'text in UTF-16, which is not read; write it in UTF-8'],
    ['x.html', '<!DOCTYPE html><html>', 'a web page, not data'],
    ['x.bin', 'abc\0\x01\x02', 'a binary file of a kind that is not known; write it as JSON lines'],
  ])('error: %s is named as what it is, also inside gzip', async (name, text, expected) => {
    const bytes = Buffer.from(text, 'latin1')
    for (const content of [bytes, Bun.gzipSync(bytes)]) {
      const { report, reasons } = await importTexts([name, content])
      expect(reasons).toHaveLength(1)
      expect(reasons[0]).toStartWith(expected)
      expect(report).toMatchObject({ filesFailed: 1, accepted: 0 })
    }
  })

  test('error: a table of no known form is shown its columns, and what is expected', async () => {
    const { reasons } = await importTexts(['x.csv', 'a,b,c\n1,2,3\n'])
    expect(reasons[0]).toStartWith('its columns (a, b, c) are those of none of: ')
    expect(reasons[0]).toContain('bid_p1')
  })
})

describe('importFiles of ../shared/cases', () => {
  const wrapped = '0x0caeb05adad5adc4092885b50be90842f690b3671036d33be1929eed6c07859d'
  test.skipIf(isAbsent)(`default: messages in a member${reason}`, async () => {
    for (const name of ['wrap-raw.jsonl', 'wrap-msg.jsonl', 'wrap-payload.jsonl']) {
      const { history, report, faults } = await importCases([name, 'onebad.tokens.jsonl'])
      expect(faults).toEqual([])
      expect(report).toMatchObject({ accepted: 3, hashes: { held: 3, verified: 3 } })
      expect(statesIn(history, wrapped)[0]?.receivedMs).toBe(1_776_081_408_494)
    }
  })

  test.skipIf(isAbsent)(`behavior: one bad message among sixty good ones${reason}`, async () => {
    const { report, faults } = await importCases(['onebad.tokens.jsonl', 'onebad.jsonl.gz'])
    expect(report).toMatchObject({ accepted: 60, invalid: 1, filesRefused: [] })
    expect(faults).toMatchObject([{ line: 61 }])
  })

  test.skipIf(isAbsent)(`default: every other case is read${reason}`, async () => {
    const id = '0x1342f0c5d8ab97e6340211b5c4d3e2f1a0998877665544332211ffeeddccbbaa'
    const wideTokens = await write(
      'wide-tokens.json',
      JSON.stringify([
        {
          slug: 'btc-updown-15m-1774125000',
          conditionId: `0x${'5'.repeat(64)}`,
          assetId: '10591874126431743086164129641226206755029161958949192724606330933161678505396',
          outcome: 'down',
        },
      ]),
    )
    const { report, faults, history } = await importCases(
      [
        'dataapi.json',
        'dataapi-v2.json',
        'clob-market.json',
        'gamma-events-keyset.json',
        'wide.csv',
        'eth-outcomes.csv',
        'num2.jsonl',
        'doge-gamma.json',
        'doge-messages.jsonl',
      ],
      [wideTokens],
    )
    expect(faults).toEqual([])
    expect(report).toMatchObject({
      trades: { accepted: 2 },
      waiting: { accepted: 1 },
      filesRefused: [],
    })
    expect(history.findMarket(id)).toMatchObject({ winner: 'up', tickSize: 10_000 })
    const market = history.findMarket(id)
    const trades = market === undefined ? [] : history.trades({ market })
    expect(trades.map(({ transactionHash }) => transactionHash)).toEqual([
      '0xabc0000000000000000000000000000000000000000000000000000000000001',
      undefined,
    ])
    // One of wide.csv, and of the messages those of all coins that are kept.
    expect(statesIn(history, `0x${'5'.repeat(64)}`)).toHaveLength(1)
    expect(statesIn(history, id).map(({ timestampMs }) => timestampMs % 1000)).toEqual([672, 673])
  })
})
