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
      "Only the last snapshot of each outcome in each step of this length, including the end of the step. The snapshot keeps its `timestamp` and is returned once: a step without a change has no row. A step longer than the market has the market's last snapshots. On an open market, a step is returned once a later state of each requested outcome is recorded (if an outcome has been silent for long, a later state of the market), so a returned row never changes. With `view=consolidated` and one `outcome`, the last row in each step.",
    ),
    ...cutParameters,
  },
)
export type SnapshotQuery = Static<typeof SnapshotQuery>
