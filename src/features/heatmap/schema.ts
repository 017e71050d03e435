import { type Static, Type } from '@sinclair/typebox'

import { outcomes } from '#src/domain/market.ts'
import { momentParameter } from '#src/http/data-query.ts'
import {
  choice,
  count,
  decimal,
  decimalOrNull,
  marketFields,
  nullable,
  object,
  positive,
  time,
} from '#src/http/fields.ts'
import { integer, oneOf } from '#src/http/kinds.ts'

import { aggregations } from './cells.ts'

/** Numbers of bins whose width is a whole number of millionths. */
const priceBins = [10, 20, 50, 100, 200] as const
const TIME_BINS_MAX = 1000

export const HeatmapQuery = Type.Object({
  from: Type.Optional(
    momentParameter('First moment, inclusive; by default the start of the window.'),
  ),
  to: Type.Optional(momentParameter('End, exclusive; by default the end of the window.')),
  outcome: oneOf(outcomes, { default: 'up', description: 'Whose book.' }),
  priceBins: oneOf(priceBins.map(String), {
    default: '100',
    description: 'Number of equal price bins between 0 and 1.',
  }),
  timeBins: integer({
    minimum: 1,
    maximum: TIME_BINS_MAX,
    default: 300,
    description: 'Largest number of columns; each is a whole number of milliseconds.',
    examples: [300],
  }),
  agg: oneOf(aggregations, {
    default: 'max',
    description:
      'Value of a cell over the sizes during its column: the largest, the last, or the time-weighted average. To see pulled liquidity, compare `max` with `last`.',
  }),
  include: Type.Optional(
    choice(
      ['removed'],
      'Adds `trades`, and `pulled` and `traded` to each column: the size by which each cell fell since the end of the previous column, split into withdrawn orders and trades.',
    ),
  ),
})
export type HeatmapQuery = Static<typeof HeatmapQuery>

const side = (text: string) =>
  Type.Object(
    {
      from: count('Index of the first bin in `sizes`; bin k begins at price k·priceStep.', 49),
      sizes: Type.Array(decimal('Shares.', 192.7)),
    },
    { description: text },
  )

const removed = (text: string) =>
  Type.Optional(
    nullable(
      Type.Object({ bids: side('Cells of the bids.'), asks: side('Cells of the asks.') }),
      `${text} Only with \`include=removed\` and a tier that includes \`prices\`. Null in the first column; if the book is not known from the end of the previous column to the end of this one; outside of \`trades\`; and if outcome, side or size of a trade is unknown.`,
    ),
  )

const Column = Type.Object({
  covered: decimal('Share of the column in which the book is known, rounded down.', 1),
  bid: decimalOrNull('Best bid at the last known moment of the column.', 0.53),
  ask: decimalOrNull('Best ask at the last known moment of the column.', 0.54),
  bids: side('Sizes of the bids; bins outside of the list are empty.'),
  asks: side('Sizes of the asks; bins outside of the list are empty.'),
  pulled: removed(
    'Shares by which a cell fell since the end of the previous column, beyond what was traded: withdrawn orders.',
  ),
  traded: removed(
    "Shares of that fall that were traded in the column at the cell's prices and side. A trade of the other outcome at p counts at 1 − p.",
  ),
})

export const HeatmapBody = object('Heatmap', {
  ...marketFields,
  outcome: choice(outcomes, 'Whose book.'),
  agg: choice(aggregations, 'Aggregation of the cells.'),
  from: time('Start of the first column, inclusive.'),
  to: time('End of the last column, exclusive.', '2026-04-14T08:05:00.000Z'),
  stepMs: positive('Length of a column in milliseconds; the last one may be shorter.', 1000),
  priceStep: decimal('Width of a price bin.', 0.01),
  trades: Type.Optional(
    nullable(
      Type.Object({ from: time('First recorded trade.'), to: time('Last recorded trade.') }),
      'Time in which trades of the market are recorded; null if there are none. Only with `include=removed` and a tier that includes `prices`.',
    ),
  ),
  columns: Type.Array(nullable(Column, 'Null if no book is known: a gap is not an empty book.'), {
    description: 'Columns, ordered by time.',
  }),
})
export type HeatmapBody = Static<typeof HeatmapBody>
