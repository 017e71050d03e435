import { describe, expect, test } from 'bun:test'
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'

import { parseMillionths } from '#src/domain/decimal.ts'
import { type MarketFacts, timeframeMs } from '#src/domain/market.ts'
import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'
import { simulate, simulatedSpan, type SimulateOptions } from '#src/simulator/simulator.ts'

import { type BookStatistics, measureBooks } from '../support/book-statistics.ts'

const START_MS = Date.UTC(2026, 3, 13, 12)
const recordings = join(import.meta.dir, '../../../shared/data/polymarket')
const recording = join(recordings, 'snapshots-btc-5m-20260414.jsonl.gz')
const RECORDED_STATES = 15_000

/** A quarter of the usual rate keeps a test quick; statistics are measured at the full one. */
function run(changes: Partial<SimulateOptions> = {}) {
  const options: SimulateOptions = {
    seed: 'test',
    coins: ['btc', 'eth'],
    timeframes: ['5m'],
    markets: 2,
    startMs: START_MS,
    statesPerSecond: 3,
    ...changes,
  }
  const batches = [...simulate(options)]
  const snapshots = batches.flatMap((batch) => batch.snapshots)
  const facts = batches.flatMap((batch) => batch.facts)
  return { options, batches, snapshots, facts }
}

const winnersOf = (facts: readonly MarketFacts[]) =>
  facts.filter(({ winner }) => winner !== undefined)

