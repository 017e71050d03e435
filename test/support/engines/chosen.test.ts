import { expect, test } from 'bun:test'

import { readEngines } from './chosen.ts'

test('default: all engines', () => {
  const all = ['sqlite', 'postgres', 'bucket'] as const
  expect([...readEngines()]).toEqual([...all])
  expect([...readEngines('all')]).toEqual([...all])
})

test('behavior: the named engines', () => {
  expect([...readEngines('sqlite')]).toEqual(['sqlite'])
  expect([...readEngines('bucket,postgres')]).toEqual(['postgres', 'bucket'])
})

test('error: an unknown engine is refused instead of running no tests', () => {
  expect(() => readEngines('postgresql')).toThrow(
    'ENGINES=postgresql: "postgresql" is none of sqlite, postgres, bucket, all.',
  )
  expect(() => readEngines('')).toThrow('is none of')
})
