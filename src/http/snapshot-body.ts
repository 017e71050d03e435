/** A snapshot as every route shows it. */

import { Type } from '@sinclair/typebox'

import { coins, outcomes, timeframeMs } from '#src/domain/market.ts'

import {
  conditionIdField,
  count,
  decimal,
  nullable,
  object,
  text,
  textOrNull,
  time,
  timeOrNull,
} from './fields.ts'
import { oneOf } from './kinds.ts'

const price = decimal('USDC per share, exact decimal between 0 and 1.', 0.53)
const size = decimal('Shares, exact decimal; at most 9007199254.740991.', 12480.06)

const PriceLevel = object(
  'Level',
  {
    price,
    size,
    source: Type.Optional(
      oneOf(['own', 'mirror', 'both'], {
        description:
          "Only with `view=consolidated`: the book that shows the level, the outcome's own or the mirror of the other's.",
        examples: ['both'],
      }),
    ),
  },
  { description: 'One level of a side.' },
)

const State = Type.Object({
  id: text('Identifier of the state.', '1482734'),
  timestamp: time('Its time.', '2026-04-14T08:00:10.672Z'),
})

/** States that a consolidated ladder is made of. */
export const Sources = object(
  'LadderSources',
  {
    own: nullable(State, "The outcome's own state; null if it does not count."),
    mirror: nullable(State, "The other outcome's state; null if it does not count."),
    skewMs: nullable(Type.Integer(), 'Milliseconds between the two; null unless both count.', 12),
  },
  { description: 'Only with `view=consolidated`: the states that the ladder is made of.' },
)

const members = {
  id: text('Snapshot identifier: decimal digits, rising in the order of acceptance.', '1482734'),
  assetId: textOrNull(
    "Identifier of the outcome's token; null only with `view=consolidated`, where it is not known and the ladder is the mirror of the other outcome's.",
    '104472376509976988766346716475120511145011517755906344501669377783651998139803',
  ),
  conditionId: conditionIdField,
  symbol: oneOf(coins, { description: 'Coin in lower case.' }),
  outcome: oneOf(outcomes, { description: 'Outcome whose book this is.' }),
  timeframe: oneOf(Object.keys(timeframeMs), { description: "Length of the market's window." }),
  timestamp: time("The venue's time, UTC, milliseconds.", '2026-04-14T08:00:10.672Z'),
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
  receivedAt: timeOrNull(
    "Only where `fields` names it: when the recorder received the state, by the recorder's clock, UTC, milliseconds; null where that is not known.",
    '2026-04-14T08:00:10.731Z',
  ),
  sources: Type.Optional(Sources),
}

/** A client that sends `fields` must not read that what it left out is there. */
export const SnapshotBody = Type.Partial(Type.Object(members), {
  $id: 'Snapshot',
  description:
    'Without `fields` every member is there, but not `receivedAt`, and `sources` only with `view=consolidated`; with `fields` those that it names.',
})

/** The snapshot prevailing at a moment. */
export const AgedSnapshotBody = object(
  'AgedSnapshot',
  {
    ...SnapshotBody.properties,
    ageMs: count('Milliseconds from `timestamp` to the moment asked for; also with `fields`.', 328),
  },
  { description: SnapshotBody.description ?? '' },
)
