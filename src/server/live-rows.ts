/** How live streams and replays read the rows of a history. */
import { readPrices } from '#src/features/prices/over-time.ts'
import { readQuotes } from '#src/features/quotes/routes.ts'
import { createReplayTask } from '#src/features/stream/replay.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createRowReader, type RowReader } from '#src/live/rows.ts'

export const rowsOf = (history: MarketHistory): RowReader =>
  createRowReader(history, {
    quotes: (request) => readQuotes(history, request),
    prices: (request) => readPrices(history, request),
  })

export const replayTask = createReplayTask(rowsOf)
