import { describe, expect, test } from 'bun:test'

import { coverageText, type Gap, type GapReason } from '#src/domain/coverage.ts'
import type { Market, Outcome } from '#src/domain/market.ts'

const START_MS = Date.UTC(2026, 3, 14, 8)
const END_MS = START_MS + 300_000

const market: Market = {
  id: 1,
  revision: 1,
  layout: 1,
  conditionId: `0x${'1'.repeat(64)}`,
  coin: 'btc',
  timeframe: '5m',
  source: 'recorded',
  windowStartMs: START_MS,
  windowEndMs: END_MS,
  assetIds: {},
  snapshotCounts: { up: 2, down: 2 },
  verifiedCounts: { up: 0, down: 0 },
  spans: {
    up: { firstMs: START_MS, lastMs: END_MS - 1 },
    down: { firstMs: START_MS, lastMs: END_MS - 1 },
  },
  longestSilenceMs: {},
  firstSnapshotMs: START_MS,
  lastSnapshotMs: END_MS - 1,
  isClosed: true,
  orderMs: START_MS,
}

const gap = (fromMs: number, toMs: number, reason: GapReason): Gap => ({
  outcome: 'up',
  fromMs: START_MS + fromMs,
  toMs: START_MS + toMs,
  reason,
})

/** The header, `from` and `to` after the window's start. */
const headerOf = (
  gaps: Gap[],
  { from, to, outcome }: { from?: number; to?: number; outcome?: Outcome } = {},
): string =>
  coverageText({
    market,
    gaps,
    outcome,
    fromMs: from === undefined ? undefined : START_MS + from,
    toMs: to === undefined ? undefined : START_MS + to,
    nowMs: END_MS + 1000,
  })

describe('coverageText', () => {
  test('default: full where nothing is missing in the time asked for', () => {
    expect(headerOf([])).toBe('full')
    const gaps = [gap(1000, 2000, 'import')]
    expect(headerOf(gaps, { from: 2000 })).toBe('full')
    expect(headerOf(gaps, { to: 1000 })).toBe('full')
    expect(headerOf(gaps, { outcome: 'down' })).toBe('full')
  })

  test('default: what is missing, over the outcomes asked for', () => {
    const gaps = [
      gap(0, 5400, 'venue_silent'),
      { ...gap(6000, 11_400, 'import'), outcome: 'down' as const },
      gap(20_000, 20_000, 'import'),
    ]
    expect(headerOf(gaps)).toBe('partial;covered=0.982;gaps=2;reasons="import venue_silent"')
    expect(headerOf(gaps, { outcome: 'up' })).toBe(
      'partial;covered=0.982;gaps=1;reasons="venue_silent"',
    )
  })

  test('behavior: is rounded down, and never says all or nothing of what is neither', () => {
    expect(headerOf([gap(0, 1, 'import')])).toBe('partial;covered=0.999;gaps=1;reasons="import"')
    expect(headerOf([gap(1, 300_000, 'import')], { outcome: 'up' })).toBe(
      'partial;covered=0.0;gaps=1;reasons="import"',
    )
    expect(headerOf([gap(0, 150_000, 'import')], { outcome: 'up' })).toBe(
      'partial;covered=0.5;gaps=1;reasons="import"',
    )
  })

  test('behavior: none outside the life of the market, also where no time is left of it', () => {
    const none = (gaps: number) => `none;covered=0.0;gaps=${gaps};reasons="not_open"`
    expect(headerOf([], { from: -2000, to: -1000 })).toBe(none(2))
    expect(headerOf([], { from: 400_000, outcome: 'up' })).toBe(none(1))
    expect(headerOf([], { to: -1, outcome: 'up' })).toBe(none(1))
  })
})
