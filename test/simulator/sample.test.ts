import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { coverageText } from '#src/domain/coverage.ts'
import { coins, mainCoins, type Market } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { createMovingMarket } from '#src/simulator/moving-market.ts'
import { makeSample } from '#src/simulator/sample.ts'
import { type SimulateOptions, storeSimulation } from '#src/simulator/simulator.ts'

import { NOW_MS } from '../support/harness.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-sample-'))
})
const histories: MarketHistory[] = []
afterAll(() => {
  for (const history of histories) history.dispose()
  rmSync(folder, { recursive: true })
})

/** A history of its own for a test, disposed of after all of them. */
function aHistory(): MarketHistory {
  const history = openHistory(join(folder, `${histories.length}.db`), { chunkCacheBytes: 0 })
  histories.push(history)
  return history
}

const listAll = (history: MarketHistory) =>
  coins.flatMap((coin) => history.listMarkets({ coin, limit: 100 }))

describe('makeSample', () => {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)

  test('default: makes a few thousand snapshots of three markets of Bitcoin, two of each other main coin and one of each other, and says how far it is', async () => {
    const history = aHistory()
    await makeSample(history, { print, clock: () => NOW_MS })
    expect(history.totals().markets).toBe(coins.length + mainCoins.length + 1)
    for (const coin of coins) expect(history.listMarkets({ coin, limit: 9 })).not.toEqual([])
    expect(history.totals().snapshots).toBeWithin(5_000, 12_000)
    expect(lines.length).toBeLessThanOrEqual(4)
    expect(lines.at(-1)).toBe('Making a simulated sample: 100 %')
  })

  test('behavior: every market is over and recent, closed, simulated and has a winner', async () => {
    const history = aHistory()
    await makeSample(history, { print, clock: () => NOW_MS })
    for (const market of listAll(history)) {
      expect(market.windowEndMs).toBeWithin(NOW_MS - 20 * 60_000, NOW_MS)
      expect(market.lastSnapshotMs).toBeLessThan(NOW_MS)
      expect(market.winner).toBeOneOf(['up', 'down'])
      expect(market).toMatchObject({ isClosed: true, source: 'simulated' })
    }
  })
})

