/** One day of a coin's markets, added up market by market and written as it is served. */
import {
  type CoverageTally,
  type Gap,
  type GapReason,
  gapReasons,
  shareOf,
  tallyCoverage,
} from '#src/core/coverage.ts'
import { exactMicros } from '#src/core/decimal.ts'
import { type Market, outcomes, type Timeframe, timeframeMs } from '#src/core/market.ts'
import { DAY_MS, toIso } from '#src/core/time.ts'
import { tallyMissing } from '#src/core/windows.ts'

type Sum = { markets: number; totalMs: number; coveredMs: number }
/** `startsMs`: of its markets' windows, ascending. */
type TimeframeSum = Sum & { startsMs: number[] }

const dayLength = 'YYYY-MM-DD'.length

/** Begins a day that has no markets yet; they are added by the start of their windows. */
export function createCoverageDay(startMs: number, nowMs: number) {
  const sums = new Map<Timeframe, TimeframeSum>()
  const gaps = new Map<GapReason, { count: number; ms: number }>()
  const snapshots = { up: 0, down: 0 }
  let verified = 0
  let longestSilenceMs: number | undefined

  function addTime(sum: Sum, tally: CoverageTally): void {
    sum.totalMs += tally.totalMs
    sum.coveredMs += tally.coveredMs
    for (const [reason, { count, ms }] of tally.gaps) {
      const known = gaps.get(reason) ?? { count: 0, ms: 0 }
      gaps.set(reason, { count: known.count + count, ms: known.ms + ms })
    }
  }

  function add(market: Market, stored: readonly Gap[]): void {
    const known = sums.get(market.timeframe)
    const sum = known ?? { markets: 0, totalMs: 0, coveredMs: 0, startsMs: [] }
    sums.set(market.timeframe, sum)
    sum.markets++
    sum.startsMs.push(market.orderMs)
    const span = windowOf(market, nowMs)
    if (span.toMs > span.fromMs) {
      addTime(sum, tallyCoverage({ market, gaps: stored, nowMs, ...span }))
    }
    for (const outcome of outcomes) {
      snapshots[outcome] += market.snapshotCounts[outcome]
      verified += market.verifiedCounts[outcome]
      longestSilenceMs = larger(longestSilenceMs, market.longestSilenceMs[outcome])
    }
  }

  /** Ends the account: windows that are not held are added, and all is written. */
  function text(): string {
    const range = { fromMs: startMs, toMs: startMs + DAY_MS, nowMs }
    const listed = timeframes.flatMap((timeframe) => {
      const sum = sums.get(timeframe)
      if (sum === undefined) return []
      addTime(sum, tallyMissing(sum.startsMs, { timeframe, ...range }, outcomes.length))
      return [{ timeframe, ...sum, windows: DAY_MS / timeframeMs[timeframe] }]
    })
    const all = { markets: 0, totalMs: 0, coveredMs: 0 }
    for (const { markets, totalMs, coveredMs } of listed) {
      all.markets += markets
      all.totalMs += totalMs
      all.coveredMs += coveredMs
    }
    return JSON.stringify({
      day: toIso(startMs).slice(0, dayLength),
      state: stateOf({ isOver: startMs + DAY_MS <= nowMs, ...all, hasGaps: gaps.size > 0 }),
      markets: all.markets,
      timeframes: listed.map(({ timeframe, markets, windows, ...sum }) => {
        return { timeframe, markets, windows, covered: toShare(sum.coveredMs, sum.totalMs) }
      }),
      snapshots,
      covered: toShare(all.coveredMs, all.totalMs),
      gaps: gapReasons.flatMap((reason) => {
        const sum = gaps.get(reason)
        return sum === undefined ? [] : [{ reason, count: sum.count, durationMs: sum.ms }]
      }),
      verified: toShare(verified, snapshots.up + snapshots.down),
      longestSilenceMs: longestSilenceMs ?? null,
    })
  }

  return { add, text }
}

// Shortest first.
const timeframes = Object.keys(timeframeMs) as Timeframe[]

/** The window up to now; of a market whose window is unknown all of its life. Empty while it has not begun. */
function windowOf(market: Market, nowMs: number) {
  const { windowStartMs: fromMs, windowEndMs } = market
  if (fromMs === undefined || windowEndMs === undefined) {
    return { fromMs: market.firstSnapshotMs ?? 0, toMs: (market.lastSnapshotMs ?? -1) + 1 }
  }
  return { fromMs, toMs: Math.min(windowEndMs, nowMs) }
}

function stateOf(day: { isOver: boolean; coveredMs: number; hasGaps: boolean }) {
  if (!day.isOver) return 'pending'
  if (day.coveredMs === 0) return 'missing'
  return day.hasGaps ? 'degraded' : 'available'
}

const larger = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a

const toShare = (part: number, whole: number): unknown =>
  exactMicros(whole === 0 ? undefined : shareOf(part, whole))
