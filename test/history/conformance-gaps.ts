/**
 * The conformance suite's part on gaps: those that are recorded, and those
 * that follow from the snapshots.
 */
import { describe, expect, test } from 'bun:test'

import { type Gap, type GapReason, gapReasons } from '#src/domain/coverage.ts'
import { outcomes } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRandom, type Random } from '#src/platform/random.ts'

import { appendAll, aSnapshot, conditionIdOf, getMarket, someSnapshots, START_MS } from './books.ts'
import type { Effort } from './conformance-random.ts'
import type { Use } from './conformance.ts'
import { GapModel } from './gap-model.ts'

const QUIET_MS = 5000
let batches = 0
let sizes = 0

/** A book of up, `afterMs` after the start, unlike any other. */
const at = (afterMs: number, changes: Partial<Snapshot> = {}): Snapshot =>
  aSnapshot({ timestampMs: START_MS + afterMs, ...changes }, ++sizes)

const gapsOf = (history: MarketHistory): readonly Gap[] => history.gaps(getMarket(history))

const aGap = (fromMs: number, toMs: number, changes: Partial<Gap> = {}): Gap => ({
  outcome: 'up',
  fromMs: START_MS + fromMs,
  toMs: START_MS + toMs,
  reason: 'import',
  ...changes,
})

/**
 * What follows from two snapshots and nothing between them: the first
 * is known at its own millisecond.
 */
const aSilence = (lastMs: number, nextMs: number, changes: Partial<Gap> = {}): Gap =>
  aGap(lastMs + 1, nextMs, changes)

async function appendFor(
  history: MarketHistory,
  snapshots: readonly Snapshot[],
  gapReason?: GapReason,
): Promise<void> {
  const id = `silent-${++batches}`
  await history.append({ id, source: 'simulated', snapshots, gapReason })
}

export function conformGaps(use: Use, effort: Effort): void {
  describe('gaps', () => {
    conformDerived(use)
    conformLate(use)
    conformReasons(use)
    conformFailure(use)
    conformAgainstModel(use, effort)
  })
  describe('putGaps', () => {
    conformRecorded(use)
  })
}

function conformDerived(use: Use): void {
  test(
    'default: a pause longer than a sixtieth of the timeframe is a gap, from after a snapshot to the next',
    use(async (history) => {
      await appendFor(history, [at(0), at(QUIET_MS), at(2 * QUIET_MS + 1)])
      expect(gapsOf(history)).toEqual([aSilence(QUIET_MS, 2 * QUIET_MS + 1)])
      expect(getMarket(history).longestSilenceMs).toEqual({ up: QUIET_MS + 1 })
    }),
  )

  test(
    'behavior: an unknown pause is none: no gap before the first snapshot, none after the last, none of one',
    use(async (history) => {
      const windowStartMs = START_MS - 90_000
      const windowEndMs = START_MS + 210_000
      const identity = { coin: 'btc', timeframe: '5m', source: 'simulated' } as const
      const conditionId = conditionIdOf(1)
      await history.putMarket({ conditionId, ...identity, windowStartMs, windowEndMs })
      expect(gapsOf(history)).toEqual([])
      await appendFor(history, [at(0)])
      await history.close(conditionId)
      expect(gapsOf(history)).toEqual([])
      const { spans, longestSilenceMs } = getMarket(history)
      expect([spans, longestSilenceMs]).toEqual([
        { up: { firstMs: START_MS, lastMs: START_MS } },
        {},
      ])
    }),
  )

  test(
    'behavior: each outcome has its own gaps',
    use(async (history) => {
      const down = { outcome: 'down' } as const
      await appendFor(history, [
        at(0),
        at(3000, down),
        at(4000),
        at(8000),
        at(20_000, down),
        at(9000),
      ])
      expect(gapsOf(history)).toEqual([aSilence(3000, 20_000, down)])
      expect(getMarket(history)).toMatchObject({
        spans: {
          up: { firstMs: START_MS, lastMs: START_MS + 9000 },
          down: { firstMs: START_MS + 3000, lastMs: START_MS + 20_000 },
        },
        longestSilenceMs: { up: 4000, down: 17_000 },
      })
    }),
  )
}

