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
  choiceOrNull,
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
import { integer } from '#src/http/kinds.ts'

export const PanelQuery = Type.Object({
  timeframe: choice(timeframes, 'Only markets of this timeframe.', exampleMarket.timeframe),
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
    integer({
      minimum: 0,
      description:
        'Largest age of a state or price at its moment, in milliseconds: older ones are left out, and `up`, `down` or `spot` is null.',
    }),
  ),
  source: sourceParameter,
})
export type PanelQuery = Static<typeof PanelQuery>

const depth = (side: string) =>
  group(`The ${side} side of the book.`, {
    levels: count('Number of levels.', 49),
    size: decimal('Sum of sizes over all levels in shares, exact.', 48210.55),
    usdc: decimal('Sum of price times size over all levels, rounded to six decimals.', 11820.113),
  })

const flag = (description: string) => Type.Boolean({ description, examples: [true] })

const PanelState = Type.Object({
  timestamp: time("Venue's timestamp of the prevailing state.", '2026-04-14T08:03:59.873Z'),
  ageMs: count('Milliseconds from `timestamp` to `ts`.', 127),
  bid: decimalOrNull('Best bid, exact; null if the side is empty.', 0.53),
  bidSize: decimalOrNull('Shares at the best bid.', 12480.06),
  ask: decimalOrNull('Best ask, exact; null if the side is empty.', 0.54),
  askSize: decimalOrNull('Shares at the best ask.', 96.5),
  mid: decimalOrNull('Half of bid plus ask, exact; null if a side is empty.', 0.535),
  spread: decimalOrNull('Ask minus bid; negative if the book is crossed.', 0.01),
  imbalance: decimalOrNull(
    '(bidSize − askSize) / (bidSize + askSize), rounded to six decimals; null if a side is empty.',
    0.984654,
  ),
  bids: depth('bid'),
  asks: depth('ask'),
})

const state = (outcome: string) =>
  nullable(
    PanelState,
    `Prevailing state of "${outcome}" at \`ts\`; a later state is never used. Null if none is recorded by then, or none within \`maxAgeMs\`.`,
  )

const LastTrade = Type.Object({
  price: decimal('Price as printed by the venue, exact.', 0.531),
  outcome: choiceOrNull(
    outcomes,
    'Outcome that was traded; null if the source does not report it.',
    null,
  ),
  timestamp: time("Venue's timestamp of the trade.", '2026-04-14T08:03:58.020Z'),
})

const PanelSpot = Type.Object({
  price: decimal('USD, with all digits of the source.', 76_205.5),
  source: text('Publisher of the price.', 'chainlink'),
  windowSeconds: count('Length of the average in seconds; 0 for a spot price.', 60),
  ageMs: count("Milliseconds from the source's time to `ts`.", 400),
})

export const PanelRow = object('PanelRow', {
  conditionId: conditionIdField,
  slug: slugField,
  timeframe: choice(timeframes, 'Timeframe of the market.', exampleMarket.timeframe),
  source: sourceField,
  windowStart: time('Start of the window, inclusive.', '2026-04-14T08:00:00.000Z'),
  windowEnd: time('End of the window: the expiry.', '2026-04-14T08:05:00.000Z'),
  strike: decimalOrNull('Price that the final price is compared with, in USD.', 76211.8001656),
  finalPrice: decimalOrNull('Final price of the coin. Not yet known at `ts`.', 76198.42),
  winner: choiceOrNull(
    outcomes,
    'Winning outcome; null until known, and for a void market. Not yet known at `ts`.',
    'down',
  ),
  winnerSource: choiceOrNull(winnerSources, 'Source of the result.', 'venue'),
  offset: text('Offset as requested.', '-60s'),
  offsetMs: Type.Integer({ description: 'Offset in milliseconds.', examples: [-60000] }),
  ts: time('Moment of the row: `windowEnd` minus the offset.', '2026-04-14T08:04:00.000Z'),
  lastTrade: Type.Optional(
    nullable(
      LastTrade,
      'Last trade at or before `ts`; null if none is recorded. Absent for a tier without `prices`.',
    ),
  ),
  spot: Type.Optional(
    nullable(
      PanelSpot,
      'Prevailing spot price of the coin at `ts`; a later price is never used. If there are several averages, the shortest one. Null if none is recorded by then, or none within `maxAgeMs`. Absent for a tier without `prices`.',
    ),
  ),
  covered: Type.Object(
    { up: flag('Coverage of up.'), down: flag('Coverage of down.') },
    {
      description:
        'True if `ts` is in a recorded interval. False in a gap, where the true state may have been another one. For offset 0, the millisecond before the expiry counts.',
    },
  ),
  up: state('up'),
  down: state('down'),
})
export type PanelRow = Static<typeof PanelRow>

export const PanelList = Type.Object({
  data: Type.Array(PanelRow, {
    description: 'Rows by start of window, then in the order of `offsets`.',
  }),
  nextCursor: nullable(
    Type.String(),
    'Cursor of the next page; null if no more markets have expired.',
    'AQGc6l8QAP6hzTn-jm5LJgqXnfEgVrAxqtqMPjXxY2cO9qmh',
  ),
})
