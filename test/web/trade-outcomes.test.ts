import { describe, expect, test } from 'bun:test'

import { guessOutcomes, type Mids } from '#web/charts/trade-outcomes.ts'
import type { Trade } from '#web/lib/bodies.ts'

const START_MS = Date.UTC(2026, 0, 1)
const startSeconds = START_MS / 1000

const aTrade = (price: number, seconds: number, outcome: Trade['outcome'] = null): Trade => ({
  timestamp: new Date(START_MS + seconds * 1000).toISOString(),
  price,
  outcome,
  size: 1,
  side: null,
  transactionHash: null,
})

describe('guessOutcomes', () => {
  test('default: a stated outcome stays, and the list is the same where all are stated', () => {
    const trades = [aTrade(0.3, 1, 'up'), aTrade(0.3, 2, 'down')]
    expect(guessOutcomes(trades, [[startSeconds], [0.9], [0.1]])).toBe(trades)
  })

  test('default: others are of the outcome whose mid was nearer then', () => {
    const mids: Mids = [
      [startSeconds, startSeconds + 10],
      [0.8, 0.2],
      [0.2, 0.8],
    ]
    const trades = [aTrade(0.75, 1), aTrade(0.3, 2), aTrade(0.75, 11), aTrade(0.6, 12, 'up')]
    expect(
      guessOutcomes(trades, mids).map(({ outcome, isGuessed = false }) => [outcome, isGuessed]),
    ).toEqual([
      ['up', true],
      ['down', true],
      ['down', true],
      ['up', false],
    ])
  })

  test('behavior: one outcome alone tells both', () => {
    const mids: Mids = [[startSeconds], [null], [0.2]]
    const shown = guessOutcomes([aTrade(0.75, 1), aTrade(0.25, 1)], mids)
    expect(shown.map(({ outcome }) => outcome)).toEqual(['up', 'down'])
  })

  test('behavior: without a mid, or where both are as near, a trade is left out', () => {
    const mids: Mids = [
      [startSeconds, startSeconds + 10],
      [null, 0.5],
      [null, 0.5],
    ]
    expect(guessOutcomes([aTrade(0.7, -1), aTrade(0.7, 1), aTrade(0.7, 11)], mids)).toEqual([])
  })
})
