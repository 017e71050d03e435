import { Elysia } from 'elysia'

import {
  coverageOf,
  type CoverageQuestion,
  coverageText,
  isBounded,
  marketSpanOf,
  printedShare,
  silenceMs,
  type Span,
  spanOf,
} from '#src/domain/coverage.ts'
import { type Market, type Outcome, statusOf } from '#src/domain/market.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { readRange, toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Api } from '#src/http/api.ts'

import { createDayList } from './days.ts'
import {
  CoinCoverageList,
  CoinCoverageQuery,
  MarketCoverageBody,
  MarketCoverageQuery,
} from './schema.ts'

export function coverageRoutes(
  api: Api,
  { history, served }: { history: MarketHistory; served: () => ServedMoment },
) {
  const listDays = createDayList({ history, clock: () => served().nowMs })
  return new Elysia({ name: 'coverage' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/coverage',
      ({ reply, request, market, query }) => {
        const span = readRange(query)
        const question = { market, gaps: history.gaps(market), ...span, ...served() }
        return reply.data(request, {
          body: marketCoverageText(question),
          coverage: coverageText(question),
        })
      },
      {
        access: 'markets',
        market: true,
        query: MarketCoverageQuery,
        isCovered: true,
        caching: 'digest',
        response: { 200: MarketCoverageBody },
        answers: { description: 'Its coverage.' },
        detail: {
          operationId: 'getMarketCoverage',
          summary: 'What is recorded of a market',
          description:
            'Per outcome when it is recorded and when it is not, and why. A book prevails from its snapshot to the next; where the next one is more than `silenceMs` later, the time between, from the millisecond after the snapshot, counts as a gap, because it is not known whether nothing happened or nothing was seen. Recordings often begin before the window: then so does the market.',
          tags: ['markets'],
        },
      },
    )
    .get(
      '/v1/:coin/coverage',
      ({ reply, request, coin, query }) => reply.data(request, listDays(coin, query)),
      {
        access: 'markets',
        coin: true,
        query: CoinCoverageQuery,
        caching: 'digest',
        response: { 200: CoinCoverageList },
        answers: { description: 'Days.' },
        detail: {
          operationId: 'listCoverage',
          summary: 'What is recorded of a coin, by day',
          description:
            'One entry for each UTC day, also for one without any market. A market belongs to the day in which its window begins, and its coverage is that of its window. One whose window is not known belongs to the day of its first snapshot, where it counts as `window_unknown` and in no window. Days that are over are up to a minute old.',
          tags: ['markets'],
        },
      },
    )
}

function marketCoverageText(question: CoverageQuestion): string {
  const { market, nowMs, fromMs, toMs } = question
  const span = spanOf(question)
  const outcomes = coverageOf(question)
  const coveredMs = outcomes.reduce((sum, outcome) => sum + outcome.coveredMs, 0)
  const isKnown = (fromMs ?? toMs) !== undefined || marketSpanOf(market, nowMs) !== undefined
  const share = (partMs: number, count: number): unknown =>
    printedShare(partMs, isBounded(question) || partMs === 0 ? lengthOf(span) * count : 0)
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
      coveredMs: outcome.coveredMs,
      intervals: outcome.intervals.map(describeSpan),
      gaps: outcome.gaps.map((gap) => ({ ...describeSpan(gap), reason: gap.reason })),
      wholeMarket: describeHoldings(market, outcome.outcome),
    })),
    revision: market.revision,
  })
}

function describeHoldings(market: Market, outcome: Outcome) {
  const snapshots = market.snapshotCounts[outcome]
  const verifiedSnapshots = market.verifiedCounts[outcome]
  return {
    snapshots,
    verifiedSnapshots,
    verified: printedShare(verifiedSnapshots, snapshots),
    longestSilenceMs: market.longestSilenceMs[outcome] ?? null,
    firstSnapshot: toIsoOrNull(market.spans[outcome]?.firstMs),
    lastSnapshot: toIsoOrNull(market.spans[outcome]?.lastMs),
  }
}

const describeSpan = (span: Span) => ({
  from: toIso(span.fromMs),
  to: toIso(span.toMs),
  durationMs: lengthOf(span),
})

const lengthOf = ({ fromMs, toMs }: Span): number => toMs - fromMs