describe('simulate: order and identity', () => {
  test('behavior: the same seed gives the same batches, another seed other books', () => {
    expect(run().batches).toEqual(run().batches)
    const markets = new Set(run().snapshots.map(({ conditionId }) => conditionId))
    const others = run({ seed: 'other' }).snapshots
    expect(others.some(({ conditionId }) => markets.has(conditionId))).toBe(false)
  })

  test('behavior: a market is the same whatever runs beside it', () => {
    const { snapshots } = run()
    const alone = run({ coins: ['eth'] }).snapshots
    expect(snapshots.filter(({ coin }) => coin === 'eth')).toEqual([...alone])
  })

  test('behavior: is in order of time across markets and stays in its span', () => {
    const { snapshots, options } = run({ timeframes: ['5m', '15m'] })
    const times = snapshots.map(({ timestampMs }) => timestampMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    const { fromMs, toMs } = simulatedSpan(options)
    expect(times[0]).toBeGreaterThanOrEqual(fromMs)
    expect(times.at(-1)).toBeLessThan(toMs)
  })

  test('behavior: every window has a state soon, however sparse the states before it are', () => {
    // The longest gap of a recorded window, 3 s at 12.5 states/s, at one state/s.
    const gapMsMax = 37_500
    const { snapshots, facts } = run({ markets: 60, statesPerSecond: 1 })
    const firstMs = new Map<string, number>()
    for (const { conditionId, timestampMs } of snapshots.toReversed()) {
      const { windowStartMs = 0 } = facts.find((one) => one.conditionId === conditionId) ?? {}
      if (timestampMs >= windowStartMs) firstMs.set(conditionId, timestampMs - windowStartMs)
    }
    expect(firstMs.size).toBe(120)
    expect(Math.max(...firstMs.values())).toBeLessThanOrEqual(gapMsMax)
  })

  test('behavior: no token has two states at one time', () => {
    const { snapshots } = run()
    const keys = new Set(snapshots.map(({ assetId, timestampMs }) => `${assetId} ${timestampMs}`))
    expect(keys.size).toBe(snapshots.length)
  })

  test('default: ids have the forms of the venue, and no state has a hash of it', () => {
    for (const { conditionId, assetId, sourceHash } of run().snapshots.slice(0, 1_000)) {
      expect(conditionId).toMatch(/^0x[0-9a-f]{64}$/)
      expect(assetId).toMatch(/^\d{1,78}$/)
      expect(sourceHash).toBeUndefined()
    }
  })

  test('behavior: one outcome alone is the same as in both', () => {
    const both = run().snapshots.filter(({ outcome }) => outcome === 'down')
    expect(run({ outcomes: 'down' }).snapshots).toEqual(both)
  })

  test('behavior: a bound on snapshots cuts each market short and still tells its winner', () => {
    const { snapshots, facts } = run({ maxSnapshotsPerMarket: 101 })
    expect(snapshots).toHaveLength(400)
    expect(winnersOf(facts)).toHaveLength(4)
    const whole = run()
      .snapshots.filter(({ coin }) => coin === 'btc')
      .slice(0, 100)
    expect(snapshots.filter(({ coin }) => coin === 'btc').slice(0, 100)).toEqual(whole)
    expect(run({ maxSnapshotsPerMarket: 1 }).snapshots).toEqual([])
  })
})

describe('simulate: books', () => {
  const { snapshots } = run({ coins: ['btc'], markets: 12 })

  test('behavior: prices are strictly ordered, sizes positive, both exact', () => {
    const faults = snapshots.filter(({ bids, asks }) => !isSound(bids, -1) || !isSound(asks, 1))
    expect(faults).toEqual([])
  })

  test('behavior: no book is crossed, locked or empty on both sides', () => {
    const faults = snapshots.filter(({ bids, asks }) => {
      const isEmpty = bids.prices.length + asks.prices.length === 0
      return isEmpty || (bids.prices[0] ?? 0) >= (asks.prices[0] ?? 1_000_000)
    })
    expect(faults).toEqual([])
  })

  test('behavior: down mirrors up exactly, at the same time', () => {
    for (let index = 0; index < snapshots.length; index += 2) {
      const up = snapshots[index]
      const down = snapshots[index + 1]
      if (!up || !down) throw new Error('Snapshots do not come in pairs.')
      expect([up.outcome, down.outcome]).toEqual(['up', 'down'])
      expect(down.timestampMs).toBe(up.timestampMs)
      expect(down.conditionId).toBe(up.conditionId)
      if (!isMirror(up.bids, down.asks) || !isMirror(up.asks, down.bids)) {
        expect(down.asks).toEqual(up.bids)
      }
    }
  })

  test('behavior: every state differs from the one before', () => {
    const states = snapshots.filter(({ outcome }) => outcome === 'up')
    const former = new Map<string, Snapshot>()
    for (const state of states) {
      const last = former.get(state.conditionId)
      former.set(state.conditionId, state)
      expect(last?.bids === state.bids && last.asks === state.asks).toBe(false)
    }
  })

  test('default: a side is empty late in some windows and after most', () => {
    const isOneSided = ({ bids, asks }: Snapshot) => bids.prices.length * asks.prices.length === 0
    const oneSided = snapshots.filter(isOneSided)
    const intoWindow = oneSided.map(({ timestampMs }) => (timestampMs - START_MS) % 300_000)
    expect(oneSided.length).toBeGreaterThan(0)
    expect(intoWindow.filter((ms) => ms > 5_000 && ms < 60_000)).toEqual([])
  })

  test('default: prices near 0 and 1 have the finer tick in some markets', () => {
    const many = run({
      coins: ['btc', 'eth', 'sol', 'xrp'],
      markets: 40,
      statesPerSecond: 0.2,
      outcomes: 'up',
    })
    const isFine = ({ bids, asks }: Snapshot) =>
      [...bids.prices, ...asks.prices].some((price) => price % 10_000 !== 0)
    const fine = many.snapshots.filter(isFine)
    expect(fine.length).toBeGreaterThan(0)
    expect(fine.length / many.snapshots.length).toBeLessThan(0.05)
  })
})

describe('simulate: facts', () => {
  test('behavior: a market is announced first, and told again with its winner at its end', () => {
    const { facts, options } = run({ timeframes: ['5m', '15m'], startMs: START_MS + 1 })
    expect(facts).toHaveLength(16)
    const first = facts.slice(0, 1)
    expect(first.map(({ winner }) => winner)).toEqual([undefined])
    for (const { timeframe, windowStartMs = 0, windowEndMs = 0, slug, coin } of facts) {
      expect(windowStartMs % timeframeMs[timeframe]).toBe(0)
      expect(windowStartMs).toBeGreaterThanOrEqual(options.startMs)
      expect(windowEndMs - windowStartMs).toBe(timeframeMs[timeframe])
      expect(slug).toBe(`sim-${coin}-updown-${timeframe}-${windowStartMs / 1_000}`)
    }
  })

  test("default: questions are in the venue's words, in New York's time", () => {
    const question = 'Bitcoin Up or Down - April 13, 8:00AM-8:05AM ET'
    expect(run().facts[0]).toMatchObject({ question, source: 'simulated' })
  })

  test('behavior: the winner is the side that the last books are on', () => {
    const { snapshots, facts } = run({ markets: 10, outcomes: 'up' })
    for (const { conditionId, winner, windowEndMs = 0 } of winnersOf(facts)) {
      const last = snapshots.findLast((snapshot) => snapshot.conditionId === conditionId)
      if (!last || last.timestampMs < windowEndMs) continue
      const middle = (last.bids.prices[0] ?? 0) + (last.asks.prices[0] ?? 1_000_000)
      expect(middle > 1_000_000 ? 'up' : 'down').toBe(winner ?? 'up')
    }
  })

  test('default: Up wins about half of the markets', () => {
    const { facts } = run({
      coins: ['btc', 'eth', 'sol', 'xrp'],
      markets: 100,
      maxSnapshotsPerMarket: 2,
    })
    const winners = winnersOf(facts)
    const ups = winners.filter(({ winner }) => winner === 'up').length
    expect(winners).toHaveLength(400)
    expect(Math.abs(ups / 400 - 0.5)).toBeLessThan(0.08)
  })
})

describe('simulate: statistics', () => {
  const { snapshots } = run({
    coins: ['btc'],
    markets: 5,
    outcomes: 'down',
    statesPerSecond: undefined,
  })
  const simulated = measureBooks(snapshots)

  test('default: depth, changes and pace are those of the recordings as documented', () => {
    expect(simulated.levelsP50).toBeWithin(97, 100)
    expect(simulated.changedMean).toBeWithin(11, 15)
    expect(simulated.gapMsP50).toBeWithin(27, 40)
    expect(simulated.oneTickSpread).toBeWithin(0.7, 0.9)
    expect(simulated.touchMoved).toBeWithin(0.12, 0.25)
  })

  test('default: half of all seconds have about 12 states', () => {
    const perSecond = new Map<number, number>()
    for (const { timestampMs } of snapshots.filter(isInWindow)) {
      const second = Math.floor(timestampMs / 1_000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
    const counts = [...perSecond.values()].sort((a, b) => a - b)
    expect(counts[Math.floor(counts.length / 2)]).toBeWithin(9, 15)
  })

  const hasRecording = existsSync(recording)
  const reason = hasRecording ? '' : ' (skipped: ../shared/data is not here)'
  test.skipIf(!hasRecording)(`default: agrees with recorded books${reason}`, async () => {
    const recorded = measureBooks(await readRecorded(RECORDED_STATES))
    for (const [name, [low, high]] of Object.entries(agreement)) {
      const key = name as keyof BookStatistics
      const ratio = simulated[key] / recorded[key]
      expect([name, ratio < low || ratio > high ? ratio : 'agrees']).toEqual([name, 'agrees'])
    }
  })
})

/** Simulated over recorded: the two full recordings differ by up to a third from each other. */
const agreement = {
  levelsP50: [0.95, 1.05],
  levelsP05: [0.8, 1.25],
  gapMsP50: [0.6, 1.6],
  gapMsP90: [0.6, 1.6],
  changedMean: [0.7, 1.4],
  changedP50: [0.65, 1.5],
  changedP95: [0.7, 1.4],
  nearChanges: [0.8, 1.25],
  structuralChanges: [0.4, 3],
  oneTickSpread: [0.8, 1.25],
  touchMoved: [0.6, 1.6],
  wholeSizes: [0.7, 1.4],
  hundredthSizes: [0.7, 1.4],
  sizeP50: [0.6, 1.6],
} satisfies Partial<Record<keyof BookStatistics, [low: number, high: number]>>

function isInWindow({ timestampMs }: Snapshot): boolean {
  return timestampMs >= START_MS
}

function isSound({ prices, sizes }: Ladder, direction: 1 | -1): boolean {
  const isOrdered = prices.every(
    (price, index) => index === 0 || (price - (prices[index - 1] ?? 0)) * direction > 0,
  )
  const arePrices = prices.every((price) => price > 0 && price < 1_000_000 && price % 1_000 === 0)
  const areSizes = sizes.every(
    (size) => Number.isSafeInteger(size) && size > 0 && size % 10_000 === 0,
  )
  return isOrdered && arePrices && areSizes && prices.length === sizes.length
}

function isMirror(one: Ladder, other: Ladder): boolean {
  return (
    one.prices.length === other.prices.length &&
    one.prices.every((price, index) => price + (other.prices[index] ?? 0) === 1_000_000) &&
    one.sizes.every((size, index) => size === other.sizes[index])
  )
}

type RecordedLevel = { price: string; size: string }

async function readRecorded(count: number): Promise<Snapshot[]> {
  const file = createReadStream(recording)
  const snapshots: Snapshot[] = []
  for await (const line of createInterface({ input: file.pipe(createGunzip()) })) {
    const row = JSON.parse(line)
    const timestampMs = Date.parse(row.timestamp)
    snapshots.push({ ...row, timestampMs, bids: toLadder(row.bids), asks: toLadder(row.asks) })
    if (snapshots.length === count) break
  }
  file.destroy()
  return snapshots
}

/** The best level comes last in recordings. */
function toLadder(levels: readonly RecordedLevel[]): Ladder {
  const best = levels.toReversed()
  return {
    prices: best.map(({ price }) => parseMillionths(price) ?? 0),
    sizes: best.map(({ size }) => parseMillionths(size) ?? 0),
  }
}
