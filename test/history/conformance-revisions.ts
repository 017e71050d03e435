/** The conformance suite's part on what changed after it could be served. */
import { describe, expect, test } from 'bun:test'

import { ENDLESS_MS } from '#src/domain/coverage.ts'
import type { Revision } from '#src/domain/revision.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { appendAll, aSnapshot, conditionIdOf, getMarket, someSnapshots, START_MS } from './books.ts'
import type { Use } from './conformance.ts'

const conditionId = conditionIdOf(1)
const revisionsOf = (history: MarketHistory): Revision[] => history.revisions.list(0, 1000)
const last = (history: MarketHistory) => revisionsOf(history).at(-1)
const atSecond = (second: number, size = 77) =>
  aSnapshot({ timestampMs: START_MS + second * 1000 }, size)

export function conformRevisions(use: Use): void {
  describe('revisions', () => {
    test(
      'default: what a market gains after its last snapshot is none',
      use(async (history) => {
        await appendAll(history, someSnapshots(30))
        await history.record({
          source: 'simulated',
          snapshots: [atSecond(60)],
          trades: [],
          gaps: [],
        })
        expect(revisionsOf(history)).toEqual([])
        expect(history.revisions.sinceMs()).toBeGreaterThan(0)
        await history.close(conditionId)
        expect(revisionsOf(history)).toEqual([])
      }),
    )

    test(
      'default: rows before the last one, and of a market that is closed, with their span',
      use(async (history) => {
        await appendAll(history, someSnapshots(30))
        const late = [atSecond(3), atSecond(5), atSecond(40)]
        await history.record({ source: 'simulated', snapshots: late, trades: [], gaps: [] })
        expect(last(history)).toMatchObject({
          id: 1,
          why: 'late_rows',
          conditionId,
          coin: 'btc',
          timeframe: '5m',
          added: 3,
          changed: 0,
          removed: 0,
          revision: getMarket(history).revision,
          fromMs: START_MS + 3000,
          toMs: START_MS + 40_001,
          orderMs: START_MS,
          facts: [],
        })
        await history.close(conditionId)
        await appendAll(history, [atSecond(90)])
        expect(last(history)).toMatchObject({ id: 2, why: 'imported', added: 1 })
      }),
    )

    test(
      'behavior: what is held already changes nothing, and a better row removes what it replaces',
      use(async (history) => {
        const plain = atSecond(1)
        await appendAll(history, [plain, atSecond(2)])
        await appendAll(history, [plain])
        expect(revisionsOf(history)).toEqual([])
        await appendAll(history, [{ ...plain, receivedMs: START_MS + 1500 }])
        expect(last(history)).toMatchObject({ added: 0, changed: 1, removed: 0 })
        const better = { ...plain, sourceHash: 'a'.repeat(40), isVerified: true }
        await appendAll(history, [better])
        expect(last(history)).toMatchObject({ added: 1, changed: 0, removed: 1 })
      }),
    )

    test(
      'behavior: a row that moves within its millisecond counts as added and as removed',
      use(async (history) => {
        await appendAll(history, [
          aSnapshot({ outcome: 'down', timestampMs: START_MS + 1000 }),
          atSecond(2),
        ])
        await appendAll(history, [atSecond(1)])
        expect(last(history)).toMatchObject({ added: 2, changed: 0, removed: 1 })
      }),
    )

    conformFactsAndGaps(use)
    conformOrder(use)
  })
}

