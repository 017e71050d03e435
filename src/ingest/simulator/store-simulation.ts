import type { MarketHistory } from '#src/history/history.ts'

import { simulate, simulatedSpan, type SimulateOptions } from './simulator.ts'

/** Hex digits of the options' digest that name a simulation's batches. */
const NAME_LENGTH = 32

/** How far a simulation has come. */
export type SimulationProgress = {
  /** Of the simulated time, 0 to 1. */
  fraction: number
  markets: number
  /** Made, whether or not they were held already. */
  snapshots: number
  accepted: number
}

/**
 * Adds simulated markets to the history, one transaction a step; the caller may stop between two.
 * The options name the batches, so doing it again adds what is missing and nothing else.
 */
export function* storeSimulation(
  history: MarketHistory,
  options: SimulateOptions,
): Generator<SimulationProgress, void, undefined> {
  const name = nameSimulation(options)
  const { fromMs, toMs } = simulatedSpan(options)
  const progress = { fraction: 0, markets: 0, snapshots: 0, accepted: 0 }
  let index = 0
  for (const { snapshots, facts } of simulate(options)) {
    for (const known of facts) history.putMarket(known)
    const id = `simulate-${name}-${index++}`
    const result = history.append({
      id,
      source: 'simulated',
      snapshots,
      gapReason: 'venue_silent',
    })
    const closed = facts.filter(({ winner }) => winner !== undefined)
    for (const { conditionId } of closed) history.close(conditionId)
    progress.markets += closed.length
    progress.snapshots += snapshots.length
    if (result.kind === 'appended') progress.accepted += result.accepted
    const lastMs = snapshots.at(-1)?.timestampMs ?? toMs
    progress.fraction = Math.min(1, (lastMs - fromMs) / (toMs - fromMs))
    yield { ...progress }
  }
  yield { ...progress, fraction: 1 }
}

function nameSimulation(options: SimulateOptions): string {
  const { seed, coins, timeframes, markets, startMs } = options
  const { statesPerSecond, outcomes = 'both', maxSnapshotsPerMarket } = options
  const parts = [String(seed), coins, timeframes, markets, startMs, outcomes]
  const text = JSON.stringify([...parts, statesPerSecond ?? null, maxSnapshotsPerMarket ?? null])
  return Bun.SHA256.hash(text, 'hex').slice(0, NAME_LENGTH)
}
