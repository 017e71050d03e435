import { describe, expect, test } from 'bun:test'

import { openHistory } from '#src/history/open.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import { simulate } from '#src/simulator/simulator.ts'

const START_MS = Date.UTC(2026, 0, 1)
const WINDOW_MS = 300_000

/** Closed markets, oldest first: how many states of each are held, and whether it has a winner. */
function createMarkets(kinds: readonly { states?: number; isResolved?: boolean }[]) {
  const history = openHistory(':memory:')
  const ids = kinds.map(({ states, isResolved = true }, index) => {
    const batches = [
      ...simulate({
        seed: 'example',
        coins: ['btc'],
        timeframes: ['5m'],
        markets: 1,
        statesPerSecond: 2,
        startMs: START_MS + index * WINDOW_MS,
        ...(states === undefined ? {} : { maxSnapshotsPerMarket: states }),
      }),
    ]
    const snapshots = batches.flatMap((batch) => batch.snapshots)
    const facts = batches.flatMap((batch) => batch.facts)
    for (const fact of facts) if (isResolved || !fact.winner) history.putMarket(fact)
    const { conditionId = '' } = snapshots[0] ?? {}
    history.append({ id: conditionId, source: 'simulated', snapshots })
    history.close(conditionId)
    return conditionId
  })
  return { history, ids, example: () => findExampleMarket(history)?.conditionId }
}

describe('findExampleMarket', () => {
  test('default: the resolved market that is covered best, not the newest that is closed', () => {
    const { ids, example } = createMarkets([{}, { states: 100 }, { isResolved: false }])
    expect(example()).toBe(ids[0])
  })

  test('behavior: among equals the one with trades', () => {
    const { history, ids, example } = createMarkets([{}, {}])
    expect(example()).toBe(ids[1])
    const [conditionId = ''] = ids
    const trade = { timestampMs: START_MS + 1_000, price: 500_000, outcome: 'up' } as const
    history.putTrades({ id: 'trades', conditionId, trades: [{ ...trade, size: 1, side: 'buy' }] })
    expect(example()).toBe(conditionId)
  })
})
