/** How a server knows which recorders are silent, and since when. */
import { beforeEach, expect, test } from 'bun:test'

import { noteKnown, openCopies } from '#src/database/copies.ts'
import type { Market } from '#src/domain/market.ts'
import type { RecorderSign } from '#src/domain/recorder-sign.ts'
import { seriesOf } from '#src/history/reads/with-downtime.ts'
import { watchSilences } from '#src/server/silences.ts'

import { NOW_MS } from '../support/now.ts'

let time: { nowMs: number }
let rows: RecorderSign[]
let own: string | undefined
let copies: ReturnType<typeof openCopies>
let silences: ReturnType<typeof watchSilences>

const timer = () => time.nowMs - NOW_MS + 1000
const sign = (changes: Partial<RecorderSign> = {}): RecorderSign => ({
  id: 'a',
  name: 'one.example',
  coins: ['btc'],
  timeframes: ['5m'],
  startedMs: NOW_MS,
  signMs: NOW_MS,
  ...changes,
})
const btc = { coin: 'btc', timeframe: '5m' } as Market
/** Goes on for a time, and returns of which moments and reasons a market is left. */
function after(ms: number, market = btc): [string, number][] {
  for (let passed = 0; passed < ms; passed += 500) {
    time.nowMs += 500
    silences()
  }
  return silences()
    .filter(({ series }) => series?.has(seriesOf(market)) ?? true)
    .map(({ reason, sinceMs }) => [reason, sinceMs - NOW_MS])
}
/** The same while a recorder gives its signs by a clock that is ahead. */
function whileSigning(ms: number, aheadMs = 0): [string, number][] {
  for (let passed = 0; passed < ms; passed += 2000) {
    rows = rows.map((row) => ({ ...row, signMs: time.nowMs + aheadMs }))
    after(2000)
  }
  return after(0)
}

beforeEach(() => {
  time = { nowMs: NOW_MS }
  rows = []
  own = undefined
  const clock = () => time.nowMs
  copies = openCopies({ clock, timer })
  silences = watchSilences({ recorders: () => rows }, { clock, copies, own: () => own })
})

test('default: a recorder is silent five seconds after its last sign, and not once it is back', () => {
  rows = [sign()]
  expect(whileSigning(10_000)).toEqual([])
  expect(after(3000)).toEqual([])
  expect(after(3000)).toEqual([['recorder_down', 8000]])
  expect(whileSigning(2000)).toEqual([])
})

test('default: one that died before this server began is known by the time of its last sign', () => {
  rows = [sign({ signMs: NOW_MS - 60_000 })]
  expect(after(0)).toEqual([['recorder_down', -60_000]])
})

test('behavior: clocks that are five minutes apart make no silence, and hide none', () => {
  for (const aheadMs of [-300_000, 300_000]) {
    rows = [sign({ id: `${aheadMs}`, signMs: time.nowMs + aheadMs })]
    after(0)
    expect(whileSigning(20_000, aheadMs)).toEqual([])
    const lastMs = time.nowMs - NOW_MS
    const [silence] = after(6000)
    expect(silence?.[0]).toBe('recorder_down')
    expect(Math.abs((silence?.[1] ?? 0) - lastMs)).toBeLessThanOrEqual(3000)
  }
})

test('behavior: of markets that another recorder records none is silent', () => {
  rows = [sign({ coins: ['btc', 'eth'] }), sign({ id: 'b' })]
  whileSigning(4000)
  for (let passed = 0; passed < 8000; passed += 2000) {
    rows = rows.map((row) => (row.id === 'b' ? { ...row, signMs: time.nowMs } : row))
    after(2000)
  }
  expect(after(0)).toEqual([])
  expect(after(0, { coin: 'eth', timeframe: '5m' } as Market)).toHaveLength(1)
  expect(after(0, { coin: 'sol', timeframe: '5m' } as Market)).toEqual([])
  expect(after(8000)).toHaveLength(2)
})

test('behavior: the recorder of this thread lives while it can be asked', () => {
  rows = [sign()]
  own = 'a'
  expect(after(60_000)).toEqual([])
})

test('behavior: a copy that is behind has no signs, and its recorder is not called silent', () => {
  rows = [sign()]
  noteKnown(copies.memory, 'history', timer())
  after(1000)
  expect(after(500)).toEqual([])
  expect(after(30_000)).toEqual([['replica_behind', 0]])
  rows = [sign({ signMs: time.nowMs })]
  noteKnown(copies.memory, 'history', timer())
  expect(after(1000)).toEqual([])
})
