import { describe, expect, test } from 'bun:test'

import { aRecord, someLines } from '../support/snapshot-lines.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness, NOW_MS } from './import-harness.ts'
import { aGammaMarket, aToken, aTrade, conditionId, downId, startMs } from './market-objects.ts'

const { aHistory, run, write } = createImportHarness()

const DAY_MS = 86_400_000
const endMs = startMs + 300_000
const iso = (timeMs: number): string => new Date(timeMs).toISOString()
const aBook = (timestamp: unknown): string =>
  `${JSON.stringify(aRecord({ id: `at-${timestamp}`, assetId: downId, timestamp }))}\n`
const aTradeAt = (timestamp: unknown): string => `${JSON.stringify(aTrade({ timestamp }))}\n`

/**
 * Imports a line each into a history of its own; returns the times that are
 * held, and why the others are not.
 */
async function importLines(lines: readonly string[], nowMs = NOW_MS) {
  const history = aHistory()
  const file = await write(crypto.randomUUID(), lines.join(''))
  const { faults, report } = await run([file], { history, clock: () => nowMs })
  const market = history.findMarket(conditionId)
  const books = market ? [...snapshotRuns(history, { market })].flat() : []
  const trades = market ? history.trades({ market }) : []
  const timesMs = [...books, ...trades].map(({ timestampMs }) => timestampMs)
  return { timesMs, reasons: faults.map(({ reason }) => reason), report }
}

