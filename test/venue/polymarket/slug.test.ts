import { describe, expect, test } from 'bun:test'

import { coins, timeframes } from '#src/domain/market.ts'
import { recordFault } from '#src/domain/record-fault.ts'
import { readSlug, slugOf, titleOf } from '#src/venue/polymarket/slug.ts'

const ms = (iso: string): number => Date.parse(iso)

/** Coin, timeframe and window in few words. */
function read(slug: string, nearMs?: number): string {
  const reading = readSlug(slug, nearMs)
  if (reading.kind === 'left_out') return reading.reason
  const { coin, timeframe, window } = reading
  if (window === undefined) return `${coin} ${timeframe}`
  const [start, end] = [window.startMs, window.endMs].map((time) =>
    new Date(time).toISOString().replace(':00.000Z', ''),
  )
  return `${coin} ${timeframe} ${start} ${end}`
}

describe('readSlug', () => {
  test.each([
    ['btc-updown-5m-1776081600', 'btc 5m 2026-04-13T12:00 2026-04-13T12:05'],
    ['sol-updown-15m-1777516200', 'sol 15m 2026-04-30T02:30 2026-04-30T02:45'],
    ['xrp-updown-4h-1779940800', 'xrp 4h 2026-05-28T04:00 2026-05-28T08:00'],
    ['eth-updown-1h-1779940800', 'eth 1h 2026-05-28T04:00 2026-05-28T05:00'],
    ['btc-updown-4h-1767243600', 'btc 4h 2026-01-01T05:00 2026-01-01T09:00'],
    ['btc-updown-1d-1767286800', 'btc 1d 2026-01-01T17:00 2026-01-02T17:00'],
    ['zec-updown-15m-1777516200', 'zec 15m 2026-04-30T02:30 2026-04-30T02:45'],
  ])('default: %s holds the start of its window', (slug, expected) => {
    expect(read(slug)).toBe(expected)
  })

  test.each([
    ['bitcoin-up-or-down-june-24-2026-3am-et', 'btc 1h 2026-06-24T07:00 2026-06-24T08:00'],
    ['bitcoin-up-or-down-january-24-2026-3pm-et', 'btc 1h 2026-01-24T20:00 2026-01-24T21:00'],
    ['ethereum-up-or-down-september-20-2026-8pm-et', 'eth 1h 2026-09-21T00:00 2026-09-21T01:00'],
    ['solana-up-or-down-december-31-2026-12am-et', 'sol 1h 2026-12-31T05:00 2026-12-31T06:00'],
    ['xrp-up-or-down-december-31-2026-12pm-et', 'xrp 1h 2026-12-31T17:00 2026-12-31T18:00'],
    ['hype-up-or-down-may-13-2026-5am-et', 'hype 1h 2026-05-13T09:00 2026-05-13T10:00'],
    ['hyperliquid-up-or-down-june-19-2026-8am-et', 'hype 1h 2026-06-19T12:00 2026-06-19T13:00'],
  ])('default: %s opens at its Eastern hour', (slug, expected) => {
    expect(read(slug)).toBe(expected)
  })

  test.each([
    ['bitcoin-up-or-down-on-may-17-2026', 'btc 1d 2026-05-16T16:00 2026-05-17T16:00'],
    ['ethereum-up-or-down-on-january-1-2026', 'eth 1d 2025-12-31T17:00 2026-01-01T17:00'],
    ['solana-up-or-down-on-march-8-2026', 'sol 1d 2026-03-07T17:00 2026-03-08T16:00'],
    ['xrp-up-or-down-on-november-1-2026', 'xrp 1d 2026-10-31T16:00 2026-11-01T17:00'],
  ])('default: %s ends at noon of its day, Eastern time', (slug, expected) => {
    expect(read(slug)).toBe(expected)
  })

  test('behavior: without a year, a time nearby tells it', () => {
    const daily = 'bitcoin-up-or-down-on-january-2'
    expect(read(daily, ms('2025-12-30T00:00Z'))).toBe('btc 1d 2026-01-01T17:00 2026-01-02T17:00')
    const hourly = 'bitcoin-up-or-down-december-31-11pm-et'
    expect(read(hourly, ms('2026-01-01T05:00Z'))).toBe('btc 1h 2026-01-01T04:00 2026-01-01T05:00')
  })

  test('behavior: without a year, nothing nearby leaves the window open', () => {
    expect(read('bitcoin-up-or-down-on-january-2')).toBe('btc 1d')
    expect(read('bitcoin-up-or-down-on-january-2', ms('2026-06-01T00:00Z'))).toBe('btc 1d')
  })

  test('behavior: the hour that comes twice is told by the end of the window alone', () => {
    const slug = 'bitcoin-up-or-down-november-1-2026-1am-et'
    expect(read(slug)).toBe('btc 1h')
    expect(read(slug, ms('2026-11-01T05:10Z'))).toBe('btc 1h')
    expect(read(slug, ms('2026-11-01T06:00Z'))).toBe('btc 1h 2026-11-01T05:00 2026-11-01T06:00')
    expect(read(slug, ms('2026-11-01T07:00Z'))).toBe('btc 1h 2026-11-01T06:00 2026-11-01T07:00')
  })

  test.each([
    ['bitcoin-up-or-down-march-8-2026-2am-et', 'btc 1h'],
    ['bitcoin-up-or-down-february-30-2026-2am-et', 'btc 1h'],
    ['bitcoin-up-or-down-on-february-30-2026', 'btc 1d'],
    ['bitcoin-up-or-down-june-24-2026-13am-et', 'btc 1h'],
    ['bitcoin-up-or-down-june-24-2026-0pm-et', 'btc 1h'],
  ])('behavior: %s names no time that exists, so it has no window', (slug, expected) => {
    expect(read(slug)).toBe(expected)
  })

  test.each([
    ['btc-updown-5m-1776153601', '5m', 'a second after a window'],
    ['btc-updown-5m-1776153660', '5m', 'a minute after one'],
    ['btc-updown-15m-1776153900', '15m', 'a window of five minutes'],
    ['btc-updown-1h-1776155400', '1h', 'half past'],
    ['btc-updown-4h-1779944400', '4h', 'one in the night, in summer'],
    ['btc-updown-4h-1767240000', '4h', 'eleven in the evening, in winter'],
    ['btc-updown-4h-1779942600', '4h', 'half past midnight'],
    ['btc-updown-1d-1779940800', '1d', 'midnight'],
    ['btc-updown-5m-999999999900', '5m', 'the year 33658'],
  ])('error: no window can start at %s (%s: %s)', (slug, timeframe) => {
    const [epoch] = slug.split('-').slice(-1)
    const reason = `slug: no window of ${timeframe} starts at ${epoch}`
    expect(() => readSlug(slug)).toThrow(recordFault(reason))
  })

  test('behavior: in the day after clocks change, windows of four hours may go by either hour', () => {
    const starts = (day: string, hours: readonly number[]) =>
      hours.filter((hour) => {
        const slug = `btc-updown-4h-${ms(`${day}T${String(hour).padStart(2, '0')}:00Z`) / 1000}`
        try {
          return readSlug(slug).kind === 'market'
        } catch {
          return false
        }
      })
    const hours = Array.from({ length: 24 }, (_, hour) => hour)
    expect(starts('2026-10-31', hours)).toEqual([0, 4, 8, 12, 16, 20])
    expect(starts('2026-11-01', hours)).toEqual([0, 4, 8, 9, 12, 13, 16, 17, 20, 21])
    expect(starts('2026-11-03', hours)).toEqual([1, 5, 9, 13, 17, 21])
    expect(starts('2026-03-08', hours)).toEqual([1, 5, 8, 9, 12, 13, 16, 17, 20, 21])
  })

  test.each(['btc-updown-5m-0', 'btc-updown-5m-1577836500', 'xrp-up-or-down-on-may-17-2019'])(
    'error: the venue did not exist yet at the window of %s',
    (slug) => {
      expect(() => readSlug(slug)).toThrow('slug: its window is before 2020')
    },
  )

  test.each([
    ['nocoin-updown-5m-1782287400', 'nocoin is not a supported coin'],
    ['btc-updown-7m-1782287400', '7m is not a supported timeframe'],
    ['nocoin-up-or-down-on-may-17-2026', 'nocoin is not a supported coin'],
    ['constructor-up-or-down-on-may-17-2026', 'constructor is not a supported coin'],
    ['bitcoin-up-or-down-on-smarch-17-2026', 'not an up-or-down market'],
    ['bitcoin-above-64k-on-june-4-2026', 'not an up-or-down market'],
    ['', 'not an up-or-down market'],
    ['BTC-UPDOWN-5M-1776081600', 'not an up-or-down market'],
  ])('behavior: %s is left out with a reason', (slug, reason) => {
    expect(readSlug(slug)).toEqual({ kind: 'left_out', reason })
  })
})

describe('slugOf', () => {
  test('behavior: is what readSlug reads, for every coin and timeframe', () => {
    // Noon in New York, when a window of each timeframe starts.
    const startMs = ms('2026-06-24T16:00Z')
    for (const coin of coins) {
      for (const timeframe of timeframes) {
        const reading = readSlug(slugOf({ coin, timeframe, startMs }))
        expect(reading).toMatchObject({ kind: 'market', coin, timeframe, window: { startMs } })
      }
    }
  })
})

describe('titleOf', () => {
  test('default: names coin, day and hours in New York', () => {
    const startMs = ms('2026-06-24T07:50Z')
    expect(titleOf({ coin: 'btc', timeframe: '5m', startMs })).toBe(
      'Bitcoin Up or Down - June 24, 3:50AM-3:55AM ET',
    )
  })
})
