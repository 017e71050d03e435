import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { coins, mainCoins } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { makeSample, type SimulateOptions, storeSimulation } from '#src/simulator/simulator.ts'

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

  test('default: makes a few thousand snapshots of three markets of each main coin, and says how far it is', () => {
    const history = aHistory()
    makeSample(history, { print, clock: () => NOW_MS })
    expect(history.totals().markets).toBe(mainCoins.length * 3 + (coins.length - mainCoins.length))
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
