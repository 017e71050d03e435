import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'
import { createJournal, toHeardLine } from '#src/recorder/journal.ts'
import { createReporter } from '#src/recorder/ports.ts'
import { recordSpot } from '#src/recorder/spot.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { START_MS, startGround } from '../support/venue/ground.ts'
import type { Venue } from '../support/venue/venue.ts'

const WINDOW_MS = 300_000
const page = homeVenue.pricePage

let venue: Venue | undefined
afterEach(() => venue?.stop())

/** Asks a page while its clock is moved; `answer` is in place of the venue's. */
async function startAsking(answer?: (url: string) => Response | Promise<Response>) {
  let nowMs = START_MS
  const clock = () => nowMs
  venue = await startGround({ clock, stepsPerSecond: 1 })
  const history = openHistory(':memory:')
  const lines: string[] = []
  const logged: string[] = []
  const asked: string[] = []
  const timers: { everyMs: number; dueMs: number; work: () => void }[] = []
  let underWay = 0
  const ask = { answer }
  const journal = createJournal((heard, atMs) => void lines.push(toHeardLine(heard, atMs)))
  journal.note({ kind: 'started' }, nowMs)
  const recorder = recordSpot({
    history,
    journal,
    clock,
    coins: ['btc'],
    sources: [],
    random: () => 0.5,
    openSocket: () => ({ send() {}, close() {} }),
    every(everyMs, work) {
      timers.push({ everyMs, dueMs: nowMs + everyMs, work })
      return () => {}
    },
    reporter: createReporter((line) => void logged.push(line)),
    page: {
      page,
      url: venue.cryptoPriceUrl,
      async fetch(url, init) {
        underWay++
        asked.push(url)
        try {
          const response = await (ask.answer?.(url) ?? fetch(url, init))
          // The clock stands still until the whole response is here.
          return new Response(await response.arrayBuffer(), response)
        } finally {
          underWay--
        }
      },
    },
  })
  return {
    history,
    lines,
    logged,
    asked,
    ask,
    recorder,
    venue,
    prices: () => history.spot({ coin: 'btc', order: 'asc', limit: 1000 }),
    async advance(ms: number): Promise<void> {
      for (const endMs = nowMs + ms; nowMs < endMs;) {
        nowMs += 250
        for (const timer of timers) {
          if (timer.dueMs > nowMs) continue
          timer.dueMs = nowMs + timer.everyMs
          timer.work()
        }
        while (underWay > 0) await Bun.sleep(0)
        await Bun.sleep(0)
      }
    },
  }
}

describe('prices of the page', () => {
  test('default: of each window its first price, of the moment and averaged, asked for once', async () => {
    const { advance, asked, prices, recorder, venue: away, logged } = await startAsking()
    await advance(3 * WINDOW_MS)
    const windows = away
      .markets()
      .filter(({ startMs }) => startMs > START_MS - WINDOW_MS && startMs < START_MS + 3 * WINDOW_MS)
    const held = prices()
    for (const windowSeconds of [0, 60]) {
      const own = held.filter((tick) => tick.windowSeconds === windowSeconds)
      expect(own.map(({ timestampMs }) => timestampMs)).toEqual(
        windows.map(({ startMs }) => startMs),
      )
    }
    for (const { startMs, strike } of windows) {
      const average = held.find((tick) => tick.timestampMs === startMs && tick.windowSeconds === 60)
      expect(average).toMatchObject({ source: 'price_page', price: String(Number(strike)) })
      expect(average?.receivedMs).toBeGreaterThanOrEqual(startMs)
    }
    expect(asked.length).toBe(2 * windows.length)
    expect(recorder.status()).toMatchObject({
      ticks: 2 * windows.length,
      sources: [{ name: 'page', isConnected: true, faults: 0 }],
    })
    expect(logged).toEqual([])
  })

  test('behavior: a price that moves is asked for again, and kept at its time', async () => {
    let count = 0
    const { advance, prices, asked } = await startAsking(() =>
      Response.json({
        openPrice: 64_000,
        closePrice: 64_001 + count++,
        completed: false,
        incomplete: false,
        timestamp: START_MS + count,
      }),
    )
    await advance(60_000)
    expect(asked.length).toBeWithin(10, 15)
    expect(prices().filter(({ timestampMs }) => timestampMs > START_MS)).toHaveLength(asked.length)
  })

  test.each([
    ['an error', () => new Response(null, { status: 503 })],
    ['no prices', () => new Response('<html>')],
    ['no answer', () => Promise.reject(new Error('away'))],
    ['no such window', () => new Response('{}', { status: 400 })],
  ])('error: %s is asked for less and less, is said once, and ends', async (_, answer) => {
    const { advance, prices, asked, ask, recorder, logged } = await startAsking(answer)
    await advance(600_000)
    expect(asked.length).toBeWithin(10, 60)
    expect(prices()).toEqual([])
    expect(logged).toHaveLength(1)
    ask.answer = undefined
    await advance(WINDOW_MS)
    expect(prices().length).toBeGreaterThan(1)
    expect(recorder.status().sources).toMatchObject([{ isConnected: true }])
  })

  test('behavior: kept messages, imported, are the same prices', async () => {
    const { advance, prices, lines } = await startAsking()
    await advance(2 * WINDOW_MS)
    const folder = mkdtempSync(join(tmpdir(), 'bookfeed-page-'))
    const file = join(folder, 'raw.jsonl')
    writeFileSync(file, `${lines.join('\n')}\n`)
    const history = openHistory(':memory:')
    await importFiles({
      history,
      source: 'recorded',
      files: [file],
      clock: () => START_MS,
      isStrict: true,
      signal: new AbortController().signal,
      onFault({ reason }) {
        throw new Error(reason)
      },
      onProgress() {},
    })
    rmSync(folder, { recursive: true })
    expect(prices().length).toBeGreaterThan(3)
    expect(history.spot({ coin: 'btc', order: 'asc', limit: 1000 })).toEqual(prices())
  })
})
