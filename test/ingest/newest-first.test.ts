/** Files that list the newest first: books are kept in any order, and changes need theirs. */
import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'

import { type Outcome, outcomes } from '#src/domain/market.ts'
import { createEventOrder, type TimedEvent } from '#src/ingest/event-order.ts'
import { toHeardLine } from '#src/recorder/journal.ts'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'

const { aHistory, run, write } = createImportHarness()

const START_MS = Date.UTC(2026, 3, 14, 8)
const conditionId = `0x${'b'.repeat(64)}`
const assetIds = { up: '111', down: '222' }
const tokens = JSON.stringify(
  outcomes.map((outcome) => ({
    slug: `btc-updown-5m-${START_MS / 1000}`,
    conditionId,
    assetId: assetIds[outcome],
    outcome,
    winner: null,
  })),
)

type Level = { price: string; size: string }

function aBook(second: number, outcome: Outcome, bidSize = String(100 + second)) {
  const level = (price: string, size: string): Level => ({ price, size })
  const book = {
    market: conditionId,
    asset_id: assetIds[outcome],
    timestamp: String(START_MS + second * 1000),
    hash: '',
    bids: [level('0.48', bidSize), level('0.49', '7')],
    asks: [level('0.52', '8')],
    min_order_size: '5',
    tick_size: '0.01',
    neg_risk: false,
    last_trade_price: '0.500',
  }
  const hash = createHash('sha1').update(JSON.stringify(book)).digest('hex')
  return { event_type: 'book', ...book, hash }
}

/** A change that makes the bid of a book before it another size. */
function aChange(second: number, size: string, outcome: Outcome = 'up') {
  const { market, asset_id, timestamp, hash } = aBook(second, outcome, size)
  const change = { asset_id, price: '0.48', size, side: 'BUY', hash, best_bid: '0.49' }
  return {
    event_type: 'price_change',
    market,
    timestamp,
    price_changes: [{ ...change, best_ask: '0.52' }],
  }
}

type Message = { timestamp: string }

const received = (message: Message) => ({ _recv: Number(message.timestamp) + 40, ...message })
const toLines = (messages: readonly object[]): string =>
  messages.map((each) => `${JSON.stringify(each)}\n`).join('')

const seconds = Array.from({ length: 20 }, (_, at) => at + 1)
const books = seconds.flatMap((second) => outcomes.map((outcome) => aBook(second, outcome)))

/** By a fixed rule that leaves no two neighbours beside each other. */
const shuffled = <T>(list: readonly T[]): T[] =>
  list.map((_, at) => list[(at * 17 + 5) % list.length]).filter((each) => each !== undefined)

async function importText(text: string, name = 'books.jsonl') {
  const history = aHistory()
  const id = crypto.randomUUID()
  const files = [await write(`${id}-tokens.json`, tokens), await write(`${id}-${name}`, text)]
  const result = await run(files, { history })
  const market = history.findMarket(conditionId)
  if (market === undefined) throw new Error('no market')
  const rows = [...snapshotRuns(history, { market })].flat()
  return { ...result, rows, gaps: history.gaps(market) }
}

/** With a row of its levels as JSON. */
function toCsv(list: readonly ReturnType<typeof aBook>[]): string {
  const quote = (value: unknown): string => `"${JSON.stringify(value).replaceAll('"', '""')}"`
  const rows = list.map((book) =>
    [
      book.asset_id,
      book.market,
      book.timestamp,
      book.hash,
      quote(book.bids),
      quote(book.asks),
    ].join(','),
  )
  return ['token_id,condition_id,timestamp,hash,bids,asks', ...rows, ''].join('\n')
}

