import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { type Timeframe, timeframeMs } from '#src/domain/market.ts'
import { type MissingRun, missingWindows } from '#src/domain/windows.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 3, 14)
const LATER_MS = START_MS + 1000 * DAY_MS

const day = { fromMs: START_MS, toMs: START_MS + DAY_MS, nowMs: LATER_MS }
const hoursOf = (runs: readonly MissingRun[]) =>
  runs.map(({ fromMs, toMs, windows }) => [
    (fromMs - START_MS) / HOUR_MS,
    (toMs - START_MS) / HOUR_MS,
    windows,
  ])
const missing = (
  timeframe: Timeframe,
  hours: readonly number[],
  changes: Partial<typeof day> = {},
) =>
  hoursOf(
    missingWindows(
      hours.map((hour) => START_MS + hour * HOUR_MS),
      { timeframe, ...day, ...changes },
    ),
  )

describe('missingWindows', () => {
  test('default: before, between and behind the held ones; none where all are held', () => {
    expect(missing('1h', [3, 4, 7, 22])).toEqual([
      [0, 3, 3],
      [5, 7, 2],
      [8, 22, 14],
      [23, 24, 1],
    ])
    expect(missing('4h', [0, 4, 8, 12, 16, 20])).toEqual([])
  })

  test('behavior: where none is held, every multiple of the length counts', () => {
    expect(missing('4h', [])).toEqual([[0, 24, 6]])
    expect(missing('4h', [], { fromMs: START_MS + 1 })).toEqual([[4, 24, 5]])
    const fromEver = missingWindows([], { timeframe: '5m', fromMs: 0, toMs: 1e12 + 1, nowMs: 2e12 })
    expect(fromEver).toEqual([{ fromMs: 0, toMs: 1e12 + 200_000, windows: 3_333_334 }])
  })

  test('behavior: windows that follow another clock are expected by it', () => {
    expect(missing('4h', [1, 9])).toEqual([
      [5, 9, 1],
      [13, 25, 3],
    ])
    expect(missing('1d', [16])).toEqual([])
    // When clocks change, a day has 23 or 25 hours, and nothing is missing.
    const month = { fromMs: START_MS, toMs: START_MS + 4 * DAY_MS }
    expect(missing('1d', [17, 40, 64, 89], month)).toEqual([])
    expect(missing('1d', [17, 64, 89], month)).toEqual([[41, 64, 1]])
  })

  test('behavior: what has not opened is not missing, what is open is up to now', () => {
    const nowMs = START_MS + 2.5 * HOUR_MS
    expect(missing('1h', [0], { nowMs })).toEqual([[1, 2.5, 2]])
    expect(missing('1h', [0, 1], { nowMs: START_MS + 2 * HOUR_MS })).toEqual([])
    expect(missing('1h', [], { nowMs: START_MS })).toEqual([])
  })

  test('behavior: several markets of one window are one', () => {
    expect(missing('4h', [0, 0, 4, 8, 8.1, 12, 16, 20])).toEqual([])
    expect(missing('4h', [0, 0, 4, 4, 8, 12])).toEqual([[16, 24, 2]])
  })

  test('property: on a grid, each window is held, missing once, or outside; parts of a range add up', () => {
    const index = fc.integer({ min: -5, max: 40 })
    fc.assert(
      fc.property(
        fc.record({
          held: fc.uniqueArray(index, { maxLength: 20 }),
          bounds: fc.tuple(index, index, index).map((three) => three.sort((a, b) => a - b)),
          timeframe: fc.constantFrom<Timeframe>('5m', '15m', '1h'),
          phaseMs: fc.nat({ max: 299_999 }),
        }),
        ({ held, bounds: [first = 0, middle = 0, last = 0], timeframe, phaseMs }) => {
          const stepMs = timeframeMs[timeframe]
          fc.pre(held.length > 0 || phaseMs === 0)
          const startOf = (at: number) => START_MS + phaseMs + at * stepMs
          const starts = held.sort((a, b) => a - b).map(startOf)
          const find = (from: number, to: number) =>
            missingWindows(starts, {
              timeframe,
              fromMs: startOf(from),
              toMs: startOf(to),
              nowMs: LATER_MS,
            })
          const found = find(first, last).flatMap(({ fromMs, toMs, windows }) => {
            expect(toMs - fromMs).toBe(windows * stepMs)
            return Array.from({ length: windows }, (_, at) => fromMs + at * stepMs)
          })
          const expected = Array.from({ length: last - first }, (_, at) => first + at)
          expect(found).toEqual(expected.filter((at) => !held.includes(at)).map(startOf))
          const count = (runs: readonly MissingRun[]) =>
            runs.reduce((sum, { windows }) => sum + windows, 0)
          expect(count(find(first, middle)) + count(find(middle, last))).toBe(found.length)
        },
      ),
    )
  })
})
