import { type Static, Type } from '@sinclair/typebox'

import {
  cursorParameter,
  intervalParameter,
  limitParameter,
  orderParameter,
  rangeParameters,
} from '#src/http/data-query.ts'
import {
  count,
  decimal,
  listOf,
  nullable,
  object,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { integer } from '#src/http/kinds.ts'

export const SpotQuery = Type.Object({
  ...rangeParameters('`timestamp`; with `interval` of the ticks that bars are made of'),
  limit: limitParameter('Rows', { default: 1000, maximum: 10_000 }),
  cursor: cursorParameter,
  order: orderParameter,
  source: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,32}$',
      description: 'Only prices of this source, such as `chainlink`; by default all.',
    }),
  ),
  window: Type.Optional(
    integer({
      minimum: 0,
      maximum: 86_400,
      description:
        'Only averages over this number of seconds (TWAP), such as 60; 0 for spot prices. By default all.',
    }),
  ),
  interval: intervalParameter(
    'Returns bars of this length instead of every price; bars begin at multiples of it since 1970, UTC.',
  ),
})
export type SpotQuery = Static<typeof SpotQuery>

const series = {
  source: text('Publisher of the price, as named by the feed.', 'chainlink'),
  windowSeconds: count('Length of the average in seconds (TWAP); 0 for a spot price.', 60),
}

export const SpotRow = object(
  'Spot',
  {
    id: text('Id of the price.', '48213'),
    ...series,
    timestamp: time("Source's timestamp, UTC.", '2026-11-22T10:00:01.000Z'),
    price: decimal('USD, with all digits of the source.', 64_126.5),
    receivedAt: timeOrNull(
      'Time at which the recorder received the price; null for prices that the feed sent as history when the recorder connected.',
      '2026-11-22T10:00:01.180Z',
    ),
    sequence: nullable(
      Type.Integer(),
      'Sequence number in the feed; null if the feed has none.',
      118,
    ),
    dropped: count(
      'Prices missed directly before this one and not received since, as far as the feed shows it.',
      0,
    ),
  },
  { description: 'A reference price; without `interval`.' },
)

const SpotBar = object(
  'SpotBar',
  {
    ...series,
    start: time('Start of the step, inclusive.', '2026-11-22T10:00:00.000Z'),
    end: time('End of the step, exclusive.', '2026-11-22T10:01:00.000Z'),
    open: decimal('First price.', 64_126.5),
    high: decimal('Highest price.', 64_140),
    low: decimal('Lowest price.', 64_101.25),
    close: decimal('Last price.', 64_133),
    ticks: count('Number of prices in the bar.', 60),
  },
  { description: 'A bar of one source and averaging window; with `interval`.' },
)

export const SpotList = Type.Object({
  ...listOf(
    Type.Union([SpotRow, SpotBar]),
    'Prices by `timestamp`, then by `source` and `windowSeconds`; bars by `start`. Reversed by `order=desc`.',
  ).properties,
  reason: textOrNull(
    'Why the list is empty: no price of the coin was ever recorded. Otherwise null.',
    null,
  ),
})
export type SpotRow = Static<typeof SpotRow>
