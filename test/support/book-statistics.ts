import type { Ladder, Snapshot } from '#src/domain/snapshot.ts'

const MILLIONTHS_PER_TICK = 10_000
const PAUSE_MS = 5_000
const NEAR_TICKS = 10

/**
 * Statistics in which recorded and simulated books are compared. Shares are of states unless stated
 * otherwise.
 */
export type BookStatistics = {
  states: number
  levelsP50: number
  levelsP05: number
  gapMsP50: number
  gapMsP90: number
  changedMean: number
  changedP50: number
  changedP95: number
  /** The share of changed levels within ten ticks of the touch. */
  nearChanges: number
  /** The share of changed levels that appeared or disappeared. */
  structuralChanges: number
  oneTickSpread: number
  touchMoved: number
  /** The share of sizes that are whole; sizes have at most two decimals. */
  wholeSizes: number
  hundredthSizes: number
  sizeP50: number
}

/** Measures states of any number of tokens, each in order of time. */
export function measureBooks(snapshots: Iterable<Snapshot>): BookStatistics {
  const tally = createTally()
  const former = new Map<string, Snapshot>()
  for (const snapshot of snapshots) {
    tallyState(tally, snapshot)
    const last = former.get(snapshot.assetId)
    if (last) tallyStep(tally, last, snapshot)
    former.set(snapshot.assetId, snapshot)
  }
  return summarize(tally)
}

type Tally = ReturnType<typeof createTally>

const createTally = () => ({
  levels: [] as number[],
  gaps: [] as number[],
  changed: [] as number[],
  sizes: [] as number[],
  nearChanges: 0,
  structuralChanges: 0,
  oneTick: 0,
  moved: 0,
})

function tallyState(tally: Tally, { bids, asks }: Snapshot): void {
  tally.levels.push(bids.prices.length + asks.prices.length)
  const spread = (asks.prices[0] ?? Infinity) - (bids.prices[0] ?? 0)
  if (spread === MILLIONTHS_PER_TICK) tally.oneTick++
  if (tally.levels.length % 10 === 0) tally.sizes.push(...bids.sizes, ...asks.sizes)
}

function tallyStep(tally: Tally, last: Snapshot, next: Snapshot): void {
  const gap = next.timestampMs - last.timestampMs
  if (gap < PAUSE_MS) tally.gaps.push(gap)
  const isMoved =
    last.bids.prices[0] !== next.bids.prices[0] || last.asks.prices[0] !== next.asks.prices[0]
  if (isMoved) tally.moved++
  tally.changed.push(
    tallySide(tally, last.bids, next.bids) + tallySide(tally, last.asks, next.asks),
  )
}

function tallySide(tally: Tally, last: Ladder, next: Ladder): number {
  if (last === next) return 0
  const sizes = new Map(last.prices.map((price, index) => [price, last.sizes[index]]))
  const touch = last.prices[0] ?? next.prices[0] ?? 0
  let changed = 0
  const count = (price: number, isStructural: boolean) => {
    changed++
    if (isStructural) tally.structuralChanges++
    if (Math.abs(price - touch) <= NEAR_TICKS * MILLIONTHS_PER_TICK) tally.nearChanges++
  }
  for (const [index, price] of next.prices.entries()) {
    const former = sizes.get(price)
    if (former !== next.sizes[index]) count(price, former === undefined)
    sizes.delete(price)
  }
  for (const price of sizes.keys()) count(price, true)
  return changed
}

function summarize(tally: Tally): BookStatistics {
  const states = tally.levels.length
  const changes = tally.changed.reduce((sum, count) => sum + count, 0)
  const wholeSizes = tally.sizes.filter((size) => size % 1_000_000 === 0).length
  const hundredthSizes = tally.sizes.filter((size) => size % 100_000 !== 0).length
  return {
    states,
    levelsP50: quantile(tally.levels, 0.5),
    levelsP05: quantile(tally.levels, 0.05),
    gapMsP50: quantile(tally.gaps, 0.5),
    gapMsP90: quantile(tally.gaps, 0.9),
    changedMean: changes / tally.changed.length,
    changedP50: quantile(tally.changed, 0.5),
    changedP95: quantile(tally.changed, 0.95),
    nearChanges: tally.nearChanges / changes,
    structuralChanges: tally.structuralChanges / changes,
    oneTickSpread: tally.oneTick / states,
    touchMoved: tally.moved / tally.changed.length,
    wholeSizes: wholeSizes / tally.sizes.length,
    hundredthSizes: hundredthSizes / tally.sizes.length,
    sizeP50: quantile(tally.sizes, 0.5),
  }
}

function quantile(values: number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(rank * sorted.length)] ?? 0
}
