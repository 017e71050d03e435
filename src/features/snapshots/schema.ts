import type { Static } from '@sinclair/typebox'

import { cutParameters, intervalParameter } from '#src/http/data-query.ts'
import { listOf } from '#src/http/fields.ts'
import { historyQuery } from '#src/http/history-list.ts'
import { SnapshotBody } from '#src/http/snapshot-body.ts'

export const SnapshotList = listOf(SnapshotBody, 'Snapshots by time, then by id.')

export const SnapshotQuery = historyQuery(
  { rows: 'Snapshots', range: '`timestamp`', limit: { default: 100, maximum: 1000 } },
  {
    interval: intervalParameter(
      'Only the last snapshot of each outcome in each step of this length, the end of the step included. It keeps its own `timestamp` and is returned once: a step without a change has no row. A step longer than the market has its last snapshots. While a market is open, a step appears once a later state of each requested outcome is recorded (if an outcome has had none for long, a later state of the market), so a row that was returned never changes. With `view=consolidated` and one `outcome`, the last row in each step.',
    ),
    ...cutParameters,
  },
)
export type SnapshotQuery = Static<typeof SnapshotQuery>
