import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'
import { createJournal, toHeardLine } from '#src/recorder/journal.ts'
import type { SocketEvents } from '#src/recorder/ports.ts'
import { recordSpot } from '#src/recorder/spot.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { START_MS } from '../history/books.ts'

const KEY = 'name:secret:phrase'

/** Records what `say` is given, and returns it with the lines that were kept. */
async function record(play: (say: (text: string) => void, reconnect: () => void) => void) {
  const history = openHistory(':memory:')
  const lines: string[] = []
  const journal = createJournal((heard, atMs) => void lines.push(toHeardLine(heard, atMs)))
  const sockets: SocketEvents[] = []
  const timers: (() => void)[] = []
  let nowMs = START_MS
  journal.note({ kind: 'started' }, nowMs)
  const recorder = recordSpot({
    history,
    journal,
    coins: ['btc'],
    clock: () => nowMs,
    random: () => 0,
    sources: [{ name: 'live', feed: homeVenue.spotFeeds.live, url: '', key: KEY }],
    openSocket(_url, events) {
      sockets.push(events)
      return { send() {}, close() {} }
    },
    every(_ms, work) {
      timers.push(work)
      return () => {}
    },
    reporter: { report() {}, settle() {}, isOpen: () => false },
  })
  const tick = () => {
    for (const work of [...timers]) work()
  }
  const open = () => {
    nowMs += 5000
    tick()
    sockets.at(-1)?.opened()
  }
  open()
  const say = (text: string) => {
    nowMs += 7
    sockets.at(-1)?.message(text)
    tick()
  }
  play(say, () => {
    sockets.at(-1)?.closed('gone')
    open()
  })
  await recorder.dispose()
  return { history, lines }
}

async function imported(lines: readonly string[], source: 'recorded' | 'simulated' = 'recorded') {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-spot-journal-'))
  const file = join(folder, 'raw.jsonl')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const history = openHistory(':memory:')
  const faults: string[] = []
  const report = await importFiles({
    history,
    source,
    files: [file],
    clock: () => START_MS + 60_000,
    isStrict: false,
    signal: new AbortController().signal,
    onFault: ({ reason }) => faults.push(reason),
    onProgress: () => {},
  })
  rmSync(folder, { recursive: true })
  return { history, report, faults }
}

const pricesOf = (history: MarketHistory) => history.spot({ coin: 'btc', order: 'asc', limit: 100 })

const head = { v: 1, channel: 'price.crypto.twap' }
const message = (seq: number, more: object = {}) =>
  JSON.stringify({
    ...head,
    seq,
    ts: START_MS + seq * 1000,
    ...more,
    payload: { symbol: 'btcusd', source: 'chainlink', full_accuracy_value: `64126.${seq}0` },
  })
const batch = JSON.stringify({
  ...head,
  seq: 1,
  snapshot: true,
  payload: {
    symbol: 'btcusd',
    source: 'chainlink',
    data: [1, 2].map((at) => ({ timestamp: START_MS - at * 1000, full_accuracy_value: '64000' })),
  },
})

describe('messages of prices that are kept', async () => {
  const { history, lines } = await record((say, reconnect) => {
    for (const text of ['{"op":"authed","rid":"auth"}', batch, message(2), message(5)]) say(text)
    for (const text of ['no JSON', `${message(6)}\n`, message(8, { dropped: 9 })]) say(text)
    reconnect()
    for (const text of [message(20), message(22)]) say(text)
  })

  test('default: imported, they are the same prices, with what was missed and when they came', async () => {
    const prices = pricesOf(history)
    expect(prices.map(({ dropped }) => dropped)).toEqual([
      undefined,
      undefined,
      undefined,
      2,
      undefined,
      9,
      undefined,
      1,
    ])
    const first = await imported(lines)
    expect([first.faults, pricesOf(first.history)]).toEqual([[], prices])
    expect(first.report.prices).toEqual({ accepted: 8, duplicates: 0 })
    const doubled = await imported([...lines, ...lines])
    expect(pricesOf(doubled.history)).toEqual(prices)
  })

  test('behavior: no credential is in them', () => {
    expect(lines.length).toBeGreaterThan(10)
    for (const word of KEY.split(':').slice(1)) expect(lines.join('\n')).not.toContain(word)
  })

  test('behavior: imported as simulated, they are left out and counted', async () => {
    const { history: made, report } = await imported(lines, 'simulated')
    expect([pricesOf(made), report.leftOut]).toEqual([[], 8])
  })

  test('error: a source that is not known is named', async () => {
    const { faults } = await imported(lines.map((line) => line.replace('"live"', '"other"')))
    expect(new Set(faults)).toEqual(new Set(['source: none of live, rtds, page']))
  })
})
