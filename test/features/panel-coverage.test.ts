import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { conditionIdOf } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import type { Params } from '../support/page-client.ts'
import { readPanel } from '../support/panel-client.ts'
import { addWhole, DAY_START_MS, wholeMarkets } from '../support/whole-markets.ts'

const WINDOW_MS = 300_000
const startOf = (window: number): number => DAY_START_MS + window * WINDOW_MS
const range = (from: number, to: number) => ({ from: startOf(from), to: startOf(to) })

async function coverageOf(history: MarketHistory, params: Params, nowMs?: number) {
  const { send, time } = createHarness({ history })
  if (nowMs !== undefined) time.nowMs = nowMs
  return (await readPanel(send, params)).headers.get('x-coverage')
}

describe('X-Coverage of a panel', async () => {
  const holes = await wholeMarkets({ '5m': [2, 3, 6] })

  test('default: is full when every window of the range is held', async () => {
    expect(await coverageOf(holes, range(2, 4))).toBe('full')
    expect(await coverageOf(holes, { ...range(2, 4), offsets: '-240s,-0s' })).toBe('full')
  })

  test('behavior: windows without a market are gaps of each moment and outcome', async () => {
    // Of 2 to 6 two are missing.
    const coverage = 'partial;covered=0.6;gaps=4;reasons="import"'
    expect(await coverageOf(holes, range(2, 7))).toBe(coverage)
    const offsets = { ...range(2, 7), offsets: '-240s,-60s,-5s' }
    expect(await coverageOf(holes, offsets)).toBe(coverage.replace('gaps=4', 'gaps=12'))
    const edges = { from: startOf(1) + 1, to: startOf(4) + 1 }
    expect(await coverageOf(holes, edges)).toBe('partial;covered=0.666;gaps=2;reasons="import"')
  })

  test('behavior: a range of which nothing is held is none of it', async () => {
    expect(await coverageOf(holes, range(4, 6))).toBe('none;covered=0.0;gaps=4;reasons="import"')
    const others = { timeframe: '15m', ...range(0, 6) }
    expect(await coverageOf(holes, others)).toBe('none;covered=0.0;gaps=4;reasons="import"')
  })

  test('behavior: an open end is that of the markets', async () => {
    const coverage = 'partial;covered=0.6;gaps=4;reasons="import"'
    expect(await coverageOf(holes, {})).toBe(coverage)
    expect(await coverageOf(holes, { to: startOf(7) })).toBe(coverage)
    expect(await coverageOf(holes, { from: startOf(3) })).toBe(
      'partial;covered=0.5;gaps=4;reasons="import"',
    )
    expect(await coverageOf(holes, { from: startOf(7) })).toStartWith('none;')
    expect(await coverageOf(holes, { to: startOf(1) })).toStartWith('none;')
  })

  test('behavior: what is not over is not missing, held or not', async () => {
    const day = range(2, 288)
    expect(await coverageOf(holes, day, startOf(4))).toBe('full')
    expect(await coverageOf(holes, day, startOf(5) - 1)).toBe('full')
    expect(await coverageOf(holes, day, startOf(5))).toStartWith('partial;covered=0.666;gaps=2;')
    expect(await coverageOf(holes, day, startOf(6) + 1)).toStartWith('partial;covered=0.5;gaps=4;')
    expect(await coverageOf(holes, range(4, 288), startOf(4))).toStartWith('none;')
  })

  test('behavior: a day of 25 hours that is not over is not missing either', async () => {
    const HOUR_MS = 3_600_000
    const history = await wholeMarkets({ '1d': [0] })
    const windowStartMs = DAY_START_MS + 24 * HOUR_MS
    await history.putMarket({
      conditionId: conditionIdOf(9),
      coin: 'btc',
      timeframe: '1d',
      source: 'simulated',
      windowStartMs,
      windowEndMs: windowStartMs + 25 * HOUR_MS,
    })
    const days = { timeframe: '1d', from: DAY_START_MS, to: DAY_START_MS + 48 * HOUR_MS }
    expect(await coverageOf(history, days, windowStartMs + 24.5 * HOUR_MS)).toBe('full')
    expect(await coverageOf(history, days, windowStartMs + 25 * HOUR_MS)).toStartWith('partial;')
  })

  test('behavior: the pages of a walk count each window once', async () => {
    const history = await wholeMarkets({ '5m': [2, 3, 6, 7, 11] })
    const { send } = createHarness({ history })
    const gaps: number[] = []
    let cursor: string | undefined
    do {
      const page = await readPanel(send, {
        ...range(0, 14),
        limit: 1,
        ...(cursor && { cursor }),
      })
      gaps.push(Number(/gaps=(\d+)/.exec(page.headers.get('x-coverage') ?? '')?.[1] ?? 0) / 2)
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    // Before 2; none; 4 and 5; none; 8 to 10 and, as the last page, 12 and 13.
    expect(gaps).toEqual([2, 0, 2, 0, 5])
  })

  test('behavior: going on behind an empty page begins where that one did', async () => {
    const history = await wholeMarkets({ '5m': [] })
    const { send, time } = createHarness({ history })
    time.nowMs = startOf(2)
    const empty = await readPanel(send, range(2, 5))
    time.nowMs = startOf(5)
    await addWhole(history, { number: 1, timeframe: '5m', startMs: startOf(4) })
    const cursor = empty.headers.get('x-resume-cursor') ?? ''
    const { data, headers } = await readPanel(send, { ...range(2, 5), cursor })
    expect(data).toHaveLength(1)
    expect(headers.get('x-coverage')).toBe('partial;covered=0.333;gaps=4;reasons="import"')
  })
})
