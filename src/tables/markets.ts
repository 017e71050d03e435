/** What tables say of the market that a row belongs to. */

import { type Market, winnerOf } from '#src/domain/market.ts'

import { type Column, optional, required } from './column.ts'

export type OfMarket = { market: Market }

export const conditionIdColumn = required(
  'conditionId',
  'text',
  ({ market }: OfMarket) => market.conditionId,
)

/** Whether it is recorded or simulated. */
export const sourceColumn = required('source', 'text', ({ market }: OfMarket) => market.source)

export const marketColumns: readonly Column<OfMarket>[] = [
  conditionIdColumn,
  optional('slug', 'text', ({ market }) => market.slug),
  sourceColumn,
  optional('windowStart', 'time', ({ market }) => market.windowStartMs),
  optional('windowEnd', 'time', ({ market }) => market.windowEndMs),
  optional('strike', 'digits', ({ market }) => market.strike),
  optional('finalPrice', 'digits', ({ market }) => market.finalPrice),
  optional('winner', 'text', ({ market }) => winnerOf(market)),
]
