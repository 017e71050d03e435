import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { formatMillionths, parseMillionths } from '#src/domain/decimal.ts'

/** The same rule, written as a pattern. */
function parsePlainly(text: string): number | undefined {
  const match = /^(\d*)(?:\.(\d*))?$/.exec(text)
  const fraction = (match?.[2] ?? '').replace(/0+$/, '')
  if (match === null || text === '' || text === '.' || fraction.length > 6) return undefined
  const millionths = BigInt((match[1] ?? '') + fraction.padEnd(6, '0'))
  return millionths <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(millionths) : undefined
}

describe('parseMillionths', () => {
  test.each<[string, number]>([
    ['0.53', 530_000],
    ['.48', 480_000],
    ['5.', 5_000_000],
    ['12480.060', 12_480_060_000],
    ['0.0025', 2500],
    ['0.1234560000', 123_456],
    ['9007199254.740991', Number.MAX_SAFE_INTEGER],
  ])('default: reads %s', (text, millionths) => expect(parseMillionths(text)).toBe(millionths))

  test.each(['', '.', '-1', '+1', '1e3', '1,5', ' 1', '1 ', '0x1', '1.2.3', '٣', 'NaN'])(
    'error: %j is no plain decimal',
    (text) => expect(parseMillionths(text)).toBeUndefined(),
  )

  test.each(['0.1234567', '9007199254.740992', '9'.repeat(400), `0.${'0'.repeat(400)}1`])(
    'error: %s is finer or larger than is exact',
    (text) => expect(parseMillionths(text)).toBeUndefined(),
  )

  test('fuzz: reads every text as the rule says', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 })
    const decimal = fc
      .tuple(digits, fc.constantFrom('', '.'), digits)
      .map((parts) => parts.join(''))
    const noise = fc.string({ unit: fc.constantFrom(...'0019.-e '), maxLength: 8 })
    fc.assert(
      fc.property(fc.oneof(decimal, noise), (text) => {
        expect(parseMillionths(text)).toBe(parsePlainly(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('behavior: prints the sign of a negative number, such as the spread of a crossed book', () => {
    expect([-10_000, -1_500_001, -2_000_000].map(formatMillionths)).toEqual([
      '-0.01',
      '-1.500001',
      '-2',
    ])
  })

  test('fuzz: reads what is printed', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (millionths) => {
        expect(parseMillionths(formatMillionths(millionths))).toBe(millionths)
      }),
    )
  })
})
