import { type Static, Type } from '@sinclair/typebox'

import { outcomes, timeframes, winnerSources } from '#src/domain/market.ts'
import {
  cursorParameter,
  limitParameter,
  rangeParameters,
  sourceParameter,
} from '#src/http/data-query.ts'
import {
  choice,
  conditionIdField,
  count,
  decimal,
  decimalOrNull,
  exampleMarket,
  group,
  nullable,
  object,
  slugField,
  sourceField,
  text,
  time,
} from '#src/http/fields.ts'
import { literals } from '#src/http/schema-reader.ts'

export const PanelQuery = Type.Object({
  timeframe: choice(timeframes, 'Only markets of this length.', exampleMarket.timeframe),
  offsets: Type.String({
    minLength: 1,
    description:
      'Moments before the expiry, 1 to 8, separated by commas: a minus sign, a whole number, and `ms`, `s`, `m` or `h`. None may lie before the window.',
    examples: ['-240s,-60s,-5s'],
  }),
  ...rangeParameters("the window's start"),
  limit: limitParameter('Markets', { default: 288, maximum: 500 }),
  cursor: cursorParameter,
  maxAgeMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'A state or price older than this at its moment is left out: `up`, `down` or `spot` is null.',
    }),
  ),
  source: sourceParameter,
})
export type PanelQuery = Static<typeof PanelQuery>

const depth = (side: string) =>
  group(`What rests on the ${side} side.`, {
    levels: count('Number of levels.', 49),
    size: decimal('Shares on all levels, exact.', 48210.55),
    usdc: decimal('Sum of price times size over all levels, rounded to six decimals.', 11820.113),
  })

const flag = (description: string) => Type.Boolean({ description, examples: [true] })

const PanelState = Type.Object({
  timestamp: time("The venue's time of the prevailing state.", '2026-04-14T08:03:59.873Z'),
  ageMs: count('Milliseconds from `timestamp` to `ts`.', 127),
  bid: decimalOrNull('Best bid, exact; null when the side is empty.', 0.53),
  bidSize: decimalOrNull('Shares at the best bid.', 12480.06),
  ask: decimalOrNull('Best ask, exact; null when the side is empty.', 0.54),
  askSize: decimalOrNull('Shares at the best ask.', 96.5),
  mid: decimalOrNull('Half of bid plus ask, exact; null when a side is empty.', 0.535),
  spread: decimalOrNull('Ask minus bid; negative when the book is crossed.', 0.01),
  imbalance: decimalOrNull(
    '(bidSize − askSize) / (bidSize + askSize), rounded to six decimals; null when a side is empty.',
    0.984654,
  ),
  bids: depth('bid'),
  asks: depth('ask'),
})

const state = (outcome: string) =>
  nullable(
    PanelState,
    `State of "${outcome}" prevailing at \`ts\`, at or before it and never after; null when none is recorded by then, or none that \`maxAgeMs\` allows.`,
  )

const LastTrade = Type.Object({
  price: decimal('As the venue printed it, exact.', 0.531),
  outcome: nullable(
    literals(outcomes, {}),
    'Outcome that was traded; null where the source does not say.',
    null,
  ),
  timestamp: time("The venue's time of the trade.", '2026-04-14T08:03:58.020Z'),
})

const PanelSpot = Type.Object({
  price: decimal('In USD, with every digit of its source.', 76_205.5),
  source: text('Who publishes it.', 'chainlink'),
  windowSeconds: count('Seconds that it is an average of; 0 for the price of the moment.', 60),
  ageMs: count("Milliseconds from the source's time to `ts`.", 400),
})

export const PanelRow = object('PanelRow', {
  conditionId: conditionIdField,
  slug: slugField,
  timeframe: choice(timeframes, "Length of the market's window.", exampleMarket.timeframe),
  source: sourceField,
  windowStart: time('Start of the window, inclusive.', '2026-04-14T08:00:00.000Z'),
  windowEnd: time('End of the window: the expiry.', '2026-04-14T08:05:00.000Z'),
  strike: decimalOrNull("The coin's price that the end is compared with, in USD.", 76211.8001656),
  finalPrice: decimalOrNull("The coin's price at the end. Not known at `ts`.", 76198.42),
  winner: nullable(
    literals(outcomes, {}),
    'Outcome that won, null until known and of a void market. Not known at `ts`.',
    'down',
  ),
  winnerSource: nullable(literals(winnerSources, {}), 'Who named the winner.', 'venue'),
  offset: text('As it was asked for.', '-60s'),
  offsetMs: Type.Integer({ description: 'The same in milliseconds.', examples: [-60000] }),
  ts: time('The moment of this row: `windowEnd` less the offset.', '2026-04-14T08:04:00.000Z'),
  lastTrade: Type.Optional(
    nullable(
      LastTrade,
      'Last trade at or before `ts`; null when none is held. Absent for a tier without `prices`.',
    ),
  ),
  spot: Type.Optional(
    nullable(
      PanelSpot,
      'Price of the coin itself prevailing at `ts`, never later, of the shortest average where there are several; null when none is recorded by then, or none that `maxAgeMs` allows. Absent for a tier without `prices`.',
    ),
  ),
  covered: Type.Object(
    { up: flag('Of the outcome up.'), down: flag('Of the outcome down.') },
    {
      description:
        'Whether `ts` lies in a recorded interval; false in a gap, where the prevailing state may have been another. At the very expiry it is asked of the millisecond before.',
    },
  ),
  up: state('up'),
  down: state('down'),
})
export type PanelRow = Static<typeof PanelRow>

export const PanelList = Type.Object({
  data: Type.Array(PanelRow, {
    description: "By the window's start, and within a market in the order of `offsets`.",
  }),
  nextCursor: nullable(
    Type.String(),
    'Cursor of the next page; null when no further market has closed.',
    'AQGc6l8QAP6hzTn-jm5LJgqXnfEgVrAxqtqMPjXxY2cO9qmh',
  ),
})
