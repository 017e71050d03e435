/** Columns that describe the market of a row. */

import { type Market, type Outcome, winnerOf } from '#src/domain/market.ts'

import { type Column, optional, required } from './column.ts'

export type OfMarket = { market: Market }

export const conditionIdColumn = required(
  'conditionId',
  'text',
  ({ market }: OfMarket) => market.conditionId,
)

/** The name of a file of the market, without its ending: its slug if that is fit for one. */
export const marketFileName = ({ slug, conditionId }: Market): string =>
  slug !== undefined && /^[\w-]{1,100}$/.test(slug) ? slug : conditionId

/** The asset of an outcome; where it is not known, the market with the outcome. */
export const assetNameOf = ({ assetIds, conditionId }: Market, outcome: Outcome): string =>
  assetIds[outcome] ?? `${conditionId}:${outcome}`

/** The source of the market: recorded or simulated. */
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
