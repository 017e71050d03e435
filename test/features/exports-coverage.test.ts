import { describe, expect, test } from 'bun:test'

import type { MarketHistory } from '#src/history/history.ts'

import { conditionIdOf } from '../history/books.ts'
import { createHarness } from '../support/harness.ts'
import { type Params, withParams } from '../support/page-client.ts'
import { snapshotRuns } from '../support/snapshot-runs.ts'
import { DAY_START_MS, wholeMarkets } from '../support/whole-markets.ts'

const HOUR_MS = 3_600_000
const DAY = '2026-01-01'

const upTo = (count: number, ...but: number[]): number[] =>
  Array.from({ length: count }, (_, index) => index).filter((index) => !but.includes(index))

async function coverageOf(history: MarketHistory, params: Params = {}, nowMs?: number) {
  const { send, time } = createHarness({ history })
  if (nowMs !== undefined) time.nowMs = nowMs
  const response = await send(withParams('/v1/btc/export', { day: DAY, ...params }))
  expect(response.status).toBe(200)
  return response.headers.get('x-coverage')
}

describe('X-Coverage of a day’s export', async () => {
  const whole = await wholeMarkets({ '4h': upTo(6), '1d': [0] })
  const holes = await wholeMarkets({ '1h': upTo(24, 3, 4, 23), '4h': upTo(6) })

  test('default: is full when every window of the timeframes held that day is', async () => {
    expect(await coverageOf(whole)).toBe('full')
    expect(await coverageOf(whole, { timeframe: '4h' })).toBe('full')
    expect(await coverageOf(holes, { timeframe: '4h' })).toBe('full')
  })

  test('behavior: windows without a market are gaps of both outcomes, for all of their time', async () => {
    const day = { timeframe: '1h' }
    expect(await coverageOf(holes, day)).toBe('partial;covered=0.875;gaps=6;reasons="import"')
    expect(await coverageOf(holes, { ...day, outcome: 'up' })).toBe(
      'partial;covered=0.875;gaps=3;reasons="import"',
    )
    // 45 of 48 hours.
    expect(await coverageOf(holes)).toBe('partial;covered=0.937;gaps=6;reasons="import"')
  })

  test('behavior: a timeframe that is asked for counts though nothing of it is held', async () => {
    const none = 'none;covered=0.0;gaps=192;reasons="import"'
    expect(await coverageOf(holes, { timeframe: '15m' })).toBe(none)
    expect(await coverageOf(holes, { timeframe: '15m', day: '2025-12-31' })).toBe(none)
    expect(await coverageOf(holes, { timeframe: '15m', day: '2026-02-01' })).toStartWith('none;')
  })

  test('behavior: of today only what has opened counts, and of that what is over', async () => {
    const history = await wholeMarkets({ '1h': [0, 1] })
    await history.putMarket({
      conditionId: conditionIdOf(9),
      coin: 'btc',
      timeframe: '1h',
      source: 'simulated',
      windowStartMs: DAY_START_MS + 5 * HOUR_MS,
      windowEndMs: DAY_START_MS + 6 * HOUR_MS,
    })
    const at = (hours: number) => coverageOf(history, {}, DAY_START_MS + hours * HOUR_MS)
    expect(await at(2)).toBe('full')
    // Half an hour of two and a half.
    expect(await at(2.5)).toBe('partial;covered=0.8;gaps=2;reasons="import"')
    expect(await at(4)).toBe('partial;covered=0.5;gaps=4;reasons="import"')
  })

  test('behavior: one that goes on counts from its market on', async () => {
    const history = await wholeMarkets({ '1h': upTo(24, 3, 4, 23), '4h': upTo(6) })
    const [, , third] = history.listMarkets({
      coin: 'btc',
      timeframe: '4h',
      order: 'asc',
      limit: 9,
    })
    if (third === undefined) throw new Error('Six are held.')
    const [row] = [...snapshotRuns(history, { market: third })].flat()
    const after = `${third.conditionId}:${row?.id}`
    // The hour of 8 was sent before the third market: held, and not counted. The one of 23 is
    // missing.
    expect(await coverageOf(history, { after })).toBe(
      'partial;covered=0.967;gaps=2;reasons="import"',
    )
  })
})
