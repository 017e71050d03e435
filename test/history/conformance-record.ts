/** The conformance suite's part on what a recorder heard. */
import { describe, expect, test } from 'bun:test'

import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { GapChange, MarketHistory, Recording } from '#src/history/history.ts'

import { conditionIdOf, getMarket, someSnapshots, START_MS, toldTrades } from './books.ts'
import type { Use } from './conformance.ts'

const conditionId = conditionIdOf(1)
const down: Gap = {
  ...{ outcome: 'up', fromMs: START_MS + 1, toMs: ENDLESS_MS },
  reason: 'recorder_down',
}
const opened: GapChange = { kind: 'opened', conditionId, gap: down }
const ended = (afterMs: number, outcome: Gap['outcome'] = 'up'): GapChange => ({
  ...{ kind: 'ended', conditionId, outcome, atMs: START_MS + afterMs },
})
const trade: Trade = {
  ...{ timestampMs: START_MS, price: 530_000, size: 1_000_000 },
  ...{ outcome: 'up', side: 'buy' },
}

function record(history: MarketHistory, part: Partial<Recording>) {
  return history.record({ snapshots: [], trades: [], gaps: [], ...part })
}

const put = (history: MarketHistory): void =>
  history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' })

const gapsOf = (history: MarketHistory): readonly Gap[] => history.gaps(getMarket(history))

export function conformRecord(use: Use): void {
  describe('record', () => {
    test(
      'default: keeps snapshots, trades and gaps at once, each once',
      use((history) => {
        put(history)
        const heard = { snapshots: someSnapshots(3), trades: [{ conditionId, trade }] }
        expect(record(history, heard)).toEqual({ accepted: 3, duplicates: 0 })
        expect(record(history, { ...heard, gaps: [opened] })).toEqual({
          ...{ accepted: 0, duplicates: 3 },
        })
        const market = getMarket(history)
        expect(market).toMatchObject({ source: 'recorded', snapshotCounts: { up: 2, down: 1 } })
        expect(toldTrades(history, { market })).toEqual([trade])
        expect(gapsOf(history)).toEqual([down])
      }),
    )

    test(
      'behavior: a gap that is open ends where its outcome is known again, for that outcome alone',
      use((history) => {
        put(history)
        record(history, { snapshots: someSnapshots(1), gaps: [opened] })
        record(history, { gaps: [ended(500, 'down')] })
        expect(gapsOf(history)).toEqual([down])
        const { revision } = getMarket(history)
        record(history, { gaps: [ended(500)] })
        expect(gapsOf(history)).toEqual([{ ...down, toMs: START_MS + 500 }])
        expect(getMarket(history).revision).toBeGreaterThan(revision)
        record(history, { gaps: [ended(900)] })
        expect(gapsOf(history)).toEqual([{ ...down, toMs: START_MS + 500 }])
      }),
    )

    conformTakenBack(use)

    test(
      'behavior: a gap that ends at its start is none',
      use((history) => {
        put(history)
        record(history, { snapshots: someSnapshots(1), gaps: [opened, ended(1)] })
        expect(gapsOf(history)).toEqual([])
      }),
    )

    test(
      'behavior: a pause of the venue is a gap of its own reason',
      use((history) => {
        put(history)
        const [first, , third] = someSnapshots(3)
        if (!first || !third) throw new Error('Three were asked for.')
        record(history, { snapshots: [first, { ...third, timestampMs: START_MS + 9000 }] })
        expect(gapsOf(history)).toEqual([
          { outcome: 'up', fromMs: START_MS + 1, toMs: START_MS + 9000, reason: 'venue_silent' },
        ])
      }),
    )

    test(
      'error: of what belongs to no known market nothing is kept',
      use((history) => {
        put(history)
        const unknown = { conditionId: conditionIdOf(9), trade }
        const write = () => record(history, { snapshots: someSnapshots(2), trades: [unknown] })
        expect(write).toThrow(expect.objectContaining({ code: 'unknown_market' }))
        expect(getMarket(history).snapshotCounts).toEqual({ up: 0, down: 0 })
      }),
    )
  })
}

function conformTakenBack(use: Use): void {
  test(
    'behavior: a gap that is withdrawn is none, and others of its outcome stay open',
    use((history) => {
      put(history)
      const held: Gap = { ...down, fromMs: START_MS + 500 }
      const gaps: GapChange[] = [opened, { kind: 'opened', conditionId, gap: held }]
      record(history, { snapshots: someSnapshots(1), gaps })
      record(history, { gaps: [{ kind: 'withdrawn', conditionId, gap: held }] })
      expect(gapsOf(history)).toEqual([down])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: a time that is filled is in no recorded gap, or in none of a reason',
    use((history) => {
      put(history)
      const seen: Gap = { ...down, reason: 'venue_silent' }
      const gaps: GapChange[] = [opened, { kind: 'opened', conditionId, gap: seen }]
      record(history, { snapshots: someSnapshots(1), gaps })
      const [fromMs, toMs] = [START_MS + 500, START_MS + 600]
      const filled = { kind: 'filled', conditionId, outcome: 'up', fromMs, toMs } as const
      record(history, { gaps: [{ ...filled, reason: 'recorder_down' }] })
      const parts = [
        { ...down, toMs: fromMs },
        { ...down, fromMs: toMs },
      ]
      expect(gapsOf(history).filter(({ reason }) => reason === 'recorder_down')).toEqual(parts)
      expect(gapsOf(history)).toContainEqual(seen)
      record(history, { gaps: [filled] })
      const both = parts.flatMap((part) => [part, { ...part, reason: seen.reason }])
      expect(gapsOf(history)).toEqual(both)
      expect([...history.verify()]).toEqual([])
    }),
  )
}
