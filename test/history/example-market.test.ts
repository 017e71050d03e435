import { describe, expect, test } from 'bun:test'

import { finalPriceFacts, type Source, strikeFacts } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'
import { findExampleMarket } from '#src/history/reads/market-pages.ts'
import { simulate } from '#src/simulator/simulator.ts'

import { asRecorded } from '../support/as-recorded.ts'

const START_MS = Date.UTC(2026, 0, 1)
const WINDOW_MS = 300_000

type Kind = {
  /** How many are held. */
  states?: number
  isResolved?: boolean
  outcomes?: 'both' | 'down'
  source?: Source
}

/** Closed markets, oldest first. */
async function createMarkets(kinds: readonly Kind[]) {
  const history = openHistory(':memory:')
  const ids = await Array.fromAsync(kinds, async (kind, index) => {
    const { states, isResolved = true, outcomes, source = 'simulated' } = kind
    const batches = [
      ...simulate({
        seed: 'example',
        coins: ['btc'],
        timeframes: ['5m'],
        markets: 1,
        statesPerSecond: 2,
        outcomes,
        startMs: START_MS + index * WINDOW_MS,
        ...(states === undefined ? {} : { maxSnapshotsPerMarket: states }),
      }),
    ]
    const snapshots = batches.flatMap((batch) => batch.snapshots)
    const facts = batches.flatMap((batch) => batch.facts)
    const store = source === 'recorded' ? asRecorded(history) : history
    for (const fact of facts) if (isResolved || !fact.winner) await store.putMarket(fact)
    const { conditionId = '' } = snapshots[0] ?? {}
    await store.append({ id: conditionId, source, snapshots })
    await history.close(conditionId)
    return conditionId
  })
  return { history, ids, example: () => findExampleMarket(history)?.conditionId }
}

describe('findExampleMarket', () => {
  test('default: the resolved market that is covered best, not the newest that is closed', async () => {
    const { ids, example } = await createMarkets([{}, { states: 100 }, { isResolved: false }])
    expect(example()).toBe(ids[0])
  })

  test('behavior: among equals the one with trades', async () => {
    const { history, ids, example } = await createMarkets([{}, {}])
    expect(example()).toBe(ids[1])
    const [conditionId = ''] = ids
    const trade = { timestampMs: START_MS + 1_000, price: 500_000, outcome: 'up' } as const
    await history.putTrades({
      id: 'trades',
      conditionId,
      trades: [{ ...trade, size: 1, side: 'buy' }],
    })
    expect(example()).toBe(conditionId)
  })

  test('behavior: among equals the one that ended closest to its strike', async () => {
    const { history, ids, example } = await createMarkets([{}, {}, {}])
    for (const [index, finalPrice] of ['101', '99.9', '102'].entries()) {
      const market = history.findMarket(ids[index] ?? '')
      if (market === undefined) throw new Error('The market is held.')
      const origin = { ...market, source: 'simulated' } as const
      await history.putMarket({
        ...market,
        ...strikeFacts('100', origin),
        ...finalPriceFacts(finalPrice, origin),
      })
    }
    expect(example()).toBe(ids[1])
  })

  test('behavior: a recorded one before any that is simulated, also of one outcome, and unresolved', async () => {
    for (const recorded of [{}, { outcomes: 'down' }, { isResolved: false }] as const) {
      const { ids, example } = await createMarkets([{ ...recorded, source: 'recorded' }, {}])
      expect([recorded, example()]).toEqual([recorded, ids[0]])
    }
  })

  test('behavior: a recorded one of which most is missing is shown only where there is no other', async () => {
    const poor = { states: 100, source: 'recorded' } as const
    const { ids, example } = await createMarkets([{}, poor])
    expect(example()).toBe(ids[0])
    const alone = await createMarkets([poor])
    expect(alone.example()).toBe(alone.ids[0])
    const beside = await createMarkets([{ source: 'recorded' }, poor])
    expect(beside.example()).toBe(beside.ids[0])
  })
})
