import { describe, expect, test } from 'bun:test'

import { findFinerMove, findLargestMove } from '#web/charts/largest-move.ts'

const find = (...mids: [seconds: number, mid: number | null][]) =>
  findLargestMove(
    mids.map(([seconds]) => seconds),
    mids.map(([, mid]) => mid),
    10_000,
  )

describe('findLargestMove', () => {
  test('default: moments are ten seconds apart at most', () => {
    // 0.3 within 20 s, but 0.2 within 10.
    expect(find([0, 0.5], [10, 0.6], [20, 0.8])).toEqual({
      fromMs: 10_000,
      toMs: 20_000,
      from: 0.6,
      to: 0.8,
    })
    expect(find([0, 0.5], [4, 0.6], [9, 0.7], [14, 0.65])).toEqual({
      fromMs: 0,
      toMs: 9_000,
      from: 0.5,
      to: 0.7,
    })
  })

  test('behavior: a mid holds until the next one, so a jump after a long time counts', () => {
    expect(find([0, 0.5], [60, 0.3], [61, 0.3], [62, 0.31])).toEqual({
      fromMs: 50_000,
      toMs: 60_000,
      from: 0.5,
      to: 0.3,
    })
  })

  test('behavior: of equal ones the first counts, and none goes over what is not known', () => {
    expect(find([0, 0.5], [1, 0.6], [30, 0.7])?.toMs).toBe(1_000)
    expect(find([0, 0.1], [1, null], [2, 0.9], [3, 0.85])).toEqual({
      fromMs: 2_000,
      toMs: 3_000,
      from: 0.9,
      to: 0.85,
    })
  })

  test('behavior: without a change there is none', () => {
    expect(find([0, 0.5], [1, 0.5], [2, null])).toBeUndefined()
    expect(find()).toBeUndefined()
  })
})

describe('findFinerMove', () => {
  const found = { fromMs: 0, toMs: 300_000, from: 0.5, to: 0.45 }
  const quotes = (
    [
      [100_000, 0.51],
      [200_500, 0.4],
      [204_500, 0.38],
      [260_000, 0.45],
    ] as const
  ).map(([ms, mid]) => ({
    outcome: 'down' as const,
    timestamp: new Date(ms).toISOString(),
    bid: null,
    ask: null,
    mid,
  }))
  const finer = (gaps: { outcome: 'up' | 'down'; fromMs: number }[] = []) =>
    findFinerMove(found, { outcome: 'down', quotes, gaps: gaps as never }, 10_000)

  test('default: the largest move of some seconds within a step', () => {
    expect(finer()).toEqual({ fromMs: 194_500, toMs: 204_500, from: 0.51, to: 0.38 })
  })

  test('behavior: the first mid holds until the first quote, and no move goes over a gap', () => {
    const [first] = quotes
    const one = { outcome: 'down' as const, quotes: first ? [first] : [], gaps: [] }
    expect(findFinerMove(found, one, 10_000)).toEqual({
      fromMs: 90_000,
      toMs: 100_000,
      from: 0.5,
      to: 0.51,
    })
    expect(findFinerMove(found, { ...one, quotes: [] }, 10_000)).toBeUndefined()
    expect(finer([{ outcome: 'down', fromMs: 201_000 }])).toMatchObject({ toMs: 200_500, to: 0.4 })
  })
})
