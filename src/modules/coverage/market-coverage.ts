/** What is recorded of one market, as it is served. */
import {
  coverageOf,
  type CoverageQuestion,
  isBounded,
  marketSpanOf,
  type OutcomeCoverage,
  shareOf,
  silenceMs,
  type Span,
  spanOf,
} from '#src/core/coverage.ts'
import { exactMillionths } from '#src/core/decimal.ts'
import { type Market, statusOf } from '#src/core/market.ts'
import { toIso } from '#src/core/time.ts'

/** Returns the JSON; times of the question must be such that can be printed. */
export function writeMarketCoverage(question: CoverageQuestion): string {
  const { market, nowMs, fromMs, toMs } = question
  const span = spanOf(question)
  const outcomes = coverageOf(question)
  const coveredMs = outcomes.reduce((sum, outcome) => sum + outcome.coveredMs, 0)
  const isKnown = (fromMs ?? toMs) !== undefined || marketSpanOf(market, nowMs) !== undefined
  const share = (partMs: number, count: number): unknown =>
    toShare(partMs, isBounded(question) || partMs === 0 ? lengthOf(span) * count : 0)
  return JSON.stringify({
    conditionId: market.conditionId,
    symbol: market.coin,
    timeframe: market.timeframe,
    source: market.source,
    status: statusOf(market, nowMs),
    requested: isKnown ? describeSpan(span) : { from: null, to: null, durationMs: 0 },
    covered: share(coveredMs, outcomes.length),
    silenceMs: silenceMs(market.timeframe),
    outcomes: outcomes.map((outcome) => ({
      outcome: outcome.outcome,
      covered: share(outcome.coveredMs, 1),
      ...describePieces(outcome),
      wholeMarket: describeHoldings(market, outcome.outcome),
    })),
    revision: market.revision,
  })
}

const describePieces = ({ coveredMs, intervals, gaps }: OutcomeCoverage) => ({
  coveredMs,
  intervals: intervals.map(describeSpan),
  gaps: gaps.map((gap) => ({ ...describeSpan(gap), reason: gap.reason })),
})

function describeHoldings(market: Market, outcome: OutcomeCoverage['outcome']) {
  const { firstMs, lastMs } = market.spans[outcome] ?? {}
  const snapshots = market.snapshotCounts[outcome]
  const verifiedSnapshots = market.verifiedCounts[outcome]
  return {
    snapshots,
    verifiedSnapshots,
    verified: toShare(verifiedSnapshots, snapshots),
    longestSilenceMs: market.longestSilenceMs[outcome] ?? null,
    firstSnapshot: firstMs === undefined ? null : toIso(firstMs),
    lastSnapshot: lastMs === undefined ? null : toIso(lastMs),
  }
}

const describeSpan = (span: Span) => ({
  from: toIso(span.fromMs),
  to: toIso(span.toMs),
  durationMs: lengthOf(span),
})

const lengthOf = ({ fromMs, toMs }: Span): number => toMs - fromMs

const toShare = (part: number, whole: number): unknown =>
  exactMillionths(whole === 0 ? undefined : shareOf(part, whole))
