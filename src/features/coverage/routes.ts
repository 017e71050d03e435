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
import { readRange, toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { Api } from '#src/http/api.ts'
import { marketValues } from '#src/http/fields.ts'
import type { TaskPorts, Tasks } from '#src/http/tasks.ts'

import { dayKindsTask } from './day-kinds.ts'
import { daysTask } from './days.ts'
import {
  CoinCoverageList,
  CoinCoverageQuery,
  DayKindList,
  MarketCoverageBody,
  MarketCoverageQuery,
} from './schema.ts'

export function coverageRoutes(api: Api, { history, clock, tasks }: TaskPorts & { tasks: Tasks }) {
  return new Elysia({ name: 'coverage' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/coverage',
      ({ reply, request, market, query }) => {
        const span = readRange(query)
        const question = { market, gaps: history.gaps(market), ...span, nowMs: clock() }
        return reply(request, {
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
          summary: 'Get the coverage of a market',
          description:
            'For each outcome, the intervals that are recorded and the gaps, with their reasons. A snapshot holds until the next one. If the next one is more than `silenceMs` later, the time after the snapshot counts as a gap, because a quiet book cannot be told from a missed one. Recordings often begin before the window; if so, the time of the market does too.',
          tags: ['markets'],
        },
      },
    )
    .get(
      '/v1/:coin/coverage',
      ({ reply, request, coin, query }) =>
        reply(request, tasks.data(request, daysTask, { coin, query }, 'long')),
      {
        access: 'markets',
        coin: true,
        query: CoinCoverageQuery,
        caching: 'digest',
        response: { 200: CoinCoverageList },
        answers: { description: 'Days.' },
        detail: {
          operationId: 'listCoverage',
          summary: 'Get the coverage of a coin by day',
          description:
            'One entry for each UTC day, including days without markets. A market belongs to the day on which its window begins, and only its window counts. A market with an unknown window belongs to the day of its first snapshot and counts as `window_unknown` only. Past days may be cached for a minute.',
          tags: ['markets'],
        },
      },
    )
    .get(
      '/v1/:coin/days',
      ({ reply, request, coin, query }) =>
        reply(request, tasks.data(request, dayKindsTask, { coin, query }, 'long')),
      {
        access: 'markets',
        coin: true,
        query: CoinCoverageQuery,
        caching: 'digest',
        response: { 200: DayKindList },
        answers: { description: 'Days.' },
        detail: {
          operationId: 'listDays',
          summary: 'List the completeness of days',
          description:
            'State of each UTC day and kind of data, with the reasons and the time since when it holds. Windows that settle on candles of Binance do not count in `settlements`, unless there are no others. Past days may be cached for a minute.',
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
    ...marketValues(market),
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