describe('times of what is imported', () => {
  test.each([
    iso(startMs),
    startMs,
    String(startMs),
    startMs / 1000,
    String(startMs / 1000),
    iso(startMs).replace('Z', '000+00:00'),
    iso(startMs).replace('T', ' ').replace('.000Z', '+00:00'),
    iso(startMs).replace('.000Z', '+00'),
    iso(startMs).replace('.000Z', '+0000'),
    iso(startMs).replace('.000Z', '.000999+00'),
    iso(startMs).replace('.000Z', '.000999Z'),
  ])('default: %p is the same moment, of a book and of a trade', async (timestamp) => {
    for (const line of [aBook(timestamp), aTradeAt(timestamp)]) {
      expect(await importLines([line])).toMatchObject({ timesMs: [startMs], reasons: [] })
    }
  })

  test.each([
    ['2019-12-31T23:59:59.999Z', '2019-12-31T23:59:59.999Z is before 2020, when the venue opened'],
    ['1970-01-21T13:22:33.600Z', '1970-01-21T13:22:33.600Z is before 2020, when the venue opened'],
    [0, '1970-01-01T00:00:00.000Z is before 2020, when the venue opened'],
    [1_577_836_799, '2019-12-31T23:59:59.000Z is before 2020, when the venue opened'],
    [4_079_577_600, '2099-04-11T08:00:00.000Z is in the future'],
    [iso(NOW_MS + 300_001), `${iso(NOW_MS + 300_001)} is in the future`],
  ])('error: nothing can have happened at %p', async (timestamp, reason) => {
    const book = await importLines([aBook(timestamp)])
    expect(book).toMatchObject({ timesMs: [], reasons: [`timestamp: ${reason}`] })
    const trade = await importLines([aTradeAt(timestamp)])
    expect(trade.timesMs).toEqual([])
    expect(trade.reasons[0]).toMatch(/^timestamp: .*(before 2020|in the future)/)
  })

  test('behavior: the clock of the venue may be five minutes ahead', async () => {
    const timestamp = NOW_MS + 300_000
    expect(await importLines([aBook(timestamp)])).toMatchObject({ timesMs: [timestamp] })
  })

  test('behavior: what was in the future is kept once it is not, beside what still is', async () => {
    const history = aHistory()
    const times = [0, 1, 2].map((hour) => startMs + hour * 3_600_000)
    for (const print of [aBook, aTradeAt]) {
      const file = await write(`future-${print.name}`, times.map(print).join(''))
      for (const [index, nowMs] of times.entries()) {
        const { report } = await run([file], { history, clock: () => nowMs })
        expect(report.accepted + report.lastPrices.accepted).toBe(1)
        expect(report.invalid).toBe(2 - index)
      }
    }
    const document = await write('future.json', `[${times.map(aTradeAt).join(',')}]`)
    const other = aHistory()
    for (const nowMs of times) {
      const { report } = await run([document], { history: other, clock: () => nowMs })
      expect(report.lastPrices.accepted).toBe(1)
    }
  })

  test('default: books and trades may be two days from their window, and no further', async () => {
    const facts = `${JSON.stringify(aGammaMarket())}\n`
    const kept = [startMs - 2 * DAY_MS, startMs, endMs + 2 * DAY_MS]
    const refused = [startMs - 2 * DAY_MS - 1, endMs + 2 * DAY_MS + 1, Date.UTC(2025, 3, 14, 8)]
    const nowMs = endMs + 30 * DAY_MS
    for (const print of [aBook, aTradeAt]) {
      const history = aHistory()
      await run([await write(`facts-${print.name}`, facts)], { history })
      const lines = [...refused, ...kept].map(print).join('')
      const { faults, report } = await run([await write(`window-${print.name}`, lines)], {
        history,
        clock: () => nowMs,
      })
      expect(faults.map(({ line }) => line)).toEqual([1, 2, 3])
      for (const { reason } of faults)
        expect(reason).toContain('more than two days from the window')
      expect(report.accepted + report.lastPrices.accepted).toBe(3)
      const market = history.findMarket(conditionId)
      const held =
        market && [...snapshotRuns(history, { market })].flat().map((row) => row.timestampMs)
      if (print === aBook) expect(held).toEqual(kept)
    }
  })

  test.each([
    ['a token', JSON.stringify(aToken())],
    ['a market', JSON.stringify(aGammaMarket())],
    ['a trade', JSON.stringify(aTrade())],
  ])('error: the window of %s that is far from books held is refused', async (_, facts) => {
    const history = aHistory()
    const books = await write(`before-${Bun.hash(facts)}`, aBook('2025-04-14T08:00:00Z'))
    await run([books], { history })
    const { faults, report } = await run([await write(`after-${Bun.hash(facts)}`, facts)], {
      history,
    })
    expect(faults).toHaveLength(1)
    expect(faults[0]?.reason).toContain(
      '2025-04-14T08:00:00.000Z is more than two days from the window',
    )
    expect(report.invalid).toBe(1)
    const { slug, windowStartMs, snapshotCounts } = history.findMarket(conditionId) ?? {}
    expect({ slug, windowStartMs, snapshotCounts }).toEqual({
      slug: undefined,
      windowStartMs: undefined,
      snapshotCounts: { up: 0, down: 1 },
    })
  })

  test('behavior: books and a window that agree are kept in either order', async () => {
    const files = [
      await write('agree-books', someLines(5, { assetId: downId })),
      await write('agree-facts', JSON.stringify([aGammaMarket()])),
    ]
    for (const order of [files, files.toReversed()]) {
      const history = aHistory()
      const { faults } = await run(order, { history })
      expect(faults).toEqual([])
      expect(history.findMarket(conditionId)).toMatchObject({
        windowStartMs: startMs,
        snapshotCounts: { down: 5 },
      })
    }
  })

  test.each<[Record<string, unknown>, string]>([
    [{ slug: 'btc-updown-5m-1776153601' }, 'slug: no window of 5m starts at 1776153601'],
    [{ slug: 'btc-updown-5m-300' }, 'slug: its window is before 2020'],
  ])('error: %j is no market', async (changes, reason) => {
    for (const value of [aTrade(changes), aToken(changes), aGammaMarket(changes)]) {
      const text = JSON.stringify(value)
      const history = aHistory()
      const { faults } = await run([await write(`${Bun.hash(text)}`, text)], { history })
      expect(faults).toHaveLength(1)
      expect(faults[0]?.reason).toStartWith(reason)
      expect(history.totals().markets).toBe(0)
    }
  })

  test('behavior: the windows of a table may be named in milliseconds, but start when windows do', async () => {
    const history = aHistory()
    const rows = [
      'timestamp,outcome,btc_open,btc_close',
      `${startMs},up,1e5,100000.5`,
      `${startMs / 1000 + 1},up,1,2`,
      `300,up,1,2`,
    ]
    const token = await write('table-token', JSON.stringify([aToken()]))
    const { faults } = await run([token, await write('table.csv', rows.join('\n'))], { history })
    expect(faults.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '3: timestamp: no window of 5m starts then',
      '4: timestamp: before 2020, when the venue opened',
    ])
    const market = history.findMarket(conditionId)
    expect(market).toMatchObject({ winner: 'up', strike: '100000', finalPrice: '100000.5' })
  })
})
