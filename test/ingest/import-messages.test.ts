import { describe, expect, test } from 'bun:test'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()

const START_MS = Date.UTC(2026, 3, 14, 8)
const slug = `btc-updown-5m-${START_MS / 1000}`
const market = `0x${'b'.repeat(64)}`
const aToken = (assetId: string, outcome: string) => ({
  slug,
  conditionId: market,
  assetId,
  outcome,
})

const levels = (...cents: number[]) =>
  cents.map((each) => ({ price: String(each / 100), size: '10' }))

const aBook = (ms: number, more: object = {}) => ({
  market,
  asset_id: '111',
  timestamp: String(START_MS + ms),
  bids: levels(49, 50),
  asks: levels(60, 52),
  event_type: 'book',
  ...more,
})
const aChange = (ms: number, more: object = {}) => ({
  event_type: 'price_change',
  market,
  timestamp: String(START_MS + ms),
  price_changes: [{ asset_id: '111', price: '0.51', size: '7', side: 'BUY', ...more }],
})

async function importWith(name: string, text: string, tokens = [aToken('111', 'up')]) {
  const history = aHistory()
  const files = [
    await write(`${name}.json`, text),
    await write(`${name}-tokens.json`, JSON.stringify(tokens)),
  ]
  const { report, faults } = await run(files, { history })
  const found = history.findMarket(market)
  const rows = found ? [...snapshotRuns(history, { market: found })].flat() : []
  return {
    report,
    reasons: faults.map(({ reason }) => reason),
    history,
    states: rows.map(({ timestampMs, bids, receivedMs }) => ({
      ms: timestampMs - START_MS,
      bid: bids.prices[0],
      receivedMs: receivedMs === undefined ? undefined : receivedMs - START_MS,
    })),
  }
}

const untimed = { receivedMs: undefined }

describe('importFiles of messages', () => {
  test('default: lines of one or several messages, read after what names their tokens', async () => {
    const { event_type: _, ...rest } = aBook(500)
    const lines = [[aBook(0)], aChange(100), rest].map((each) => JSON.stringify(each))
    const { reasons, states } = await importWith('lines', lines.join('\n'))
    expect(reasons).toEqual([])
    expect(states).toEqual([
      { ms: 0, bid: 500_000, ...untimed },
      { ms: 100, bid: 510_000, ...untimed },
      { ms: 500, bid: 500_000, ...untimed },
    ])
  })

  test('behavior: books whose hash nothing known reproduces are kept, as in lines, and no gap', async () => {
    const hash = 'f'.repeat(40)
    const times = [0, 1000, 2000, 2500, 60_000]
    const books = times.map((ms) =>
      JSON.stringify(aBook(ms, { hash, bids: levels(40, 41 + (ms % 7)) })),
    )
    const { report, states, history } = await importWith('unknown', books.join('\n'))
    expect(states.map(({ ms }) => ms)).toEqual(times)
    expect(report.hashes).toEqual({ held: 5, verified: 0, gaps: 0, mismatched: 0, unknown: 5 })
    const found = history.findMarket(market)
    const gaps = found ? history.gaps(found) : []
    expect(gaps.filter((gap) => gap.reason === 'hash_mismatch')).toEqual([])
  })

  test.each([
    ['seconds', (START_MS + 7) / 1000],
    ['milliseconds', START_MS + 7],
    ['a text', new Date(START_MS + 7).toISOString()],
  ])('behavior: _recv is when a message was received: %s', async (name, _recv) => {
    const { reasons, states } = await importWith(
      `recv-${name}`,
      JSON.stringify(aBook(0, { _recv })),
    )
    expect(reasons).toEqual([])
    expect(states).toEqual([{ ms: 0, bid: 500_000, receivedMs: 7 }])
  })

  test('behavior: a message without _recv leaves its own row without a time of receipt', async () => {
    const lines = [
      aBook(0, { _recv: START_MS + 7 }),
      aChange(100),
      { ...aChange(200, { price: '0.5', size: '8' }), _recv: START_MS + 207 },
    ]
    const text = lines.map((each) => JSON.stringify(each)).join('\n')
    const { reasons, states } = await importWith('one-untimed', text)
    expect(reasons).toEqual([])
    expect(states).toEqual([
      { ms: 0, bid: 500_000, receivedMs: 7 },
      { ms: 100, bid: 510_000, ...untimed },
      { ms: 200, bid: 510_000, receivedMs: 207 },
    ])
  })

  test.each([
    ['an object', aBook(0)],
    ['an array', [aBook(0)]],
  ])('behavior: a document of several lines: %s', async (name, value) => {
    const { reasons, states } = await importWith(`doc-${name}`, JSON.stringify(value, null, 2))
    expect(reasons).toEqual([])
    expect(states).toHaveLength(1)
  })

  test('behavior: where changes contradict what they say of the book there is a gap', async () => {
    const lines = [
      aBook(0),
      aChange(100),
      aChange(200, { price: '0.49', best_bid: '0.47', best_ask: '0.52' }),
      aBook(1000),
    ]
    const text = lines.map((each) => JSON.stringify(each)).join('\n')
    const { reasons, states, history } = await importWith('lost', text)
    expect(reasons).toEqual([])
    expect(states.map(({ ms }) => ms)).toEqual([0, 100, 1000])
    const found = history.findMarket(market)
    expect(found && history.gaps(found)).toEqual([
      { outcome: 'up', fromMs: START_MS + 101, toMs: START_MS + 1000, reason: 'hash_mismatch' },
    ])
  })

  test('behavior: markets that are announced are no error, and unknown types are counted', async () => {
    const lines = [aBook(0), { event_type: 'new_market', slug: 'x' }, { event_type: 'odd', market }]
    const text = lines.map((each) => JSON.stringify(each)).join('\n')
    const { reasons, report } = await importWith('others', text)
    expect(reasons).toEqual([])
    expect([...report.leftOutReasons]).toEqual([['messages of the type odd', 1]])
  })

  test.each([
    ['a market that is not known', aBook(0, { market: `0x${'c'.repeat(64)}` }), 'is not known'],
    ['a token that is not known', aBook(0, { asset_id: '333' }), 'which outcome token 333 of'],
    ['a time far from its window', aBook(-3 * 86_400_000), 'more than two days from the window'],
    ['a price that is none', aBook(0, { bids: [{ price: '2', size: '1' }] }), 'book: bids: not a'],
    ['no message', { asset_id: '111' }, "not a message of the venue's socket"],
  ])('error: %s is refused by its line', async (name, value, reason) => {
    const { reasons, report } = await importWith(`bad-${name}`, JSON.stringify(value))
    expect(reasons).toHaveLength(1)
    expect(reasons[0]).toContain(reason)
    expect(report).toMatchObject({ accepted: 0, invalid: 1 })
  })
})
