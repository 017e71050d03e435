import { describe, expect, test } from 'bun:test'

import { createRandom } from '#src/platform/random.ts'

const DRAWS = 100_000

const drawMany = (draw: () => number) => Array.from({ length: DRAWS }, draw)
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

describe('createRandom', () => {
  test('behavior: a seed gives the same draws on every platform, for good', () => {
    const random = createRandom('bookfeed')
    expect(Array.from({ length: 4 }, () => random.integer(1_000_000))).toEqual([
      194461, 405535, 385493, 592479,
    ])
  })

  test('behavior: another seed gives other draws, however similar', () => {
    const one = createRandom('1')
    const two = createRandom('2')
    const equal = Array.from({ length: 100 }, () => one.uniform() === two.uniform())
    expect(equal).not.toContain(true)
  })

  test('default: uniform draws fill 0 to 1 evenly', () => {
    const random = createRandom('uniform')
    const draws = drawMany(random.uniform)
    const tenths = Array.from({ length: 10 }, () => 0)
    for (const draw of draws)
      tenths[Math.floor(draw * 10)] = (tenths[Math.floor(draw * 10)] ?? 0) + 1
    expect(tenths).toHaveLength(10)
    for (const count of tenths) expect(Math.abs(count / DRAWS - 0.1)).toBeLessThan(0.005)
  })

  test('default: integers are below their bound and reach both ends', () => {
    const random = createRandom('integer')
    const draws = new Set(drawMany(() => random.integer(6)))
    expect([...draws].sort()).toEqual([0, 1, 2, 3, 4, 5])
    expect(random.integer(1)).toBe(0)
  })

  test('default: normal draws have mean 0, variance 1 and tails of the right weight', () => {
    const random = createRandom('normal')
    const draws = drawMany(random.normal)
    expect(Math.abs(mean(draws))).toBeLessThan(0.02)
    expect(Math.abs(mean(draws.map((draw) => draw * draw)) - 1)).toBeLessThan(0.02)
    const beyondTwo = draws.filter((draw) => Math.abs(draw) > 2).length / DRAWS
    expect(Math.abs(beyondTwo - 0.0455)).toBeLessThan(0.004)
  })

  test('default: picks every item', () => {
    const random = createRandom('pick')
    const items = ['a', 'b', 'c']
    expect(new Set(Array.from({ length: 100 }, () => random.pick(items)))).toEqual(new Set(items))
  })

  test('error: refuses to pick from an empty list', () => {
    expect(() => createRandom('pick').pick([])).toThrow('empty list')
  })
})
