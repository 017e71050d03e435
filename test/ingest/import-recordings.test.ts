import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'

import { snapshotRuns } from '../support/snapshot-runs.ts'
import { createImportHarness } from './import-harness.ts'

const folder = '../shared/data/polymarket'
const isAbsent = !existsSync(folder)
const reason = isAbsent ? ' (skipped: ../shared/data is not here)' : ''

const { aHistory, run, write } = createImportHarness()

describe('importFiles of recordings', () => {
  test.skipIf(isAbsent)(
    `default: books, trades, tokens, outcomes and catalogue fit together${reason}`,
    async () => {
      const history = aHistory()
      const files = [
        'outcomes-btc-5m-20251218-20260317.csv.gz',
        'fixture-gamma_event_crypto_updown.json',
        'fixture-gamma_market_updown.json',
        'last-trade-prices-btc-5m-20260413-14.jsonl.gz',
        'snapshots-btc-5m-1hz-20260413-14.jsonl.gz',
        'markets-btc-5m-tokens.json',
      ].map((name) => `${folder}/${name}`)
      const { report, faults } = await run(files, { history })
      expect(faults).toEqual([])
      expect(report).toMatchObject({ ending: 'complete', files: 6, accepted: 16_767, invalid: 0 })
      expect(report.hashes).toEqual({
        held: 16_767,
        verified: 16_767,
        gaps: 0,
        mismatched: 0,
        unknown: 0,
      })
      // The file says 2,698 prices twice.
      expect(report.lastPrices).toEqual({ accepted: 110_899, duplicates: 2698 })
      // The outcomes end four weeks before the recordings begin.
      expect(report).toMatchObject({ waiting: { accepted: 20_928 }, leftOut: 0 })
      const markets = history.listMarkets({ coin: 'btc', limit: 500 })
      expect(markets).toHaveLength(211)
      expect(markets.every(({ slug, windowEndMs }) => slug && windowEndMs)).toBe(true)
      expect(markets.filter(({ winner }) => winner !== undefined)).not.toEqual([])
      // The catalogue's fixtures are one market of HYPE.
      expect(history.listMarkets({ coin: 'hype', limit: 500 })).toHaveLength(1)
      expect(history.totals().markets).toBe(212)
    },
    300_000,
  )

  test.skipIf(isAbsent)(
    `behavior: messages become the books that they are of, with their hashes${reason}`,
    async () => {
      const [frames, deltas, tokens] = [
        'wire-book-frames-btc-5m.jsonl.gz',
        'wire-deltas-btc-5m-20260416T1000-1120.jsonl.gz',
        'markets-btc-5m-tokens.json',
      ].map((name) => `${folder}/${name}`)
      const history = aHistory()
      const clock = () => Date.UTC(2026, 6, 1)
      const first = await run([deltas ?? '', tokens ?? ''], { history, clock })
      expect(first.faults).toEqual([])
      // Eleven lines change nothing, and one millisecond is of two lines.
      expect(first.report).toMatchObject({ lines: 58_135, accepted: 58_123, duplicates: 0 })
      expect(first.report.hashes).toEqual({
        held: 58_123,
        verified: 58_123,
        gaps: 0,
        mismatched: 0,
        unknown: 0,
      })
      const second = await run([frames ?? ''], { history, clock })
      // Of the 185 books 17 are states of the file before.
      expect([second.faults, second.report.accepted]).toEqual([[], 168])
      const market = history.findMarketBySlug('btc-updown-5m-1776333600')
      const [row] = market ? [...snapshotRuns(history, { market })].flat() : []
      expect(row).toMatchObject({ isVerified: true, timestampMs: 1_776_333_600_956 })
      expect(row?.receivedMs).toBeGreaterThan(1_776_333_600_000)
    },
    300_000,
  )

  test.skipIf(isAbsent)(
    `behavior: books around a gap of messages do not hide it, whichever were imported first${reason}`,
    async () => {
      const market = '0x2079b3cb5c4d2317169488ef20bfe22990140c629e73b70494b1c8caf3348da6'
      const token = '58575638925756538882616968535290499597780880981850837106826921479255601633111'
      const second = 1_776_333_600_000
      const deltas = `${folder}/wire-deltas-btc-5m-20260416T1000-1120.jsonl.gz`
      const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(deltas).bytes()))
      const messages = text.split('\n').filter((line) => {
        const timestampMs = Number(/"timestamp": ?"(\d+)"/.exec(line)?.[1]) - second
        return line.includes(token) && timestampMs >= 17_998 && timestampMs <= 23_700
      })
      const missed = messages.filter((line) => line.includes(String(second + 22_978)))
      expect(missed).toHaveLength(1)
      const names = {
        tokens: `${folder}/markets-btc-5m-tokens.json`,
        all: await write('all.jsonl', messages.join('\n')),
        messages: await write(
          'messages.jsonl',
          messages.filter((line) => !missed.includes(line)).join('\n'),
        ),
        books: '',
      }
      const whole = aHistory()
      const clock = () => Date.UTC(2026, 6, 1)
      await run([names.tokens, names.all], { history: whole, clock })
      const held = whole.findMarket(market)
      if (held === undefined) throw new Error('The market is held.')
      const books = [22_370, 23_583].map((ms) => {
        const range = { fromMs: second + ms, toMs: second + ms + 1, limit: 1 }
        const page = whole.page({ market: held, outcome: 'down', order: 'asc', ...range })
        let row = ''
        for (const bytes of page.texts()) row = new TextDecoder().decode(bytes)
        const line = messages.find((each) => each.includes(String(second + ms))) ?? ''
        const hash = new RegExp(`${token}[^}]*"hash": ?"([0-9a-f]+)"`).exec(line)?.[1]
        return JSON.stringify({ ...JSON.parse(row), id: hash })
      })
      names.books = await write('books.jsonl', books.join('\n'))
      const gapsAfter = async (...order: ('messages' | 'books')[]) => {
        const history = aHistory()
        for (const name of ['tokens', ...order] as const)
          await run([names[name]], { history, clock })
        return history.gaps(held)
      }
      const gap = {
        outcome: 'down',
        fromMs: second + 22_799,
        toMs: second + 23_583,
        reason: 'hash_mismatch',
      } as const
      expect(await gapsAfter('messages', 'books')).toContainEqual(gap)
      expect(await gapsAfter('books', 'messages')).toContainEqual(gap)
    },
    300_000,
  )
})
