import { type Static, Type } from '@sinclair/typebox'

import { timeframes } from '#src/domain/market.ts'
import { timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  count,
  decimal,
  marketFields,
  object,
  onePageOf,
  positive,
  sourceField,
  time,
} from '#src/http/fields.ts'

export const CalibrationQuery = Type.Object({
  timeframe: timeframeParameter('Only the table of this timeframe.'),
})
export type CalibrationQuery = Static<typeof CalibrationQuery>

const counts = (description: string) =>
  Type.Array(Type.Integer({ minimum: 0 }), {
    description: `${description}, by distance: below the first edge, between each two edges, from the last edge on.`,
  })

const Moment = object('CalibrationMoment', {
  beforeEndMs: positive('Milliseconds before the end of the window.', 60_000),
  deviation: decimal(
    'Standard deviation of the price over the time that is left: the square root of the mean of ln(price at the end ÷ price now)². Six digits.',
    0.000412,
  ),
  windows: counts('Windows'),
  ups: counts('Number of these windows that Up won'),
})

const Table = object('CalibrationTable', {
  symbol: marketFields.symbol,
  timeframe: choice(timeframes, 'Timeframe.'),
  source: sourceField,
  madeAt: time('Time at which the table was computed.'),
  from: time('Start of the oldest window in the table.'),
  to: time('Start of the newest window in the table.'),
  markets: count('Smallest number of windows at any moment.', 4_980),
  edges: Type.Array(Type.Number(), {
    description:
      'Bounds between distances that are counted together: ln(price ÷ strike) ÷ `deviation`. A distance on a bound counts above it.',
    examples: [[-1, -0.5, 0, 0.5, 1]],
  }),
  moments: Type.Array(Moment, { description: 'Moments, the earliest first.' }),
})

export const CalibrationList = onePageOf(
  Table,
  'Tables by timeframe, shortest first; empty until they are first computed.',
)
export type CalibrationList = Static<typeof CalibrationList>