describe('importFiles of books in another order', () => {
  const forms: [string, string, (list: typeof books) => string][] = [
    ['messages', 'books.jsonl', (list) => toLines(list.map(received))],
    ['messages without a time of receipt', 'books.jsonl', toLines],
    ['a page', 'books.json', (snapshots) => JSON.stringify({ snapshots })],
    ['a table', 'books.csv', toCsv],
  ]
  const orders: [string, (list: typeof books) => typeof books][] = [
    ['the newest first', (list) => list.toReversed()],
    ['in no order', shuffled],
  ]
  for (const [form, name, toText] of forms) {
    for (const [order, arrange] of orders) {
      test(`keeps all of ${form}, ${order}, as if they ascended`, async () => {
        const expected = await importText(toText(books), name)
        const { report, faults, rows, gaps } = await importText(toText(arrange(books)), name)

        expect(faults).toEqual([])
        expect(expected.rows).toHaveLength(books.length)
        expect(rows).toEqual(expected.rows)
        expect(gaps).toEqual(expected.gaps)
        expect(report.hashes.verified).toBe(expected.report.hashes.verified)
      })
    }
  }

  test('keeps the books of a capture with changes and refuses the changes', async () => {
    const capture = [
      aBook(1, 'up'),
      aChange(2, '5'),
      aChange(3, '6'),
      aBook(4, 'up'),
      aChange(5, '9'),
      aBook(6, 'up'),
    ]
    const forward = await importText(toLines(capture.map(received)))
    expect(forward.rows).toHaveLength(6)
    expect(forward.faults).toEqual([])

    for (const toMessage of [received, (message: Message) => message]) {
      const { report, rows, faults } = await importText(
        toLines(capture.toReversed().map(toMessage)),
      )
      const kept = rows.map(({ timestampMs }) => (timestampMs - START_MS) / 1000)
      expect(kept).toEqual([1, 4, 6])
      expect(rows.every(({ isVerified }) => isVerified === true)).toBe(true)
      expect(report.invalid).toBe(3)
      expect(faults.map(({ line }) => line)).toEqual([2, 4, 5])
      expect(faults[0]?.reason).toContain('list the oldest first')
    }
  })

  test("refuses the messages of a recorder's file whose connection did not begin", async () => {
    const [first] = books
    if (first === undefined) throw new Error('no book')
    const atMs = Number(first.timestamp)
    const lines = [
      toHeardLine({ kind: 'opened', connection: 1, markets: [conditionId] }, atMs),
      toHeardLine(
        { kind: 'message', connection: 1, text: JSON.stringify(first), isSound: true },
        atMs + 40,
      ),
      toHeardLine({ kind: 'dropped', connection: 1, reason: 'recorder_down' }, atMs + 1000),
    ]
    const forward = await importText(`${lines.join('\n')}\n`)
    expect(forward.rows).toHaveLength(1)
    expect(forward.faults).toEqual([])

    const { rows, faults } = await importText(`${lines.toReversed().join('\n')}\n`)
    expect(rows).toEqual([])
    expect(faults.map(({ line }) => line)).toEqual([2])
    expect(faults[0]?.reason).toContain('in the order in which it wrote them')
  })

  test('takes no message that the venue sent late for one in a wrong order', async () => {
    const late = { ...received(aChange(2, '5')), _recv: START_MS + 4060 }
    const capture = [received(aBook(1, 'up')), received(aBook(4, 'up')), late]

    const { rows, faults } = await importText(toLines(capture))

    expect(faults).toEqual([])
    expect(rows).toHaveLength(2)
  })
})

describe('createEventOrder', () => {
  test('passes on all books of a long file in windows that ascend', async () => {
    const windows: number[][] = []
    const note = (events: readonly TimedEvent[]) =>
      windows.push(events.map(({ event }) => event.timestampMs))
    const order = createEventOrder({
      follow: (_file, _market, events) => note(events),
      keepApart: (_market, events) => note(events),
    })
    const column = Array.from({ length: 45 }, () => 1)
    const side = { prices: column, sizes: column }
    const history = aHistory()
    await history.putMarket({
      conditionId,
      coin: 'btc',
      timeframe: '5m',
      source: 'recorded',
      assetIds,
    })
    const market = history.findMarket(conditionId)
    if (market === undefined) throw new Error('no market')
    const total = 12_000

    for (let second = total; second > 0; second--) {
      const timestampMs = START_MS + second * 1000
      const levels = { bids: side, asks: side }
      const book = { kind: 'book' as const, conditionId, assetId: assetIds.up, timestampMs }
      order.take('file', market, { event: { ...book, ...levels }, receivedMs: undefined })
    }
    order.end()

    expect(windows.length).toBeGreaterThan(2)
    expect(windows.every((times) => times.length < 6000)).toBe(true)
    expect(windows.flat()).toHaveLength(total)
    for (const times of windows) expect(times).toEqual(times.toSorted((a, b) => a - b))
  })
})
