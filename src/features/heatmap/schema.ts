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
import { literals } from '#src/http/schema-reader.ts'

import { aggregations } from './cells.ts'

/** Numbers of bins between 0 and 1 whose width is a whole number of millionths. */
const priceBins = [10, 20, 50, 100, 200] as const
const TIME_BINS_MAX = 1000

export const HeatmapQuery = Type.Object({
  from: Type.Optional(
    momentParameter('First moment, inclusive; the start of the window when absent.'),
  ),
  to: Type.Optional(momentParameter('End, exclusive; the end of the window when absent.')),
  outcome: literals(outcomes, { default: 'up', description: 'Whose book.' }),
  priceBins: literals(priceBins.map(String), {
    default: '100',
    description: 'Bins of price between 0 and 1, all equally wide.',
  }),
  timeBins: Type.Integer({
    minimum: 1,
    maximum: TIME_BINS_MAX,
    default: 300,
    description: 'Columns at most; a column is a whole number of milliseconds.',
    examples: [300],
  }),
  agg: literals(aggregations, {
    default: 'max',
    description:
      'Of the sizes that a cell had during its column: the largest one, the last one, or their average weighted by time. To see liquidity being pulled, compare `max` with `last`.',
  }),
  include: Type.Optional(
    choice(
      ['removed'],
      'Adds `trades`, and to each column `pulled` and `traded`: by how much each cell fell since the end of the column before it, without the trades that took it and by them.',
    ),
  ),
})
export type HeatmapQuery = Static<typeof HeatmapQuery>

const side = (text: string) =>
  Type.Object(
    {
      from: count('The first bin of `sizes`; bin k is the prices from k·priceStep on.', 49),
      sizes: Type.Array(decimal('Shares.', 192.7)),
    },
    { description: text },
  )

const removed = (text: string) =>
  Type.Optional(
    nullable(
      Type.Object({ bids: side('Of the bids.'), asks: side('Of the asks.') }),
      `${text} Only with \`include=removed\` and for a tier with \`prices\`. Null in the first column, where the book is not known from the end of the column before to the end of this one, outside of \`trades\`, and where the source of a trade does not say its outcome, side or size.`,
    ),
  )

const Column = Type.Object({
  covered: decimal('Share of the column in which the book is known, rounded down.', 1),
  bid: decimalOrNull('Best bid at the end of what is known of the column.', 0.53),
  ask: decimalOrNull('Best ask then.', 0.54),
  bids: side('Sizes of the bids; outside of the list there are none.'),
  asks: side('Sizes of the asks.'),
  pulled: removed(
    'Shares by which a cell fell since the end of the column before, beyond what was traded: orders that were withdrawn.',
  ),
  traded: removed(
    'Shares of that fall that trades of the column took, at prices of the cell and from its side; a trade of the other outcome at p counts at 1 − p.',
  ),
})

export const HeatmapBody = object('Heatmap', {
  ...marketFields,
  outcome: choice(outcomes, 'Whose book.'),
  agg: choice(aggregations, 'How a cell was made.'),
  from: time('Start of the first column, inclusive.'),
  to: time('End of the last column, exclusive.', '2026-04-14T08:05:00.000Z'),
  stepMs: positive('Length of a column in milliseconds; the last one may be shorter.', 1000),
  priceStep: decimal('Width of a bin of price.', 0.01),
  trades: Type.Optional(
    nullable(
      Type.Object({ from: time('The first one.'), to: time('The last one.') }),
      'Between which trades of the market the server knows what was traded; null if it holds none. Only with `include=removed` and for a tier with `prices`.',
    ),
  ),
  columns: Type.Array(
    nullable(Column, 'Null where no book is known: a gap is not an empty book.'),
    { description: 'In order of time.' },
  ),
})
export type HeatmapBody = Static<typeof HeatmapBody>
