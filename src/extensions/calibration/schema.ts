import { type Static, Type } from '@sinclair/typebox'

import { timeframes } from '#src/domain/market.ts'
import { timeframeParameter } from '#src/http/data-query.ts'
import {
  choice,
  count,
  decimal,
  listOf,
  marketFields,
  object,
  positive,
  sourceField,
  time,
} from '#src/http/fields.ts'

export const CalibrationQuery = Type.Object({
  timeframe: timeframeParameter('Only the table of this length.'),
})
export type CalibrationQuery = Static<typeof CalibrationQuery>

const counts = (description: string) =>
  Type.Array(Type.Integer({ minimum: 0 }), {
    description: `${description}, by distance: below the first edge, between two edges, from the last one on.`,
  })

const Moment = object('CalibrationMoment', {
  beforeEndMs: positive('Milliseconds before the end of the window.', 60_000),
  deviation: decimal(
    'Standard deviation of the price of the coin over the time that is left: the square root of the mean of ln(price at the end ÷ price now)². Six digits.',
    0.000412,
  ),
  windows: counts('Windows'),
  ups: counts('Those of them that Up won'),
})

const Table = object('CalibrationTable', {
  symbol: marketFields.symbol,
  timeframe: choice(timeframes, 'Length of the windows.'),
  source: sourceField,
  madeAt: time('When the table was made.'),
  from: time('Start of the oldest window that is counted.'),
  to: time('Start of the newest one.'),
  markets: count('Windows that are counted at one moment at least.', 4_980),
  edges: Type.Array(Type.Number(), {
    description:
      'Distances between which windows are counted together: ln(price ÷ strike) ÷ `deviation`. A distance at an edge belongs above it.',
    examples: [[-1, -0.5, 0, 0.5, 1]],
  }),
  moments: Type.Array(Moment, { description: 'The earliest moment first.' }),
})

export const CalibrationList = listOf(
  Table,
  'A table of each length, the shortest first; empty until the first tables are made.',
  'Always null: the list is whole.',
)
export type CalibrationList = Static<typeof CalibrationList>
