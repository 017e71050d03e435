/** Simulates order books from a seed: each market is independent of the others. See model.ts. */
import {
  type Coin,
  type MarketFacts,
  type Outcome,
  outcomes,
  SIMULATED_SLUG,
  type Timeframe,
  timeframeMs,
} from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { homeVenue } from '#src/venue/venues.ts'

import {
  advanceMarket,
  createMarket,
  LEAD_MS,
  type SimulatedMarket,
  TAIL_MS_MAX,
} from './market.ts'
import { createModel, STATES_PER_SECOND } from './model.ts'

const BATCH_SNAPSHOTS = 1_000

export type SimulateOptions = {
  seed: string | number
  coins: readonly Coin[]
  timeframes: readonly Timeframe[]
  /** Consecutive windows of each coin and timeframe. */
  markets: number
  /** Start of the first window; rounded up to the next multiple of the timeframe. */
  startMs: number
  /**
   * The rate of a 5-minute market in which both outcomes change together; longer ones are slower.
   */
  statesPerSecond?: number | undefined
  outcomes?: 'both' | Outcome | undefined
  /** Ends the recording of a market early, after this number of snapshots. */
  maxSnapshotsPerMarket?: number | undefined
}

/** Yields one batch of time after the other. */
export function* simulate(options: SimulateOptions) {
  const waiting = listWindows(options)
  const model = createModel()
  const { fromMs, toMs } = simulatedSpan(options)
  const live: SimulatedMarket[] = []
  /** In ascending order of time across markets; up comes before down at equal times. */
  let snapshots: Snapshot[] = []
  /** Facts of markets that began in this batch, and of those that closed in it, with the winner. */
  let facts: MarketFacts[] = []
  const endBatch = () => {
    const lastMs = snapshots.at(-1)?.timestampMs ?? toMs
    /** The simulated share of the time, 0 to 1. */
    const fraction = Math.min(1, (lastMs - fromMs) / (toMs - fromMs))
    const batch = { snapshots, facts, fraction }
    snapshots = []
    facts = []
    return batch
  }
  for (let next = 0; next < waiting.length || live.length > 0;) {
    const market = findEarliest(live)
    const window = waiting[next]
    if (window && (!market || window.windowStartMs - LEAD_MS <= market.nextMs)) {
      const opened = createMarket(window, model)
      live.push(opened)
      facts.push(toFacts(opened))
      next++
      continue
    }
    // At least one market is live here: otherwise a window would be waiting.
    if (market && advanceMarket(market, snapshots) !== undefined) {
      live.splice(live.indexOf(market), 1)
      facts.push(toFacts(market))
    }
    if (snapshots.length >= BATCH_SNAPSHOTS) yield endBatch()
  }
  if (snapshots.length + facts.length > 0) yield endBatch()
}

/** The time that a simulation covers, in Unix milliseconds: all snapshots are inside. */
export function simulatedSpan({ timeframes, startMs, markets }: SimulateOptions) {
  const starts = timeframes.map((timeframe) => alignUp(startMs, timeframe))
  const ends = timeframes.map((each) => alignUp(startMs, each) + markets * timeframeMs[each])
  return { fromMs: Math.min(...starts) - LEAD_MS, toMs: Math.max(...ends) + TAIL_MS_MAX }
}

const alignUp = (timestampMs: number, timeframe: Timeframe): number =>
  Math.ceil(timestampMs / timeframeMs[timeframe]) * timeframeMs[timeframe]

/** Few windows of each coin and timeframe are live at once, so a scan is short. */
function findEarliest(live: readonly SimulatedMarket[]): SimulatedMarket | undefined {
  let earliest = live[0]
  for (const market of live) {
    if (earliest === undefined || market.nextMs < earliest.nextMs) earliest = market
  }
  return earliest
}

function listWindows(options: SimulateOptions) {
  const { seed, timeframes, markets, startMs, statesPerSecond = STATES_PER_SECOND } = options
  const { outcomes: only = 'both', maxSnapshotsPerMarket = Number.POSITIVE_INFINITY } = options
  const shared = {
    seed: String(seed),
    statesPerSecond,
    maxSnapshots: maxSnapshotsPerMarket,
    outcomes: only === 'both' ? outcomes : [only],
  }
  const windows = timeframes.flatMap((timeframe) => {
    const lengthMs = timeframeMs[timeframe]
    const firstMs = alignUp(startMs, timeframe)
    return Array.from({ length: markets }, (_, index) => firstMs + index * lengthMs).flatMap(
      (windowStartMs) =>
        options.coins.map((coin) => ({ ...shared, coin, timeframe, windowStartMs })),
    )
  })
  return windows.sort((a, b) => a.windowStartMs - b.windowStartMs)
}

/** The current facts of a market. */
export function toFacts({ plan, conditionId, price }: SimulatedMarket): MarketFacts {
  const { coin, timeframe } = plan
  const { windowStartMs, windowEndMs, winner } = price
  const window = { coin, timeframe, startMs: windowStartMs }
  return {
    conditionId,
    coin,
    timeframe,
    source: 'simulated',
    slug: SIMULATED_SLUG + homeVenue.slugOf(window),
    question: homeVenue.titleOf(window),
    windowStartMs,
    windowEndMs,
    winner,
    winnerSource: winner === undefined ? undefined : 'simulated',
  }
}

/**
 * Writes one transaction per step. The options name the batches: running it again adds only what is
 * missing.
 */
export async function* storeSimulation(history: MarketHistory, options: SimulateOptions) {
  const name = nameSimulation(options)
  /** `snapshots` counts those made; `accepted` counts those that the history did not have. */
  const progress = { fraction: 0, markets: 0, snapshots: 0, accepted: 0 }
  let index = 0
  for (const { snapshots, facts, fraction } of simulate(options)) {
    for (const known of facts) await history.putMarket(known)
    const batch = { id: `simulate-${name}-${index++}`, snapshots, source: 'simulated' } as const
    const result = await history.append({ ...batch, gapReason: 'venue_silent' })
    const closed = facts.filter(({ winner }) => winner !== undefined)
    for (const { conditionId } of closed) await history.close(conditionId)
    progress.markets += closed.length
    progress.snapshots += snapshots.length
    if (result.kind === 'appended') progress.accepted += result.accepted
    progress.fraction = fraction
    yield { ...progress }
  }
  yield { ...progress, fraction: 1 }
}

function nameSimulation(options: SimulateOptions): string {
  const { seed, coins, timeframes, markets, startMs } = options
  const { statesPerSecond, outcomes = 'both', maxSnapshotsPerMarket } = options
  const parts = [String(seed), coins, timeframes, markets, startMs, outcomes]
  const text = JSON.stringify([...parts, statesPerSecond ?? null, maxSnapshotsPerMarket ?? null])
  return Bun.SHA256.hash(text, 'hex').slice(0, 32)
}
