import { type Static, Type } from '@sinclair/typebox'

import {
  cursorParameter,
  cutParameters,
  intervalParameter,
  limitParameter,
  orderParameter,
  outcomeParameter,
  rangeParameters,
} from '#src/http/data-query.ts'
import { listOf } from '#src/http/fields.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'

export const SnapshotList = listOf(SnapshotBody, 'Snapshots by time, then by id.')

export const PageQuery = Type.Object({
  ...rangeParameters('`timestamp`'),
  limit: limitParameter('Snapshots', { default: 100, maximum: 1000 }),
  cursor: cursorParameter,
  outcome: outcomeParameter,
  order: orderParameter,
  interval: intervalParameter(
    'Only the last snapshot of each outcome in each step of this length, up to and with its end: with its own `timestamp`, once, where it changed. A step without a change has no row; one that is longer than the market has its last snapshots. While a market is open a step is there once a later state of each outcome asked for has come (for one that is in a gap, of the market): a row that was served stays as it is. Of a `consolidated` ladder of one `outcome` the last row in each step.',
  ),
  ...cutParameters,
})
export type PageQuery = Static<typeof PageQuery>
