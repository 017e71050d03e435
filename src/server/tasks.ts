/** The tasks of the core, which run on threads of the pool; extensions list their own. */
import { batchTask } from '#src/features/as-of/routes.ts'
import { boardTask } from '#src/features/board/rows.ts'
import { changes } from '#src/features/changes/routes.ts'
import { dayKindsTask } from '#src/features/coverage/day-kinds.ts'
import { daysTask } from '#src/features/coverage/days.ts'
import { exportTask } from '#src/features/exports/pieces.ts'
import { planTask } from '#src/features/exports/plan.ts'
import { restingTask } from '#src/features/fill/routes.ts'
import { heatmapTask } from '#src/features/heatmap/routes.ts'
import { incidentsTask } from '#src/features/incidents/routes.ts'
import { marketsTask } from '#src/features/markets/routes.ts'
import { panelTask } from '#src/features/panel/routes.ts'
import { prices } from '#src/features/prices/routes.ts'
import { quotes } from '#src/features/quotes/routes.ts'
import { settlementsTask } from '#src/features/settlement/routes.ts'
import { snapshots } from '#src/features/snapshots/routes.ts'
import { spotTask } from '#src/features/spot/service.ts'
import { trades } from '#src/features/trades/routes.ts'
import type { AnyTask } from '#src/http/tasks.ts'

import { replayTask } from './live-rows.ts'

export const tasks: readonly AnyTask[] = [
  batchTask,
  boardTask,
  changes.task,
  dayKindsTask,
  daysTask,
  exportTask,
  heatmapTask,
  incidentsTask,
  marketsTask,
  panelTask,
  planTask,
  prices.task,
  quotes.task,
  replayTask,
  restingTask,
  settlementsTask,
  snapshots.task,
  spotTask,
  trades.task,
]
