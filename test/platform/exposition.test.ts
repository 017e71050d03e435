import { expect, test } from 'bun:test'

import { printFamily, printHistogram } from '#src/platform/exposition.ts'

test('default: a family has its help, its type and a line a sample', () => {
  const samples = [
    [{ path: 'a"b\\c\nd' }, 1.5],
    [{ path: 'unknown' }, undefined],
  ] as const
  expect(printFamily({ name: 'x_total', help: 'Of x.', type: 'counter', samples })).toEqual([
    '# HELP x_total Of x.',
    '# TYPE x_total counter',
    'x_total{path="a\\"b\\\\c\\nd"} 1.5',
  ])
  const none = [[{}, undefined]] as const
  expect(printFamily({ name: 'x', help: 'Of x.', type: 'gauge', samples: none })).toEqual([])
})

test('default: the buckets of a histogram hold those below them, too', () => {
  const series = [{ labels: { a: 1 }, counts: [2, 0, 3], sum: 9 }]
  expect(printHistogram({ name: 'x', help: 'Of x.', bounds: [0.1, 1], series })).toEqual([
    '# HELP x Of x.',
    '# TYPE x histogram',
    'x_bucket{a="1",le="0.1"} 2',
    'x_bucket{a="1",le="1"} 2',
    'x_bucket{a="1",le="+Inf"} 5',
    'x_sum{a="1"} 9',
    'x_count{a="1"} 5',
  ])
})
