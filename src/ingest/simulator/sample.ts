import { coins, timeframeMs } from '#src/core/market.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

import { storeSimulation } from './store-simulation.ts'

const SAMPLE_TIMEFRAME = '5m'
const SAMPLE_MARKETS = 3

/** Far below real rates: about 8,000 snapshots in all, made well within a second. */
const SAMPLE_STATES_PER_SECOND = 1

/** Recordings end a few seconds after their window; the sample is of the past altogether. */
const SETTLE_MS = 10_000

/**
 * Fills an empty history with the last few finished 5-minute windows of every coin, simulated, so
 * that a first start has something to show. Prints the percentage at each quarter of the way.
 */
export function makeSample({
  history,
  print,
  clock,
}: {
  history: MarketHistory
  print: (line: string) => void
  clock: Clock
}): { markets: number; snapshots: number } {
  const windowMs = timeframeMs[SAMPLE_TIMEFRAME]
  const endMs = Math.floor((clock() - SETTLE_MS) / windowMs) * windowMs
  const made = { markets: 0, snapshots: 0 }
  let quarters = 0
  const steps = storeSimulation(history, {
    seed: 'sample',
    coins,
    timeframes: [SAMPLE_TIMEFRAME],
    markets: SAMPLE_MARKETS,
    startMs: endMs - SAMPLE_MARKETS * windowMs,
    statesPerSecond: SAMPLE_STATES_PER_SECOND,
  })
  for (const { fraction, markets, snapshots } of steps) {
    made.markets = markets
    made.snapshots = snapshots
    if (Math.floor(fraction * 4) === quarters) continue
    quarters = Math.floor(fraction * 4)
    print(`Making a simulated sample: ${quarters * 25} %`)
  }
  return made
}