/** When the venue settled windows of five minutes on an average, and when on a price. */
const AVERAGED_MS = Date.UTC(2026, 10, 27, 10, 2, 3, 456)
describe.each([
  ['twap60', AVERAGED_MS],
  ['spot', NOW_MS],
] as const)('makeSample and createMovingMarket, when %s settles', async (rule, startMs) => {
  const history = openHistory(':memory:', { chunkCacheBytes: 0 })
  histories.push(history)
  await makeSample(history, { print: () => undefined, clock: () => startMs })
  const sample = createMovingMarket(history)
  // Until two windows of the moving market are over.
  const endMs = Math.ceil(startMs / 300_000 + 2) * 300_000 + 10_000
  for (let nowMs = startMs; nowMs <= endMs; nowMs += 500)
    while ((await sample.tick(nowMs)) === 'behind');
  const markets = listAll(history)
  const over = markets.filter(({ isClosed }) => isClosed)

  test('default: all that is over of both outcomes is covered', () => {
    expect(over.length).toBeGreaterThan(coins.length + mainCoins.length)
    for (const market of over) {
      const gaps = history.gaps(market)
      expect([market.slug, coverageText({ market, gaps, nowMs: endMs })]).toEqual([
        market.slug,
        'full',
      ])
    }
  })

  test('behavior: what is open is covered too, and so is what comes next', () => {
    const rest = markets.filter(({ isClosed, firstSnapshotMs }) => !isClosed && firstSnapshotMs)
    expect(rest.length).toBeGreaterThan(0)
    for (const market of rest)
      expect(coverageText({ market, gaps: history.gaps(market), nowMs: endMs })).toBe('full')
  })

  test('behavior: each has a strike, a final price that agrees with its winner, trades, and a price of the coin each second', () => {
    for (const market of over) {
      const { coin, strike, finalPrice, winner, windowStartMs = 0, windowEndMs = 0 } = market
      expect([market.slug, winner]).toEqual([
        market.slug,
        Number(finalPrice) >= Number(strike) ? 'up' : 'down',
      ])
      expect(history.trades({ market }).length).toBeGreaterThan(10)
      const range = { fromMs: windowStartMs, toMs: windowEndMs, order: 'asc' } as const
      const ticks = history.spot({ coin, ...range, limit: 1_000 })
      const times = [windowStartMs, ...ticks.map(({ timestampMs }) => timestampMs), windowEndMs]
      const pauses = times.slice(1).map((timeMs, index) => timeMs - (times[index] ?? 0))
      expect(Math.max(...pauses)).toBe(1_000)
      for (const { price } of ticks) expect(Number(price) / Number(strike)).toBeWithin(0.99, 1.01)
    }
  })

  test('default: the final price is what the rule of the venue gives for the prices of the coin, and so is the strike', () => {
    const unitsOf = (price: string) => Number(price.replace('.', ''))
    /** What a window that ends at a moment settles on, in the smallest unit; undefined without prices. */
    const settledAt = ({ coin }: Market, atMs: number): number | undefined => {
      const range = rule === 'twap60' ? [atMs - 60_000, atMs] : [atMs, atMs + 1]
      const [fromMs, toMs] = range
      const ticks = history.spot({ coin, fromMs, toMs, order: 'asc', limit: 100 })
      if (ticks.length === 0) return undefined
      expect(ticks).toHaveLength(rule === 'twap60' ? 60 : 1)
      const sum = ticks.reduce((total, { price }) => total + unitsOf(price), 0)
      return Math.round(sum / ticks.length)
    }
    const strikes = over.map((market) => {
      const {
        settlementRule,
        strike = '',
        finalPrice = '',
        windowStartMs = 0,
        windowEndMs = 0,
      } = market
      expect(settlementRule).toBe(rule)
      expect(settledAt(market, windowEndMs)).toBe(unitsOf(finalPrice))
      const strikeUnits = settledAt(market, windowStartMs)
      if (strikeUnits !== undefined) expect(strikeUnits).toBe(unitsOf(strike))
      return strikeUnits
    })
    expect(strikes.filter((units) => units !== undefined).length).toBeGreaterThan(mainCoins.length)
  })

  test('behavior: the price of a coin goes on where the window before ended', () => {
    for (const coin of mainCoins) {
      const ticks = history.spot({ coin, order: 'asc', limit: 10_000 })
      expect(new Set(ticks.map(({ timestampMs }) => timestampMs)).size).toBe(ticks.length)
      for (const [index, { price }] of ticks.slice(1).entries())
        expect(Number(price) / Number(ticks[index]?.price)).toBeWithin(0.9995, 1.0005)
    }
  })

  test('behavior: the final price of a window is the strike of the next, also from the sample to the moving market', () => {
    for (const coin of mainCoins) {
      const windows = history.listMarkets({ coin, order: 'asc', limit: 100 }).filter(isOver)
      for (const [index, market] of windows.slice(1).entries())
        expect(market.strike).toBe(windows[index]?.finalPrice ?? '')
    }
  })
})

const isOver = ({ isClosed }: Market): boolean => isClosed

describe('storeSimulation', () => {
  const options: SimulateOptions = {
    seed: 1,
    coins: ['btc'],
    timeframes: ['5m'],
    markets: 1,
    startMs: NOW_MS,
    statesPerSecond: 4,
  }

  test('behavior: doing it again adds nothing and changes no market', async () => {
    const history = aHistory()
    const first = (await Array.fromAsync(storeSimulation(history, options))).at(-1)
    expect(first).toMatchObject({ markets: 1, accepted: first?.snapshots, fraction: 1 })
    const before = listAll(history)
    expect((await Array.fromAsync(storeSimulation(history, options))).at(-1)).toMatchObject({
      accepted: 0,
    })
    expect(listAll(history)).toEqual(before)
  })

  test('behavior: goes on where it was stopped', async () => {
    const stopped = aHistory()
    const whole = aHistory()
    await storeSimulation(stopped, options).next()
    expect(stopped.totals().snapshots).toBeGreaterThan(0)
    const last = (await Array.fromAsync(storeSimulation(stopped, options))).at(-1)
    expect(last?.accepted).toBeLessThan(last?.snapshots ?? 0)
    expect((await Array.fromAsync(storeSimulation(whole, options))).at(-1)?.snapshots).toBe(
      last?.snapshots,
    )
    expect(stopped.totals().snapshots).toBe(whole.totals().snapshots)
  })

  test('behavior: another seed makes other markets of the same windows', async () => {
    const history = aHistory()
    for (const seed of [1, 2]) {
      const last = (await Array.fromAsync(storeSimulation(history, { ...options, seed }))).at(-1)
      expect(last?.accepted).toBe(last?.snapshots)
    }
    expect(new Set(listAll(history).map(({ slug }) => slug)).size).toBe(1)
    expect(history.totals().markets).toBe(2)
  })
})
