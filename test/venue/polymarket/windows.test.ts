import { describe, expect, test } from 'bun:test'

import { toIso } from '#src/domain/time.ts'
import { readSlug } from '#src/venue/polymarket/slug.ts'
import { namesOf, windowStarts } from '#src/venue/polymarket/windows.ts'

const ms = (text: string): number => Date.parse(text)
const starts = (timeframe: Parameters<typeof windowStarts>[0], now: string): string[] =>
  windowStarts(timeframe, ms(now), 2).map((startMs) => toIso(startMs).slice(0, 16))

describe('windowStarts', () => {
  test('default: multiples of the length, the open one first', () => {
    expect(starts('5m', '2026-11-22T10:07:00Z')).toEqual([
      '2026-11-22T10:05',
      '2026-11-22T10:10',
      '2026-11-22T10:15',
    ])
    expect(starts('1h', '2026-11-22T10:00:00Z')[0]).toBe('2026-11-22T10:00')
  })

  test('behavior: four hours follow Eastern time, also when clocks go forward and back', () => {
    expect(starts('4h', '2026-11-22T10:07:00Z')).toEqual([
      '2026-11-22T09:00',
      '2026-11-22T13:00',
      '2026-11-22T17:00',
    ])
    expect(starts('4h', '2026-07-01T10:07:00Z')[0]).toBe('2026-07-01T08:00')
    // 2026-03-08, 2 a.m. becomes 3 a.m.; 2026-11-01, 2 a.m. becomes 1 a.m.
    expect(starts('4h', '2026-03-08T05:00:00Z')).toEqual([
      '2026-03-08T05:00',
      '2026-03-08T08:00',
      '2026-03-08T12:00',
    ])
    expect(starts('4h', '2026-11-01T04:00:00Z')).toEqual([
      '2026-11-01T04:00',
      '2026-11-01T09:00',
      '2026-11-01T13:00',
    ])
  })

  test('behavior: days go from noon to noon in Eastern time', () => {
    expect(starts('1d', '2026-10-31T20:00:00Z')).toEqual([
      '2026-10-31T16:00',
      '2026-11-01T17:00',
      '2026-11-02T17:00',
    ])
  })
})

describe('namesOf', () => {
  test('default: slugs that hold the start', () => {
    const startMs = ms('2026-11-22T09:00:00Z')
    expect(namesOf({ coin: 'btc', timeframe: '4h', startMs })).toEqual(['btc-updown-4h-1795338000'])
  })

  test('behavior: hours by the Eastern hour in which they open, days by the date on which they end', () => {
    expect(namesOf({ coin: 'sol', timeframe: '1h', startMs: ms('2026-11-22T17:00:00Z') })).toEqual([
      'solana-up-or-down-november-22-2026-12pm-et',
      'solana-up-or-down-november-22-12pm-et',
    ])
    expect(namesOf({ coin: 'xrp', timeframe: '1d', startMs: ms('2026-10-31T16:00:00Z') })).toEqual([
      'xrp-up-or-down-on-november-1-2026',
      'xrp-up-or-down-on-november-1',
    ])
    expect(namesOf({ coin: 'hype', timeframe: '1h', startMs: ms('2026-11-22T17:00:00Z') })).toEqual(
      ['hype', 'hyperliquid'].flatMap((name) => [
        `${name}-up-or-down-november-22-2026-12pm-et`,
        `${name}-up-or-down-november-22-12pm-et`,
      ]),
    )
  })

  test('behavior: on the days when clocks change, hours and days keep the names of Eastern time', () => {
    const hour = (text: string): string | undefined =>
      namesOf({ coin: 'btc', timeframe: '1h', startMs: ms(text) })[0]?.slice(19)
    // At 7:00 UTC it is 3 a.m. instead of 2.
    expect(['06', '07', '08'].map((at) => hour(`2026-03-08T${at}:00:00Z`))).toEqual([
      'march-8-2026-1am-et',
      'march-8-2026-3am-et',
      'march-8-2026-4am-et',
    ])
    // The hour from 1 a.m. comes twice: only its market says which one it is.
    expect(['04', '05', '06', '07'].map((at) => hour(`2026-11-01T${at}:00:00Z`))).toEqual([
      'november-1-2026-12am-et',
      'november-1-2026-1am-et',
      'november-1-2026-1am-et',
      'november-1-2026-2am-et',
    ])
    const day = (text: string): string | undefined =>
      namesOf({ coin: 'btc', timeframe: '1d', startMs: ms(text) })[0]?.slice(22)
    expect(['2026-03-07T17:00:00Z', '2026-03-08T16:00:00Z'].map(day)).toEqual([
      'march-8-2026',
      'march-9-2026',
    ])
    expect(['2026-10-31T16:00:00Z', '2026-11-01T17:00:00Z'].map(day)).toEqual([
      'november-1-2026',
      'november-2-2026',
    ])
  })

  test('behavior: every name is read back as the window that it names, all year round', () => {
    for (let nowMs = ms('2026-01-01T00:30:00Z'); nowMs < ms('2027-01-01'); nowMs += 7 * 3_600_000) {
      for (const timeframe of ['5m', '15m', '1h', '4h', '1d'] as const) {
        const [startMs = 0, endMs = 0] = windowStarts(timeframe, nowMs, 1)
        for (const slug of namesOf({ coin: 'eth', timeframe, startMs })) {
          const reading = readSlug(slug, endMs)
          const window = reading.kind === 'market' ? reading.window : undefined
          expect({ slug, timeframe, startMs: window?.startMs }).toEqual({
            slug,
            timeframe,
            startMs,
          })
        }
      }
    }
  })
})