function conformLate(use: Use): void {
  test(
    'behavior: late rows split a gap, end it, or make one in front; what is left is exact',
    use(async (history) => {
      await appendFor(history, [at(0), at(60_000)])
      await appendFor(history, [at(20_000)])
      expect(gapsOf(history)).toEqual([aSilence(0, 20_000), aSilence(20_000, 60_000)])
      await appendFor(history, [at(5000), at(10_000), at(15_000)])
      expect(gapsOf(history)).toEqual([aSilence(20_000, 60_000)])
      await appendFor(history, [at(-30_000)])
      expect(gapsOf(history)).toEqual([aSilence(-30_000, 0), aSilence(20_000, 60_000)])
      const late = [25, 30, 35, 40, 45, 50, 55].map((second) => at(second * 1000))
      await appendFor(history, late)
      expect(gapsOf(history)).toEqual([aSilence(-30_000, 0)])
      expect(getMarket(history).longestSilenceMs.up).toBe(30_000)
      await appendFor(
        history,
        [-25, -20, -15, -10, -5].map((second) => at(second * 1000)),
      )
      expect([gapsOf(history), getMarket(history).longestSilenceMs.up]).toEqual([[], 5000])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: the pause beside rows that were replaced ends with the rows that replace them',
    use(async (history) => {
      // Without hashes: the second source says more of each of the same milliseconds.
      const two = (second: number) => [
        at(second * 1000, { bids: { prices: [400_000], sizes: [7_000_000] } }),
        at(second * 1000, { bids: { prices: [410_000], sizes: [7_000_000] } }),
      ]
      await appendFor(history, [at(0), at(30_000), at(60_000)])
      expect(getMarket(history).longestSilenceMs.up).toBe(30_000)
      await appendFor(history, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60].flatMap(two))
      expect(getMarket(history).longestSilenceMs.up).toBe(5000)
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: the longest pause is found among thousands of rows when a late one splits it',
    use(async (history) => {
      const rows = Array.from({ length: 900 }, (_, index) => at(index * 1000 + (index % 7) * 100))
      await appendFor(history, rows)
      expect(getMarket(history).longestSilenceMs.up).toBe(1100)
      const pauses = [at(902_000), at(905_000), at(906_000)]
      await appendFor(history, pauses)
      expect(getMarket(history).longestSilenceMs.up).toBe(3000)
      await appendFor(history, [at(903_000), at(904_000)])
      expect(getMarket(history).longestSilenceMs.up).toBe(2700)
      expect([...history.verify()]).toEqual([])
    }),
  )
}

function conformReasons(use: Use): void {
  test(
    'default: a gap has the reason of the batch that ends it, and `import` without one',
    use(async (history) => {
      for (const [index, reason] of [undefined, ...gapReasons].entries())
        await appendFor(history, [at(index * 10_000)], reason)
      expect(gapsOf(history).map(({ reason }) => reason)).toEqual([...gapReasons])
      await appendFor(history, [at(100_000)])
      expect(gapsOf(history).at(-1)?.reason).toBe('import')
    }),
  )

  test(
    'behavior: the parts of a gap that late rows split keep its reason',
    use(async (history) => {
      await appendFor(history, [at(0), at(60_000)], 'recorder_down')
      await appendFor(history, [at(-9000), at(30_000)], 'venue_silent')
      expect(gapsOf(history)).toEqual([
        aSilence(-9000, 0, { reason: 'venue_silent' }),
        aSilence(0, 30_000, { reason: 'recorder_down' }),
        aSilence(30_000, 60_000, { reason: 'recorder_down' }),
      ])
    }),
  )
}

function conformFailure(use: Use): void {
  test(
    'behavior: gaps of a failed batch are none',
    use(async (history) => {
      await appendFor(history, [at(0)])
      const before = getMarket(history)
      const fail = () => appendFor(history, [at(30_000), at(60_000), at(90_000, { coin: 'eth' })])
      expect(fail).toThrow('coin')
      expect([gapsOf(history), getMarket(history)]).toEqual([[], before])
    }),
  )
}

function conformRecorded(use: Use): void {
  test(
    'behavior: a pause of which it is on record why is no second gap',
    use(async (history) => {
      await appendFor(history, [at(0), at(60_000)], 'venue_silent')
      const why = aSilence(0, 60_000, { reason: 'recorder_down' })
      await history.putGaps(conditionIdOf(1), [why])
      expect(gapsOf(history)).toEqual([why])
    }),
  )

  test(
    'default: adds to those that follow from the snapshots, ascending, and is kept when these change',
    use(async (history) => {
      await appendFor(history, [at(0), at(60_000)])
      const down = aGap(10_000, 20_000, { outcome: 'down', reason: 'recorder_down' })
      const mismatch = aGap(-10, 5, { reason: 'hash_mismatch' })
      await history.putGaps(conditionIdOf(1), [down, mismatch])
      expect(gapsOf(history)).toEqual([mismatch, aSilence(0, 60_000), down])
      await appendFor(history, [at(30_000)])
      expect(gapsOf(history)).toEqual([
        mismatch,
        aSilence(0, 30_000),
        down,
        aSilence(30_000, 60_000),
      ])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: equal ones are kept once, derived ones included; empty ones are none',
    use(async (history) => {
      await appendFor(history, [at(0), at(60_000)])
      const gap = aGap(100, 200, { reason: 'recorder_down' })
      await history.putGaps(conditionIdOf(1), [gap, gap, aSilence(0, 60_000)])
      const { revision, layout } = getMarket(history)
      await history.putGaps(conditionIdOf(1), [gap, aGap(7, 7), aGap(9, 8)])
      expect(gapsOf(history)).toEqual([aSilence(0, 60_000), gap])
      expect(getMarket(history)).toMatchObject({ revision, layout })
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: a new gap raises the revision and not the layout, and appending goes on',
    use(async (history) => {
      await appendAll(history, someSnapshots(130))
      const { revision, layout } = getMarket(history)
      await history.putGaps(conditionIdOf(1), [aGap(0, 9, { reason: 'recorder_down' })])
      expect(getMarket(history)).toMatchObject({ revision: revision + 1, layout })
      await appendAll(history, someSnapshots(290))
      expect(getMarket(history).snapshotCounts).toEqual({ up: 145, down: 145 })
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'error: gaps of an unknown market are refused',
    use((history) => {
      const put = () => history.putGaps(conditionIdOf(9), [aGap(0, 1)])
      expect(put).toThrow(expect.objectContaining({ code: 'unknown_market' }))
    }),
  )
}

function conformAgainstModel(use: Use, { seeds, steps }: Effort): void {
  for (let seed = 1; seed <= seeds; seed++) {
    test(
      `behavior: spans, pauses and gaps are those of a plain model under random batches, seed ${seed}`,
      use(async (history) => {
        const random = createRandom(`gaps-${seed}`)
        const model = new GapModel()
        for (let step = 0; step < steps; step++) {
          const rows = randomRows(random)
          const reason = random.pick(gapReasons)
          await appendFor(history, rows, reason)
          model.add(rows, reason)
          if (random.integer(12) === 0) await history.close(conditionIdOf(1))
          checkAgainst(model, history)
        }
        expect([...history.verify()]).toEqual([])
      }),
    )
  }
}

/** Rows of one or both outcomes somewhere in ten minutes: together, spread, or at one moment. */
function randomRows(random: Random): Snapshot[] {
  const startMs = random.integer(600_000)
  const spreadMs = random.pick([1, 1000, 20_000, 300_000])
  const only = random.pick([undefined, ...outcomes])
  return Array.from({ length: random.pick([1, 1, 2, 5, 60]) }, () =>
    at(startMs + random.integer(spreadMs), { outcome: only ?? random.pick(outcomes) }),
  )
}

function checkAgainst(model: GapModel, history: MarketHistory): void {
  const { spans, longestSilenceMs } = getMarket(history)
  expect(gapsOf(history)).toEqual(model.gaps)
  for (const outcome of outcomes) {
    expect(spans[outcome]).toEqual(model.span(outcome))
    expect(longestSilenceMs[outcome]).toBe(model.longestMs(outcome))
  }
}