function conformFactsAndGaps(use: Use): void {
  test(
    'default: facts that become known or are corrected, with what was known before',
    use(async (history) => {
      const facts = { conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' } as const
      await history.putMarket(facts)
      expect(revisionsOf(history)).toEqual([])
      await history.putMarket({ ...facts, winner: 'up', winnerSource: 'dataset' })
      await history.putMarket({ ...facts, winner: 'down', winnerSource: 'venue' })
      await history.putMarket({ ...facts, winner: 'down', winnerSource: 'venue' })
      expect(revisionsOf(history).map((each) => [each.why, each.facts])).toEqual([
        [
          'fact_changed',
          [
            { fact: 'winner', before: null, after: 'up' },
            { fact: 'winnerSource', before: null, after: 'dataset' },
          ],
        ],
        [
          'fact_changed',
          [
            { fact: 'winner', before: 'up', after: 'down' },
            { fact: 'winnerSource', before: 'dataset', after: 'venue' },
          ],
        ],
      ])
    }),
  )

  test(
    'default: gaps that are noted and closed, trades after the close, and a deletion',
    use(async (history) => {
      await history.putMarket({ conditionId, coin: 'btc', timeframe: '5m', source: 'simulated' })
      const trade = { timestampMs: START_MS, price: 500_000 }
      await history.putTrades({ id: 'one', conditionId, trades: [trade] })
      await appendAll(history, someSnapshots(3))
      const span = { fromMs: START_MS + 2500, toMs: ENDLESS_MS }
      const gap = { outcome: 'up', ...span, reason: 'recorder_down' } as const
      const heard = { source: 'simulated', snapshots: [], trades: [] } as const
      await history.record({ ...heard, gaps: [{ kind: 'opened', conditionId, gap }] })
      const atMs = START_MS + 4000
      await history.record({
        ...heard,
        gaps: [{ kind: 'ended', conditionId, outcome: 'up', atMs }],
      })
      await history.close(conditionId)
      await history.putTrades({ id: 'two', conditionId, trades: [{ ...trade, price: 510_000 }] })
      while (await history.deleteOldest(START_MS + 1));
      expect(
        revisionsOf(history).map(({ why, fromMs, toMs, added, removed }) => [
          why,
          fromMs,
          toMs,
          added,
          removed,
        ]),
      ).toEqual([
        ['gap_noted', START_MS + 2500, undefined, 0, 0],
        ['gap_closed', atMs, undefined, 0, 0],
        ['late_trades', undefined, undefined, 1, 0],
        ['deleted', START_MS, START_MS + 2001, 0, 3],
      ])
    }),
  )
}

function conformOrder(use: Use): void {
  test(
    'behavior: times never fall, and a list continues after an id or begins at a moment',
    use(async (history) => {
      await appendAll(history, someSnapshots(30))
      for (let second = 1; second < 9; second++) await appendAll(history, [atSecond(second)])
      const all = revisionsOf(history)
      expect(all.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
      const times = all.map(({ atMs }) => atMs)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(history.revisions.list(3, 2).map(({ id }) => id)).toEqual([4, 5])
      expect(history.revisions.lastIdBefore(times[0] ?? 0)).toBe(0)
      expect(history.revisions.lastIdBefore((times.at(-1) ?? 0) + 1)).toBe(8)
    }),
  )

  test(
    'behavior: the last change is of the coin and the time that are asked for',
    use(async (history) => {
      await appendAll(history, someSnapshots(30))
      for (let second = 1; second < 4; second++) await appendAll(history, [atSecond(second)])
      const last = revisionsOf(history).at(-1)
      if (last === undefined) throw new Error('Late rows are changes.')
      const { coin, orderMs, atMs } = last
      const lastChangeMs = (query: Partial<Parameters<typeof history.revisions.lastChangeMs>[0]>) =>
        history.revisions.lastChangeMs({
          coin,
          fromMs: orderMs,
          toMs: orderMs + 1,
          sinceMs: atMs,
          ...query,
        })
      expect(lastChangeMs({})).toBe(atMs)
      expect(lastChangeMs({ sinceMs: 0 })).toBe(atMs)
      expect(lastChangeMs({ sinceMs: atMs + 1 })).toBeUndefined()
      expect(lastChangeMs({ coin: 'eth' })).toBeUndefined()
      expect(lastChangeMs({ toMs: orderMs })).toBeUndefined()
      expect(lastChangeMs({ fromMs: orderMs + 1, toMs: orderMs + 2 })).toBeUndefined()
    }),
  )

  test(
    'behavior: what is refused leaves nothing in the log',
    use(async (history) => {
      await appendAll(history, someSnapshots(30))
      await expect(
        appendAll(history, [atSecond(1), { ...atSecond(2), coin: 'eth' }]),
      ).rejects.toThrow()
      expect(revisionsOf(history)).toEqual([])
      expect([...history.verify()]).toEqual([])
    }),
  )
}
