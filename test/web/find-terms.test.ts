import { describe, expect, test } from 'bun:test'

import { coins, coinTable } from '#src/domain/market.ts'
import { readFindTerms } from '#web/lib/find-terms.ts'

const names = Object.fromEntries(coins.map((coin) => [coin, coinTable[coin].name]))
const NOW_MS = Date.UTC(2026, 10, 27, 20, 30)
const read = (text: string) => readFindTerms(text, names, NOW_MS)
const at = (...parts: Parameters<typeof Date.UTC>) => Date.UTC(...parts)

describe('readFindTerms', () => {
  test('default: a coin by symbol or name, a length, a day and a time', () => {
    const wanted = {
      coin: 'btc',
      timeframe: '5m',
      dayMs: at(2026, 3, 14),
      momentMs: at(2026, 3, 14, 8, 5),
      unknown: [],
    }
    for (const text of [
      'btc 5m 2026-04-14 08:05',
      'BTC, 5m, Apr 14, 8:05 UTC',
      '14 april bitcoin 5m 8:05am',
      'bitc 5m 2026-04-14T08:05:00Z',
      'btc 5m 2026-04-14T08:05:00.672Z',
      'btc 5m 2026-04-14 08:05:00.672000+00:00',
      '8:05 5m Apr 14 2026 btc',
    ]) {
      expect([text, read(text)]).toEqual([text, wanted])
    }
    expect(read('eth')).toEqual({ coin: 'eth', unknown: [] })
    expect(read('doge 1d yesterday')).toEqual({
      coin: 'doge',
      timeframe: '1d',
      dayMs: at(2026, 10, 26),
      unknown: [],
    })
    expect(read('')).toEqual({ unknown: [] })
  })

  test('behavior: without a year or a day the last one that has been is meant', () => {
    expect(read('nov 28').dayMs).toBe(at(2026, 10, 28))
    expect(read('dec 24').dayMs).toBe(at(2025, 11, 24))
    expect(read('20:29').momentMs).toBe(at(2026, 10, 27, 20, 29))
    expect(read('20:31').momentMs).toBe(at(2026, 10, 26, 20, 31))
    expect([read('20:31').minutes, read('nov 27 20:31').minutes]).toEqual([1231, undefined])
    expect(read('12am').momentMs).toBe(at(2026, 10, 27))
    expect(read('12pm').momentMs).toBe(at(2026, 10, 27, 12))
    expect(read('1776153600').momentMs).toBe(1_776_153_600_000)
    expect(read('1776153600123').momentMs).toBe(1_776_153_600_123)
  })

  test('behavior: the beginning of an id', () => {
    expect(read('0xAB12')).toEqual({ prefix: '0xab12', unknown: [] })
    expect(read('eth 0xab12cd')).toEqual({ coin: 'eth', prefix: '0xab12cd', unknown: [] })
    expect(read('0xab1').prefix).toBeUndefined()
  })

  test('behavior: a slug, an id, and the address of a market here or at the venue', () => {
    const slug = 'eth-updown-15m-1776153600'
    for (const [text, name, coin] of [
      [slug, slug, 'eth'],
      [`sim-${slug.toUpperCase()}`, `sim-${slug}`, 'eth'],
      [`https://polymarket.com/event/${slug}?tid=1`, slug, 'eth'],
      ['bitcoin-up-or-down-may-17-8am-et', 'bitcoin-up-or-down-may-17-8am-et', 'btc'],
      [`0x${'AB'.repeat(32)}`, `0x${'ab'.repeat(32)}`, undefined],
      [`sol 0x${'ab'.repeat(31)}`, `0x${'ab'.repeat(31)}`, 'sol'],
      [
        `http://127.0.0.1:3000/markets/xrp/0x${'ab'.repeat(32)}?at=1`,
        `0x${'ab'.repeat(32)}`,
        'xrp',
      ],
      ['1'.repeat(77), '1'.repeat(77), undefined],
    ] as const) {
      expect([text, read(text).name, read(text).coin]).toEqual([text, name, coin])
    }
  })

  test('error: a word that means nothing is named, and hides nothing else', () => {
    expect(read('btc hello 25:00 2026-13-01 99')).toEqual({
      coin: 'btc',
      unknown: ['hello', '25:00', '2026-13-01', '99'],
    })
  })
})
