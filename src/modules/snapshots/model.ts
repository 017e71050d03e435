import { type Static, Type } from '@sinclair/typebox'

import { coins, timeframeMs } from '#src/core/market.ts'
import { literals } from '#src/http/literals.ts'

export const PriceLevel = Type.Object(
  {
    price: Type.Number({
      description: 'USDC per share, exact decimal between 0 and 1.',
      examples: [0.53],
    }),
    size: Type.Number({ description: 'Shares, exact decimal.', examples: [12480.06] }),
  },
  { description: 'One level of a side.' },
)

export const SnapshotBody = Type.Object({
  id: Type.String({
    description: 'Snapshot identifier: decimal digits, rising in the order of acceptance.',
    examples: ['1482734'],
  }),
  assetId: Type.String({
    description: "Identifier of the outcome's token.",
    examples: ['104472376509976988766346716475120511145011517755906344501669377783651998139803'],
  }),
  conditionId: Type.String({
    description: 'Market identifier.',
    examples: ['0x13422fd58f5afa5cd9792fd5c7036bc04377d5996e0597f253df2725bd044ddb'],
  }),
  symbol: literals(coins, { description: 'Coin in lower case.' }),
  outcome: literals(['up', 'down'], { description: 'Outcome whose book this is.' }),
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
})

export const SnapshotList = Type.Object({
  data: Type.Array(SnapshotBody, { description: 'Snapshots by time, then by id.' }),
  nextCursor: Type.Union([Type.String(), Type.Null()], {
    description: 'Cursor of the next page; null exactly when no further row exists right now.',
    examples: ['AQGdi-iFoAAAAAAAv0T8W1koSP2N71dNt63XBhlmg-sNOOZLqw'],
  }),
})

// No `examples`: the documentation page would fill them in, and find nothing in other markets.
const time = (bound: string, example: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `${bound} of \`timestamp\`. Unix milliseconds; a value below 100000000000 is read as seconds. For example ${example}.`,
    }),
  )

export const PageQuery = Type.Object({
  from: time('First moment, inclusive,', 1776153610000),
  to: time('End, exclusive,', 1776153900),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'Snapshots on a page; may change during a walk.',
    examples: [100],
  }),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Goes on behind a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated.',
    }),
  ),
  outcome: Type.Optional(
    literals(['up', 'down'], { description: 'Only this outcome; both when absent.' }),
  ),
  order: literals(['asc', 'desc'], {
    default: 'asc',
    description: 'Direction of time, within and across pages.',
  }),
})
export type PageQuery = Static<typeof PageQuery>
