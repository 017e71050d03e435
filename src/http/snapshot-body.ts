/** A snapshot as every route shows it. */
import { Type } from '@sinclair/typebox'

import { coins, outcomes, timeframeMs } from '#src/core/market.ts'

import { literals } from './schema-reader.ts'

const price = Type.Number({
  description: 'USDC per share, exact decimal between 0 and 1.',
  examples: [0.53],
})
const size = Type.Number({
  description: 'Shares, exact decimal; at most 9007199254.740991.',
  examples: [12480.06],
})

export const PriceLevel = Type.Object(
  {
    price,
    size,
    source: Type.Optional(
      literals(['own', 'mirror', 'both'], {
        description:
          "Only with `view=consolidated`: the book that shows the level, the outcome's own or the mirror of the other's.",
        examples: ['both'],
      }),
    ),
  },
  { description: 'One level of a side.' },
)

const State = Type.Object({
  id: Type.String({ description: 'Identifier of the state.', examples: ['1482734'] }),
  timestamp: Type.String({
    format: 'date-time',
    description: 'Its time.',
    examples: ['2026-04-14T08:00:10.672Z'],
  }),
})

/** States that a consolidated ladder is made of. */
export const Sources = Type.Object(
  {
    own: Type.Union([State, Type.Null()], {
      description: "The outcome's own state; null if it does not count.",
    }),
    mirror: Type.Union([State, Type.Null()], {
      description: "The other outcome's state; null if it does not count.",
    }),
    skewMs: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Milliseconds between the two; null unless both count.',
      examples: [12],
    }),
  },
  { description: 'Only with `view=consolidated`: the states that the ladder is made of.' },
)

const members = {
  id: Type.String({
    description: 'Snapshot identifier: decimal digits, rising in the order of acceptance.',
    examples: ['1482734'],
  }),
  assetId: Type.Union([Type.String(), Type.Null()], {
    description:
      "Identifier of the outcome's token; null only with `view=consolidated`, where it is not known and the ladder is the mirror of the other outcome's.",
    examples: ['104472376509976988766346716475120511145011517755906344501669377783651998139803'],
  }),
  conditionId: Type.String({
    description: 'Market identifier.',
    examples: ['0x13422fd58f5afa5cd9792fd5c7036bc04377d5996e0597f253df2725bd044ddb'],
  }),
  symbol: literals(coins, { description: 'Coin in lower case.' }),
  outcome: literals(outcomes, { description: 'Outcome whose book this is.' }),
  timeframe: literals(Object.keys(timeframeMs), { description: "Length of the market's window." }),
  timestamp: Type.String({
    format: 'date-time',
    description: "The venue's time, UTC, milliseconds.",
    examples: ['2026-04-14T08:00:10.672Z'],
  }),
  bids: Type.Array(PriceLevel, {
    description: 'Buy side, best (highest) first; `[]` when empty.',
    examples: [
      [
        { price: 0.53, size: 12480.06 },
        { price: 0.52, size: 310 },
      ],
    ],
  }),
  asks: Type.Array(PriceLevel, {
    description: 'Sell side, best (lowest) first; `[]` when empty.',
    examples: [
      [
        { price: 0.54, size: 96.5 },
        { price: 0.55, size: 1743.2 },
      ],
    ],
  }),
  receivedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description:
      "Only where `fields` names it: when the recorder received the state, by the recorder's clock, UTC, milliseconds; null where that is not known.",
    examples: ['2026-04-14T08:00:10.731Z'],
  }),
  sources: Type.Optional(Sources),
}

/** A client that sends `fields` must not be told that what it left out is there. */
export const SnapshotBody = Type.Partial(Type.Object(members), {
  description:
    'Without `fields` every member is there, but not `receivedAt`, and `sources` only with `view=consolidated`; with `fields` those that it names.',
})

/** A snapshot that was in force at a moment. */
export const AgedSnapshotBody = Type.Object(
  {
    ...SnapshotBody.properties,
    ageMs: Type.Integer({
      minimum: 0,
      description: 'Milliseconds from `timestamp` to the moment asked for; also with `fields`.',
      examples: [328],
    }),
  },
  { description: SnapshotBody.description ?? '' },
)
