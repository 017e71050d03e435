import { expect, test } from 'bun:test'

import { coverageText, staleCoverage, tallyCoverage } from '#src/domain/coverage.ts'
import type { Market } from '#src/domain/market.ts'
import {
  assertConfirmed,
  createStaleSince,
  STALE_MS,
  UNCONFIRMED_MS_MAX,
} from '#src/domain/staleness.ts'

import { NOW_MS } from '../support/now.ts'

const until = ';until="2026-01-02T03:04:05.678Z"'

test('behavior: a copy is stale beyond two seconds, from one moment on until more is known', () => {
  let nowMs = NOW_MS
  let freshMs = NOW_MS
  const staleSince = createStaleSince(
    (store) => (store === 'history' ? nowMs - freshMs : 0),
    () => nowMs,
  )
  nowMs = NOW_MS + STALE_MS
  expect(staleSince('history')).toBeUndefined()
  for (const more of [1, 2, 5000]) {
    nowMs = NOW_MS + STALE_MS + more
    expect([staleSince('history'), staleSince('ledger')]).toEqual([NOW_MS, undefined])
  }
  freshMs = nowMs - STALE_MS - 1
  expect(staleSince('history')).toBe(freshMs)
  freshMs = nowMs
  expect(staleSince('history')).toBeUndefined()
})

test('error: no key is honoured whose ledger is older than a revocation may take', () => {
  const check = (ageMs: number) => () => assertConfirmed(() => NOW_MS, NOW_MS + ageMs)
  expect(check(UNCONFIRMED_MS_MAX)).not.toThrow()
  expect(check(UNCONFIRMED_MS_MAX + 1)).toThrow(
    expect.objectContaining({ code: 'unavailable', extras: { retryAfterSeconds: 5 } }),
  )
})

test.each([
  ['full', 'partial;covered=1.0;gaps=0;reasons="stale"'],
  ['partial;covered=0.5;gaps=2;reasons="import venue_silent"', undefined],
  ['none;covered=0.0;gaps=0;reasons=""', 'none;covered=0.0;gaps=0;reasons="stale"'],
  ['unknown;gaps=2;reasons="window_unknown"', 'unknown;gaps=2;reasons="stale window_unknown"'],
  ['unknown', 'unknown;gaps=0;reasons="stale"'],
  [undefined, 'unknown;gaps=0;reasons="stale"'],
])('default: %p says that nothing later is known', (text, expected) => {
  const stale = expected ?? 'partial;covered=0.5;gaps=2;reasons="import stale venue_silent"'
  expect(staleCoverage(text, NOW_MS)).toBe(stale + until)
})

test('behavior: of an open market what is not known is no gap, of any other all is as before', () => {
  const span = { firstMs: NOW_MS - 60_000, lastMs: NOW_MS - 1000 }
  const market = {
    timeframe: '5m',
    source: 'recorded',
    isClosed: false,
    winner: undefined,
    windowStartMs: NOW_MS - 60_000,
    windowEndMs: NOW_MS + 240_000,
    firstSnapshotMs: span.firstMs,
    lastSnapshotMs: span.lastMs,
    spans: { up: span },
  } as unknown as Market
  const question = { market, gaps: [], outcome: 'up', nowMs: NOW_MS, isStale: true } as const
  expect(coverageText({ ...question, fromMs: NOW_MS - 60_000, toMs: NOW_MS + 9000 })).toBe('full')
  expect(tallyCoverage({ ...question, fromMs: NOW_MS + 9000, toMs: NOW_MS + 9001 })).toEqual({
    totalMs: 0,
    coveredMs: 0,
    gaps: new Map(),
  })
  const closed = { ...question, market: { ...market, isClosed: true } }
  const range = { fromMs: NOW_MS + 9000, toMs: NOW_MS + 9001 }
  for (const each of [{ ...closed }, { ...closed, isStale: false }])
    expect(coverageText({ ...each, ...range })).toBe('none;covered=0.0;gaps=1;reasons="import"')
})
