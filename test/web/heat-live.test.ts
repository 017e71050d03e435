/** Charts of a market that goes on: rows that come are added to what is there. */
import { describe, expect, test } from 'bun:test'

import { withBooks } from '#web/charts/heat-live.ts'
import { createLines, type Gap, toLines } from '#web/charts/line-data.ts'
import type { Book, HeatColumn, Heatmap, Outcome, Quote } from '#web/lib/bodies.ts'

const START_MS = Date.UTC(2026, 10, 27, 10)
const STEP_MS = 500
const COLUMNS = 40
const time = (ms: number) => new Date(START_MS + ms).toISOString()
const empty = { from: 0, sizes: [] }

const columnOf = (index: number): HeatColumn => ({
  covered: 1,
  bid: 0.5,
  ask: 0.51,
  bids: { from: 50, sizes: [index] },
  asks: { from: 51, sizes: [1] },
  pulled: { bids: { from: 50, sizes: [7] }, asks: empty },
  traded: { bids: empty, asks: empty },
})

/** The columns that the server knows; the others are still to come. */
const heatOf = (known: number): Heatmap => ({
  conditionId: '0x1',
  symbol: 'btc',
  timeframe: '5m',
  source: 'recorded',
  outcome: 'up',
  agg: 'max',
  from: time(0),
  to: time(COLUMNS * STEP_MS),
  stepMs: STEP_MS,
  priceStep: 0.01,
  trades: null,
  columns: Array.from({ length: COLUMNS }, (_, index) => (index < known ? columnOf(index) : null)),
})

const bookAt = (ms: number): Book => ({
  outcome: 'up',
  timestamp: time(ms),
  bids: [{ price: 0.4 + (ms % 7) / 100, size: ms }],
  asks: [{ price: 0.6, size: 5 }],
})
/** Books of 17 seconds, with a pause in which the gap is. */
const books = Array.from({ length: 36 }, (_, index) => 200 + 487 * index)
  .filter((ms) => ms < 9_000 || ms > 11_500)
  .map(bookAt)
const gaps: Gap[] = [{ outcome: 'up', fromMs: START_MS + 9_300, toMs: START_MS + 11_000 }]

describe('withBooks', () => {
  test('default: books that come one after the other make the same columns as all at once', () => {
    const heat = heatOf(10)
    let grown = heat
    for (let count = 1; count <= books.length; count++)
      grown = withBooks(heat, books.slice(0, count), gaps)
    const whole = withBooks(heatOf(10), books, gaps)
    expect(grown.columns).toEqual(whole.columns)
    expect(grown.columns[20]).toBeNull()
  })

  test('behavior: a gap that becomes known later is taken out of what was there', () => {
    const heat = heatOf(10)
    const before = withBooks(heat, books, [])
    const after = withBooks(heat, books, gaps)
    const missing = (columns: Heatmap['columns']) => columns.slice(0, 30).filter((each) => !each)
    expect(missing(before.columns)).toHaveLength(0)
    expect(missing(after.columns)).not.toHaveLength(0)
  })

  test('behavior: books of before the request change no column whose removed sizes are known', () => {
    const heat = heatOf(30)
    const shown = withBooks(heat, books, [])
    expect(shown.columns.slice(0, 30)).toEqual(heat.columns.slice(0, 30))
    expect(shown.columns.map((column) => column?.pulled !== undefined)).toEqual(
      Array.from({ length: COLUMNS }, (_, at) => at < 30),
    )
  })
})

describe('createLines', () => {
  const quoteAt = (ms: number, outcome: Outcome): Quote => ({
    outcome,
    timestamp: time(ms),
    bid: ms,
    ask: null,
    mid: null,
  })
  const quotes = Array.from({ length: 30 }, (_, index) =>
    quoteAt(100 * Math.floor(index / 2), index % 2 === 0 ? 'up' : 'down'),
  )
  const read = ({ bid }: Quote) => bid

  test('default: quotes that come one after the other make the same lines as all at once', () => {
    const line = createLines(read)
    for (let count = 0; count < quotes.length; count++) line(quotes.slice(0, count), gaps)
    expect(line(quotes, gaps)).toEqual(toLines(quotes, gaps, read))
  })

  test('behavior: a quote that comes late is at its time', () => {
    const line = createLines(read)
    const late = [...quotes, quoteAt(250, 'up')]
    line(quotes, gaps)
    expect(line(late, gaps)).toEqual(toLines(late, gaps, read))
    const [times] = line([...late, quoteAt(9_000, 'down')], gaps)
    expect(times.at(-1)).toBe((START_MS + 9_300) / 1000)
  })
})
