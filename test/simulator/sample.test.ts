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

  test('default: makes a few thousand snapshots of three markets of Bitcoin, two of each other main coin and one of each other, and says how far it is', () => {
    const history = aHistory()
    makeSample(history, { print, clock: () => NOW_MS })
    expect(history.totals().markets).toBe(coins.length + mainCoins.length + 1)
    for (const coin of coins) expect(history.listMarkets({ coin, limit: 9 })).not.toEqual([])
    expect(history.totals().snapshots).toBeWithin(5_000, 12_000)
    expect(lines.length).toBeLessThanOrEqual(4)
    expect(lines.at(-1)).toBe('Making a simulated sample: 100 %')
  })

  test('behavior: every market is over and recent, closed, simulated and has a winner', () => {
    const history = aHistory()
    makeSample(history, { print, clock: () => NOW_MS })
    for (const market of listAll(history)) {
      expect(market.windowEndMs).toBeWithin(NOW_MS - 20 * 60_000, NOW_MS)
      expect(market.lastSnapshotMs).toBeLessThan(NOW_MS)
      expect(market.winner).toBeOneOf(['up', 'down'])
      expect(market).toMatchObject({ isClosed: true, source: 'simulated' })
    }
  })
})

describe('makeSample and createMovingMarket', () => {
  const history = openHistory(':memory:', { chunkCacheBytes: 0 })
  histories.push(history)
  makeSample(history, { print: () => undefined, clock: () => NOW_MS })
  const sample = createMovingMarket(history)
  // Until two windows of the moving market are over.
  const endMs = Math.ceil(NOW_MS / 300_000 + 2) * 300_000 + 10_000
  for (let nowMs = NOW_MS; nowMs <= endMs; nowMs += 500) while (sample.tick(nowMs) === 'behind');
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

  test('behavior: each has a strike, a final price that agrees with its winner, trades, and a price of the coin each few seconds', () => {
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
      expect(Math.max(...pauses)).toBeLessThan(10_000)
      for (const { price } of ticks) expect(Number(price) / Number(strike)).toBeWithin(0.99, 1.01)
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

  test('behavior: doing it again adds nothing and changes no market', () => {
    const history = aHistory()
    const first = [...storeSimulation(history, options)].at(-1)
    expect(first).toMatchObject({ markets: 1, accepted: first?.snapshots, fraction: 1 })
    const before = listAll(history)
    expect([...storeSimulation(history, options)].at(-1)).toMatchObject({ accepted: 0 })
    expect(listAll(history)).toEqual(before)
  })

  test('behavior: goes on where it was stopped', () => {
    const stopped = aHistory()
    const whole = aHistory()
    storeSimulation(stopped, options).next()
    expect(stopped.totals().snapshots).toBeGreaterThan(0)
    const last = [...storeSimulation(stopped, options)].at(-1)
    expect(last?.accepted).toBeLessThan(last?.snapshots ?? 0)
    expect([...storeSimulation(whole, options)].at(-1)?.snapshots).toBe(last?.snapshots)
    expect(stopped.totals().snapshots).toBe(whole.totals().snapshots)
  })

  test('behavior: another seed makes other markets of the same windows', () => {
    const history = aHistory()
    for (const seed of [1, 2]) {
      const last = [...storeSimulation(history, { ...options, seed })].at(-1)
      expect(last?.accepted).toBe(last?.snapshots)
    }
    expect(new Set(listAll(history).map(({ slug }) => slug)).size).toBe(1)
    expect(history.totals().markets).toBe(2)
  })
})
