/** The conformance suite's part on what a recorder heard. */
import { describe, expect, test } from 'bun:test'

import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { Statement } from '#src/domain/evidence.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { GapChange, MarketHistory, Recording } from '#src/history/history.ts'

import { conditionIdOf, getMarket, someSnapshots, START_MS, toldTrades } from './books.ts'
import type { Use } from './conformance.ts'

const conditionId = conditionIdOf(1)
const down: Gap = {
  outcome: 'up',
  fromMs: START_MS + 1,
  toMs: ENDLESS_MS,
  reason: 'recorder_down',
}
const opened: GapChange = { kind: 'opened', conditionId, gap: down }
const ended = (afterMs: number, outcome: Gap['outcome'] = 'up'): GapChange => ({
  kind: 'ended',
  conditionId,
  outcome,
  atMs: START_MS + afterMs,
})
const trade: Trade = {
  timestampMs: START_MS,
  price: 530_000,
  size: 1_000_000,
  outcome: 'up',
  side: 'buy',
}

function record(history: MarketHistory, part: Partial<Recording>) {
  return history.record({ snapshots: [], trades: [], gaps: [], ...part })
}

const put = (history: MarketHistory): Promise<void> =>
  history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' })

const gapsOf = (history: MarketHistory): readonly Gap[] => history.gaps(getMarket(history))

export function conformRecord(use: Use): void {
  describe('record', () => {
    test(
      'default: keeps snapshots, trades and gaps at once, each once',
      use(async (history) => {
        await put(history)
        const heard = { snapshots: someSnapshots(3), trades: [{ conditionId, trade }] }
        expect(await record(history, heard)).toEqual({ accepted: 3, duplicates: 0 })
        expect(await record(history, { ...heard, gaps: [opened] })).toEqual({
          accepted: 0,
          duplicates: 3,
        })
        const market = getMarket(history)
        expect(market).toMatchObject({ source: 'recorded', snapshotCounts: { up: 2, down: 1 } })
        expect(toldTrades(history, { market })).toEqual([trade])
        expect(gapsOf(history)).toEqual([down])
      }),
    )

    test(
      'behavior: a gap that is open ends where its outcome is known again, for that outcome alone',
      use(async (history) => {
        await put(history)
        await record(history, { snapshots: someSnapshots(1), gaps: [opened] })
        await record(history, { gaps: [ended(500, 'down')] })
        expect(gapsOf(history)).toEqual([down])
        const { revision } = getMarket(history)
        await record(history, { gaps: [ended(500)] })
        expect(gapsOf(history)).toEqual([{ ...down, toMs: START_MS + 500 }])
        expect(getMarket(history).revision).toBeGreaterThan(revision)
        await record(history, { gaps: [ended(900)] })
        expect(gapsOf(history)).toEqual([{ ...down, toMs: START_MS + 500 }])
      }),
    )

    conformRecorders(use)
    conformTakenBack(use)

    test(
      'behavior: a gap that ends at its start is none',
      use(async (history) => {
        await put(history)
        await record(history, { snapshots: someSnapshots(1), gaps: [opened, ended(1)] })
        expect(gapsOf(history)).toEqual([])
      }),
    )

    test(
      'behavior: a pause of the venue is a gap of its own reason',
      use(async (history) => {
        await put(history)
        const [first, , third] = someSnapshots(3)
        if (!first || !third) throw new Error('Three were asked for.')
        await record(history, { snapshots: [first, { ...third, timestampMs: START_MS + 9000 }] })
        expect(gapsOf(history)).toEqual([
          { outcome: 'up', fromMs: START_MS + 1, toMs: START_MS + 9000, reason: 'venue_silent' },
        ])
      }),
    )

    test(
      'error: of what belongs to no known market nothing is kept',
      use(async (history) => {
        await put(history)
        const unknown = { conditionId: conditionIdOf(9), trade }
        const write = () => record(history, { snapshots: someSnapshots(2), trades: [unknown] })
        expect(write).toThrow(expect.objectContaining({ code: 'unknown_market' }))
        expect(getMarket(history).snapshotCounts).toEqual({ up: 0, down: 0 })
      }),
    )
  })
}

