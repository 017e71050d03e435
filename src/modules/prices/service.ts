import type { SeriesPage, SeriesRequest } from '#src/core/series.ts'
import type { HistoryStore } from '#src/history/history.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import { readPriceBars } from './bar-rows.ts'
import { readPriceChanges } from './changes.ts'

/** Returns what reads a page of prices: bars with a step, changes without. */
export const createPrices =
  (history: HistoryStore) =>
  ({ market, stepMs, range }: SeriesRequest): Steps<SeriesPage> =>
    stepMs === undefined
      ? readPriceChanges(history, { market, stepMs, range })
      : readPriceBars(history, { market, stepMs, range })
