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

export const SpotQuery = Type.Object({
  ...rangeParameters('`timestamp`; with `interval` of the ticks that bars are made of'),
  limit: limitParameter('Rows', { default: 1000, maximum: 10_000 }),
  cursor: cursorParameter,
  order: orderParameter,
  source: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9_-]{1,32}$',
      description: 'Only prices of this source, such as `chainlink`; all when absent.',
    }),
  ),
  window: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description:
        'Only averages of so many seconds (TWAP), such as 60; 0 for prices of the moment. All when absent.',
    }),
  ),
  interval: intervalParameter(
    'Bars of this length instead of every price; they begin at multiples of it since 1970, UTC.',
  ),
})
export type SpotQuery = Static<typeof SpotQuery>

const series = {
  source: text('Who publishes the price, as the feed names it.', 'chainlink'),
  windowSeconds: count('Seconds that it is an average of (TWAP); 0 for a price of the moment.', 60),
}

export const SpotRow = object(
  'Spot',
  {
    id: text('Identifier of the price.', '48213'),
    ...series,
    timestamp: time("The source's time, UTC.", '2026-11-22T10:00:01.000Z'),
    price: decimal('In USD, with every digit of its source.', 64_126.5),
    receivedAt: timeOrNull(
      'When the recorder received it; null for what came as history when the recorder connected.',
      '2026-11-22T10:00:01.180Z',
    ),
    sequence: nullable(Type.Integer(), 'Its number in its feed; null where that has none.', 118),
    dropped: count(
      'Prices right before it that were missed, as far as the feed shows it, and did not come later.',
      0,
    ),
  },
  { description: 'A price of the coin; without `interval`.' },
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
    ticks: count('Prices in the bar.', 60),
  },
  { description: 'The prices of a step, of one source and window; with `interval`.' },
)

export const SpotList = Type.Object({
  ...listOf(
    Type.Union([SpotRow, SpotBar]),
    'Prices by `timestamp`, then by `source` and `windowSeconds`; bars by `start`. Reversed by `order=desc`.',
  ).properties,
  reason: textOrNull(
    'Why there is nothing: no price of the coin was ever recorded. Null otherwise.',
    null,
  ),
})
export type SpotRow = Static<typeof SpotRow>