/** Several recorders of one market. */
function conformRecorders(use: Use): void {
  const unknown = (fromMs: number, toMs = ENDLESS_MS): GapChange => ({
    kind: 'unknown',
    conditionId,
    gap: { ...down, fromMs: START_MS + fromMs, toMs: toMs === ENDLESS_MS ? toMs : START_MS + toMs },
  })
  const known = (fromMs: number, toMs: number): GapChange => ({
    kind: 'known',
    conditionId,
    outcome: 'up',
    fromMs: START_MS + fromMs,
    toMs: START_MS + toMs,
  })
  const gapOf = (fromMs: number, toMs: number) => ({
    ...down,
    fromMs: START_MS + fromMs,
    toMs: START_MS + toMs,
  })
  /** A snapshot of "up" so long after the start. */
  const rowAt = (ms: number): Recording['snapshots'] =>
    someSnapshots(1).map((row) => ({ ...row, timestampMs: START_MS + ms }))

  test(
    'behavior: what one recorder does not know begins after the rows of others, and not after its own',
    use(async (history) => {
      await put(history)
      await record(history, { snapshots: rowAt(0) })
      await record(history, {
        snapshots: rowAt(900),
        gaps: [unknown(1), ended(900), unknown(1, 900)],
      })
      expect(gapsOf(history)).toEqual([gapOf(1, 900)])
      // Another recorder saw nothing from 100 on.
      await record(history, { gaps: [unknown(101, 800), unknown(101)] })
      expect(gapsOf(history)).toEqual([
        gapOf(1, 900),
        { ...down, fromMs: START_MS + 901, toMs: ENDLESS_MS },
      ])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: what one recorder knows is no gap of another, which states again what it still does not know',
    use(async (history) => {
      await put(history)
      await record(history, { snapshots: rowAt(0) })
      await record(history, { gaps: [unknown(1)] })
      const { revision } = getMarket(history)
      await record(history, { snapshots: rowAt(300), gaps: [known(0, 301)] })
      expect(gapsOf(history)).toEqual([])
      expect(getMarket(history).revision).toBeGreaterThan(revision)
      await record(history, { snapshots: rowAt(700), gaps: [ended(700), unknown(1, 700)] })
      expect(gapsOf(history)).toEqual([gapOf(301, 700)])
      // The first one wrote nothing in between, and is still there.
      await record(history, { snapshots: rowAt(700), gaps: [known(300, 701)] })
      expect(gapsOf(history)).toEqual([])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: what one recorder knows splits a gap, and changes nothing elsewhere or in an import',
    use(async (history) => {
      await put(history)
      await record(history, { snapshots: rowAt(0), gaps: [unknown(1, 900)] })
      const { revision } = getMarket(history)
      await record(history, { gaps: [{ ...known(300, 500), outcome: 'down' } as GapChange] })
      expect([gapsOf(history), getMarket(history).revision]).toEqual([[gapOf(1, 900)], revision])
      await record(history, { gaps: [known(300, 500)] })
      expect(gapsOf(history)).toEqual([gapOf(1, 300), gapOf(500, 900)])
      await record(history, { isImport: true, gaps: [known(600, 700)] })
      expect(gapsOf(history)).toEqual([gapOf(1, 300), gapOf(500, 900)])
    }),
  )
}

function conformTakenBack(use: Use): void {
  test(
    'behavior: a gap that is withdrawn is none, and others of its outcome stay open',
    use(async (history) => {
      await put(history)
      const held: Gap = { ...down, fromMs: START_MS + 500 }
      const gaps: GapChange[] = [opened, { kind: 'opened', conditionId, gap: held }]
      await record(history, { snapshots: someSnapshots(1), gaps })
      await record(history, { gaps: [{ kind: 'withdrawn', conditionId, gap: held }] })
      expect(gapsOf(history)).toEqual([down])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: what one source of an import knows is no gap of another, or of a recorder, and stays so',
    use(async (history) => {
      await put(history)
      const span = { fromMs: START_MS + 1, toMs: START_MS + 1000 }
      const away: Gap = { ...down, ...span }
      await record(history, {
        snapshots: someSnapshots(1),
        gaps: [{ kind: 'opened', conditionId, gap: away }],
      })
      const fromMs = START_MS + 500
      const toMs = START_MS + 600
      const say = (statement: Statement) =>
        record(history, {
          isImport: true,
          gaps: [{ kind: 'said', conditionId, outcome: 'up', statement }],
        })
      await say({ kind: 'known', fromMs, toMs })
      const parts = [
        { ...away, toMs: fromMs },
        { ...away, fromMs: toMs },
      ]
      expect(gapsOf(history)).toEqual(parts)
      await say({ kind: 'away', ...span })
      expect(gapsOf(history)).toEqual(parts)
      await say({ kind: 'missed', fromMs: fromMs - 100, toMs: toMs + 100, reason: 'hash_mismatch' })
      expect(gapsOf(history)).toEqual([
        { ...away, toMs: fromMs - 100 },
        { ...away, fromMs: fromMs - 100, toMs: fromMs, reason: 'hash_mismatch' },
        { ...away, fromMs: toMs, toMs: toMs + 100, reason: 'hash_mismatch' },
        { ...away, fromMs: toMs + 100 },
      ])
      await say({ kind: 'known', ...span })
      expect(gapsOf(history)).toEqual([])
      expect([...history.verify()]).toEqual([])
    }),
  )

  test(
    'behavior: what a recorder covered before the first import is known, and later gaps do not reach it',
    use(async (history) => {
      await put(history)
      const snapshots = someSnapshots(3)
      await record(history, { snapshots })
      const { spans } = getMarket(history)
      const lastMs = spans.up?.lastMs ?? 0
      await record(history, {
        isImport: true,
        gaps: [
          {
            kind: 'said',
            conditionId,
            outcome: 'up',
            statement: { kind: 'away', fromMs: START_MS - 1000, toMs: lastMs + 1000 },
          },
        ],
      })
      expect(gapsOf(history)).toEqual([
        { ...down, fromMs: START_MS - 1000, toMs: START_MS },
        { ...down, fromMs: lastMs + 1, toMs: lastMs + 1000 },
      ])
    }),
  )

  test(
    "behavior: a pause in which a source of an import listened is the venue's",
    use(async (history) => {
      await put(history)
      const [first, , third] = someSnapshots(3)
      if (!first || !third) throw new Error('Three were asked for.')
      const toMs = START_MS + 9000
      const later = { ...third, timestampMs: toMs }
      await record(history, { isImport: true, snapshots: [first, later] })
      const pause = { outcome: 'up', fromMs: START_MS + 1, toMs } as const
      expect(gapsOf(history)).toEqual([{ ...pause, reason: 'import' }])
      const statement = { kind: 'known', fromMs: START_MS, toMs: toMs + 1 } as const
      await record(history, {
        isImport: true,
        gaps: [{ kind: 'said', conditionId, outcome: 'up', statement }],
      })
      expect(gapsOf(history)).toEqual([{ ...pause, reason: 'venue_silent' }])
      expect([...history.verify()]).toEqual([])
    }),
  )
}
