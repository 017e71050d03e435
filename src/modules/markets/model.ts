import { type Static, type TSchema, Type } from '@sinclair/typebox'

import { coins, marketStatuses, outcomes, timeframeMs, winnerSources } from '#src/core/market.ts'
import { cursorParameter, limitParameter, rangeParameters } from '#src/http/data-query.ts'
import { literals } from '#src/http/schema-reader.ts'

const timeframes = Object.keys(timeframeMs)

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const isoTime = (description: string, example: string) =>
  nullable(Type.String({ format: 'date-time', description, examples: [example] }))
const share = (description: string, example: number) =>
  nullable(Type.Number({ minimum: 0, maximum: 1, description, examples: [example] }))

export const CoverageSummary = Type.Object(
  {
    covered: share(
      'Share of the time of the market in which the outcome is recorded, rounded down to six decimals; null while the market has had no time yet or its window is not known. GET …/coverage lists what is missing.',
      0.982166,
    ),
    gaps: Type.Integer({ description: 'Gaps in that time.', examples: [2] }),
    longestSilenceMs: nullable(
      Type.Integer({
        description:
          'Longest time between two consecutive snapshots, milliseconds; null of fewer than two.',
        examples: [2140],
      }),
    ),
    verified: share(
      "Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots.",
      0.999596,
    ),
  },
  { description: 'How complete and how sure it is.' },
)

export const MarketOutcome = Type.Object({
  outcome: literals(outcomes, { description: 'Outcome of the market.' }),
  assetId: nullable(
    Type.String({
      description: "Identifier of the outcome's token; null until one is known.",
      examples: ['104472376509976988766346716475120511145011517755906344501669377783651998139803'],
    }),
  ),
  snapshots: Type.Integer({ description: 'Snapshots held of this outcome.', examples: [2481] }),
  verifiedSnapshots: Type.Integer({
    description: "Those of them whose books reproduce the venue's own hash.",
    examples: [2480],
  }),
  firstSnapshot: isoTime(
    'Time of its first snapshot; null when there is none.',
    '2026-04-14T07:56:50.120Z',
  ),
  lastSnapshot: isoTime(
    'Time of its last snapshot; null when there is none.',
    '2026-04-14T08:05:03.887Z',
  ),
  coverage: CoverageSummary,
})

export const MarketBody = Type.Object({
  conditionId: Type.String({
    description: 'Market identifier: `0x` and 64 lower-case hex digits.',
    examples: ['0x13422fd58f5afa5cd9792fd5c7036bc04377d5996e0597f253df2725bd044ddb'],
  }),
  symbol: literals(coins, { description: 'Coin in lower case.' }),
  timeframe: literals(timeframes, { description: "Length of the market's window." }),
  source: literals(['recorded', 'simulated'], {
    description: 'Where the books come from: the venue, or our simulator.',
  }),
  status: literals(marketStatuses, {
    description:
      '`upcoming` before the window, `open` in it, `closed` after it, `resolved` once the winner is known.',
  }),
  slug: nullable(
    Type.String({
      description: "The venue's name of the market.",
      examples: ['btc-updown-5m-1776153600'],
    }),
  ),
  question: nullable(
    Type.String({
      description: 'The question that the market asks.',
      examples: ['Bitcoin Up or Down?'],
    }),
  ),
  windowStart: isoTime(
    'Start of the window, inclusive; null where unknown.',
    '2026-04-14T08:00:00.000Z',
  ),
  windowEnd: isoTime(
    'End of the window, exclusive; null where unknown.',
    '2026-04-14T08:05:00.000Z',
  ),
  tickSize: nullable(
    Type.Number({
      description:
        "Smallest step of prices, USDC per share, as the venue's catalogue had it when it was fetched: it gets smaller near 0 and 1. Null where unknown.",
      examples: [0.01],
    }),
  ),
  strike: nullable(
    Type.Number({
      description:
        "The coin's price in USD that its price at the end is compared with, with every digit of its source; null where unknown.",
      examples: [74212.105],
    }),
  ),
  finalPrice: nullable(
    Type.Number({
      description: "The coin's price in USD at the end of the window, likewise; null until known.",
      examples: [74190.66],
    }),
  ),
  winner: Type.Union([literals(outcomes, {}), Type.Null()], {
    description: 'Outcome that won; null until known.',
    examples: ['down'],
  }),
  winnerSource: Type.Union([literals(winnerSources, {}), Type.Null()], {
    description:
      'Who names the winner: the venue, an imported data set, or our simulator; null without a winner.',
    examples: ['venue'],
  }),
  outcomes: Type.Array(MarketOutcome, { description: 'Up, then down.' }),
  snapshots: Type.Integer({ description: 'Snapshots held of both outcomes.', examples: [4962] }),
  firstSnapshot: isoTime(
    'Time of the first snapshot; null when there is none.',
    '2026-04-14T07:56:50.120Z',
  ),
  lastSnapshot: isoTime(
    'Time of the last snapshot; null when there is none.',
    '2026-04-14T08:05:03.887Z',
  ),
  revision: Type.Integer({
    description:
      'Rises whenever anything of the market or its history changes, also by a late backfill.',
    examples: [17],
  }),
})
export type MarketBody = Static<typeof MarketBody>

export const MarketList = Type.Object({
  data: Type.Array(MarketBody, { description: 'Markets by the start of their windows.' }),
  nextCursor: nullable(
    Type.String({
      description: 'Cursor of the next page; null when there is no further market.',
      examples: ['AQGc6l8QAP6hzTn-jm5LJgqXnfEgVrAxqtqMPjXxY2cO9qmh'],
    }),
  ),
})
export type MarketList = Static<typeof MarketList>

export const ListQuery = Type.Object({
  timeframe: Type.Optional(literals(timeframes, { description: 'Only windows of this length.' })),
  status: Type.Optional(
    literals(marketStatuses, {
      description:
        'Only markets that stand so at the moment of the request; `closed` are those without a known winner.',
    }),
  ),
  ...rangeParameters("the window's start"),
  outcome: Type.Optional(literals(outcomes, { description: 'Only markets that it won.' })),
  slug: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Only the market that the venue calls so, if it is one of this coin: a list of one, or of none. Without any filter beside it. For example btc-updown-5m-1776153600.',
    }),
  ),
  order: literals(['asc', 'desc'], {
    default: 'desc',
    description: 'Newest window first, or oldest.',
  }),
  limit: limitParameter('Markets', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
})
export type ListQuery = Static<typeof ListQuery>
