import { expect, test } from 'bun:test'

import { clockFault, referenceOf } from '#src/domain/clock-fault.ts'

test.each([
  [[], 0],
  [[300_000], 0],
  [[-300_000, -300_000], -300_000],
  [[300_000, 20, -10], 0],
  [[-300_000, -300_010, -299_990], -299_990],
  [[1000, 2000], 1000],
])(
  'default: the clocks of others, %p ahead of the database, have their middle at %p',
  (all, middle) => {
    expect(referenceOf(all)).toBe(middle)
  },
)

test('behavior: one of three clocks that is five minutes off is wrong, and no other', () => {
  const aheads = [0, 300_000, 50]
  const faults = aheads.map((own, at) => {
    const others = aheads.filter((_, index) => index !== at)
    return clockFault(own - referenceOf(others), others.length)
  })
  expect(faults).toEqual([
    undefined,
    'The clock of this machine is 300.0 s ahead of the clocks of the database and of the other processes.',
    undefined,
  ])
})
