/** Completely recorded markets of BTC, so that X-Coverage can only miss other ones. */
import { type Timeframe, timeframeMs } from '#src/domain/market.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { aSnapshot, assetIdOf, conditionIdOf } from '../history/books.ts'

export const DAY_START_MS = Date.UTC(2026, 0, 1)

/** Creates histories of windows by their number in the first day of 2026, from 0. */
export async function wholeMarkets(
  windows: Partial<Record<Timeframe, readonly number[]>>,
): Promise<MarketHistory> {
  const history = openHistory(':memory:')
  let number = 0
  for (const timeframe of Object.keys(windows) as Timeframe[]) {
    const lengthMs = timeframeMs[timeframe]
    for (const window of windows[timeframe] ?? []) {
      await addWhole(history, {
        number: ++number,
        timeframe,
        startMs: DAY_START_MS + window * lengthMs,
      })
    }
  }
  return history
}

type Draft = { number: number; timeframe: Timeframe; startMs: number }

/**
 * Adds a market with a state of each outcome every sixtieth of its window, the longest silence that
 * is not a gap.
 */
export async function addWhole(
  history: MarketHistory,
  { number, timeframe, startMs }: Draft,
): Promise<string> {
  const conditionId = conditionIdOf(number)
  const identity = { conditionId, timeframe } as const
  const windowEndMs = startMs + timeframeMs[timeframe]
  await history.putMarket({
    ...identity,
    coin: 'btc',
    source: 'simulated',
    windowStartMs: startMs,
    windowEndMs,
  })
  const stepMs = timeframeMs[timeframe] / 60
  const snapshots = Array.from({ length: 120 }, (_, index) => {
    const outcome = index % 2 === 0 ? 'up' : 'down'
    const timestampMs = startMs + (index >> 1) * stepMs
    const assetId = assetIdOf(conditionId, outcome)
    return aSnapshot({ ...identity, outcome, timestampMs, assetId }, index + 1)
  })
  await history.append({ id: `whole-${number}`, source: 'simulated', snapshots })
  await history.close(conditionId)
  return conditionId
}
