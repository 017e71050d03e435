import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { MOMENT_MS_MAX, parseMoment, toIso } from '#src/domain/time.ts'

const AT = Date.UTC(2026, 10, 20)

describe('parseMoment', () => {
  test.each([
    ['0', 0],
    ['1795132800000', AT],
    ['1795132800', AT],
    ['99999999999', 99_999_999_999_000],
    ['100000000000', 100_000_000_000],
    ['253402300799999', MOMENT_MS_MAX],
    ['2026-11-20T00:00:00Z', AT],
    ['2026-11-20t00:00:00z', AT],
    ['2026-11-20T01:00:00+01:00', AT],
    ['2026-11-19T18:30:00-05:30', AT],
    ['2026-11-20T00:00:00+00:00', AT],
    ['2026-11-20T00:00:00-00:00', AT],
    ['2026-11-20 00:00:00Z', AT],
    ['2026-11-20 00:00:00.045000+00:00', AT + 45],
    ['2026-11-20 01:00:00+01:00', AT],
    ['2026-11-20T00:00:00.2Z', AT + 200],
    ['2026-11-20T00:00:00.0459999Z', AT + 45],
    ['2024-02-29T23:59:59Z', Date.UTC(2024, 1, 29, 23, 59, 59)],
    ['1970-01-01T00:00:00Z', 0],
    ['9999-12-31T23:59:59.999Z', MOMENT_MS_MAX],
  ])('default: reads %s', (text, unixMs) => expect(parseMoment(text)).toBe(unixMs))

  test.each([
    '',
    ' ',
    '-1',
    '+1',
    '1e3',
    '0x10',
    '007',
    '1.5',
    '253402300800000',
    '1'.repeat(17),
    '2026-11-20',
    '2026-11-20T00:00:00',
    '2026-11-20T00:00Z',
    '2026-11-20 00:00:00',
    '2026-11-20  00:00:00Z',
    '2026-11-20 00:00:00 +00:00',
    '2026-11-20T10:00:60Z',
    '2026-11-20T00:00:00+0100',
    '2026-11-20T00:00:00+01',
    '2026-11-20T00:00:00.Z',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-00T00:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T00:60:00Z',
    '2026-11-20T23:59:60Z',
    '2026-11-20T00:00:00+24:00',
    '2026-11-20T00:00:00+01:60',
    '1969-12-31T23:59:59Z',
    '1970-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '12026-11-20T00:00:00Z',
    ' 2026-11-20T00:00:00Z',
    '2026-11-20T00:00:00Z\n',
    'now',
  ])('error: refuses %j', (text) => expect(parseMoment(text)).toBeUndefined())

  test('behavior: reads what is printed, with any offset', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 86_400_000, max: MOMENT_MS_MAX - 86_400_000 }),
        fc.integer({ min: -1439, max: 1439 }),
        (unixMs, minutes) => {
          const wall = toIso(unixMs + minutes * 60_000).slice(0, -1)
          const size = Math.abs(minutes)
          const [hour, minute] = [Math.trunc(size / 60), size % 60].map((part) =>
            String(part).padStart(2, '0'),
          )
          expect(parseMoment(`${wall}${minutes < 0 ? '-' : '+'}${hour}:${minute}`)).toBe(unixMs)
        },
      ),
    ))
})
