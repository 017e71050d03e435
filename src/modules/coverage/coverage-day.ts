/** One day of a coin's markets, added up market by market and written as it is served. */
import {
  type CoverageTally,
  type Gap,
  hasWindow,
  shareOf,
  tallyCoverage,
  type TallyReason,
  tallyReasons,
} from '#src/core/coverage.ts'
import { exactMillionths } from '#src/core/decimal.ts'
import { type Market, outcomes, type Timeframe, timeframeMs, timeframes } from '#src/core/market.ts'
import { DAY_MS, toIso } from '#src/core/time.ts'
import { tallyMissing, tallyOfUnknown } from '#src/core/windows.ts'

type Sum = { markets: number; totalMs: number; coveredMs: number }
/** `startsMs`: of its markets' windows, ascending. */
type TimeframeSum = Sum & { startsMs: number[] }

const dayLength = 'YYYY-MM-DD'.length

/** Begins a day that has no markets yet; they are added by the start of their windows. */
export function createCoverageDay(startMs: number, nowMs: number) {
  const sums = new Map<Timeframe, TimeframeSum>()
  const gaps = new Map<TallyReason, { count: number; ms: number }>()
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
    if (hasWindow(market)) {
      const { windowStartMs: fromMs, windowEndMs } = market
      sum.startsMs.push(fromMs)
      const question = { market, gaps: stored, nowMs, fromMs, toMs: Math.min(windowEndMs, nowMs) }
      if (question.toMs > fromMs) addTime(sum, tallyCoverage(question))
    } else if (market.firstSnapshotMs !== undefined) addTime(sum, tallyOfUnknown(outcomes.length))
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
      state: stateOf(all.coveredMs),
      markets: all.markets,
      timeframes: listed.map(({ timeframe, markets, windows, ...sum }) => {
        return { timeframe, markets, windows, covered: toShare(sum.coveredMs, sum.totalMs) }
      }),
      snapshots,
      covered: toShare(all.coveredMs, all.totalMs),
      gaps: tallyReasons.flatMap((reason) => {
        const sum = gaps.get(reason)
        return sum === undefined ? [] : [{ reason, count: sum.count, durationMs: sum.ms }]
      }),
      verified: toShare(verified, snapshots.up + snapshots.down),
      longestSilenceMs: longestSilenceMs ?? null,
    })
  }

  function stateOf(coveredMs: number) {
    if (startMs + DAY_MS > nowMs) return 'pending'
    if (coveredMs === 0 && !gaps.has('window_unknown')) return 'missing'
    return gaps.size > 0 ? 'degraded' : 'available'
  }

  return { add, text }
}

// Shortest first.

const larger = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a

const toShare = (part: number, whole: number): unknown =>
  exactMillionths(whole === 0 ? undefined : shareOf(part, whole))
