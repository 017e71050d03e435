import { describe, expect, test } from 'bun:test'

import {
  DOT_MAX,
  type Marks,
  mergeMarks,
  removedMerging,
  tradeMerging,
} from '#web/charts/merge-marks.ts'

/** A second and a cent are one pixel. */
const pixel = { ms: 1000, price: 0.01 }

type Mark = [second: number, cents: number, radius: number, group?: number | undefined]

const marksOf = (marks: Mark[]): Marks => ({
  times: Float64Array.from(marks, ([second]) => second * 1000),
  prices: Float64Array.from(marks, ([, cents]) => cents / 100),
  radii: Float64Array.from(marks, ([, , radius]) => radius),
  groups: Uint8Array.from(marks, ([, , , group = 0]) => group),
})

const listOf = ({ times, prices, radii, groups }: Marks): Mark[] =>
  Array.from(times, (ms, at) => [
    ms / 1000,
    Math.round((prices[at] ?? 0) * 100),
    Number((radii[at] ?? 0).toFixed(6)),
    groups[at],
  ])

const areaOf = ({ radii }: Marks): number => radii.reduce((sum, radius) => sum + radius ** 2, 0)

/** One each second of ten minutes, at prices that repeat. */
const many = (radius: number): Marks =>
  marksOf(
    Array.from({ length: 600 }, (_, at) => [
      at,
      40 + ((at * 7) % 5),
      radius + ((at * 7) % 3),
      at % 2,
    ]),
  )

describe('marks of a heat map that would cover others', () => {
  test('default: a dot takes the place of smaller ones of its side that it covers, with their area', () => {
    const marks = marksOf([
      [100, 50, 3],
      [102, 50, 4],
      [105, 50, 3, 1],
      [120, 50, 3],
    ])
    expect(listOf(mergeMarks(marks, pixel, tradeMerging))).toEqual([
      [102, 50, 5, 0],
      [105, 50, 3, 1],
      [120, 50, 3, 0],
    ])
  })

  test('default: crosses and diamonds do not touch others of their kind', () => {
    const merged = mergeMarks(many(3), pixel, removedMerging)
    const list = listOf(merged)
    expect(list.length).toBeWithin(10, 300)
    for (const [index, [second, cents, , group = 0]] of list.entries())
      for (const other of list.slice(index + 1).filter((each) => each[3] === group)) {
        const reach = removedMerging.reach(removedMerging.radiusMax, group)
        expect(Math.hypot(other[0] - second, other[1] - cents)).toBeGreaterThanOrEqual(reach)
      }
    expect(Math.max(...merged.radii)).toBe(removedMerging.radiusMax)
  })

  test('behavior: the area of all dots stays, and none is larger than that of the largest trade', () => {
    const marks = many(3)
    const merged = mergeMarks(marks, pixel, tradeMerging)
    expect(merged.times.length).toBeLessThan(marks.times.length / 2)
    expect(areaOf(merged)).toBeCloseTo(areaOf(marks), 6)
    expect(Math.max(...merged.radii)).toBeLessThanOrEqual(DOT_MAX)
  })

  test('behavior: in order of time, and each by itself where there is room', () => {
    const marks = many(3)
    const { times } = mergeMarks(marks, pixel, tradeMerging)
    expect([...times].toSorted((a, b) => a - b)).toEqual([...times])
    const wide = mergeMarks(marks, { ms: 10, price: 0.0001 }, tradeMerging)
    expect(listOf(wide)).toEqual(listOf(marks))
  })

  test('behavior: a picture that is dragged keeps them, also where its span is rounded', () => {
    const marks = many(3)
    const merged = mergeMarks(marks, pixel, tradeMerging)
    expect(mergeMarks(marks, { ...pixel, ms: 1000.0000001 }, tradeMerging)).toBe(merged)
    expect(mergeMarks(marks, { ...pixel, ms: 500 }, tradeMerging)).not.toBe(merged)
    // Back again, nothing is merged anew.
    expect(mergeMarks(marks, pixel, tradeMerging)).toBe(merged)
  })

  test('default: no marks are none', () => {
    expect(listOf(mergeMarks(marksOf([]), pixel, tradeMerging))).toEqual([])
  })
})
