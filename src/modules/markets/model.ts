import { type Static, Type } from '@sinclair/typebox'

import { coins, timeframeMs } from '#src/core/market.ts'
import { literals } from '#src/http/literals.ts'

const nullable = <T extends ReturnType<typeof Type.String>>(schema: T) =>
  Type.Union([schema, Type.Null()])
const isoTime = (description: string, example: string) =>
  nullable(Type.String({ format: 'date-time', description, examples: [example] }))

export const statuses = ['upcoming', 'open', 'closed', 'resolved'] as const

export const MarketOutcome = Type.Object({
  outcome: literals(['up', 'down'], { description: 'Outcome of the market.' }),
  assetId: nullable(
    Type.String({
      description: "Identifier of the outcome's token; null until a snapshot named it.",
      examples: ['104472376509976988766346716475120511145011517755906344501669377783651998139803'],
    }),
  ),
  snapshots: Type.Integer({ description: 'Snapshots held of this outcome.', examples: [2481] }),
})

export const MarketBody = Type.Object({
  conditionId: Type.String({
    description: 'Market identifier: `0x` and 64 lower-case hex digits.',
    examples: ['0x13422fd58f5afa5cd9792fd5c7036bc04377d5996e0597f253df2725bd044ddb'],
  }),
  symbol: literals(coins, { description: 'Coin in lower case.' }),
  timeframe: literals(Object.keys(timeframeMs), { description: "Length of the market's window." }),
  source: literals(['recorded', 'simulated'], {
    description: 'Where the books come from: the venue, or our simulator.',
  }),
  status: literals(statuses, {
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
  winner: Type.Union([literals(['up', 'down'], {}), Type.Null()], {
    description: 'Outcome that won; null until known.',
    examples: ['down'],
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
  data: Type.Array(MarketBody, { description: 'Markets, newest window first.' }),
  nextCursor: nullable(
    Type.String({
      description: 'Cursor of the next page; null when there is no further market.',
      examples: ['AQGc6l8QAP6hzTn-jm5LJgqXnfEgVrAxqtqMPjXxY2cO9qmh'],
    }),
  ),
})
export type MarketList = Static<typeof MarketList>

export const ListQuery = Type.Object({
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'Markets on a page.',
    examples: [100],
  }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, description: '`nextCursor` of the page before, unchanged.' }),
  ),
})
