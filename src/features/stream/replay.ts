/** Reads the events of a replay in pieces, on a thread of the pool. */
import type { MarketHistory } from '#src/history/history.ts'
import { marketIn, type StreamTask } from '#src/http/tasks.ts'
import { type ReplayEvent, replayEvents, type ReplayRange } from '#src/live/replay.ts'
import type { RowReader } from '#src/live/rows.ts'

/** A piece is full at this number of events, or at this number of characters of rows. */
const EVENTS_A_PIECE = 100
const PIECE_LENGTH = 131_072

export type ReplayTask = StreamTask<ReplayRange, ReplayEvent[]>

export const createReplayTask = (rowsOf: (history: MarketHistory) => RowReader): ReplayTask => ({
  name: 'replay',
  async *stream(ports, range) {
    const { history, clock } = ports
    // The caller's copy of the market may be older.
    const market = range.market && marketIn(ports, range.market.conditionId)
    let piece: ReplayEvent[] = []
    let length = 0
    for (const event of replayEvents({ ...range, market }, history, rowsOf(history), clock())) {
      if (event instanceof Promise) {
        await event
        continue
      }
      if (event === undefined) continue
      piece.push(event)
      if ('row' in event) length += event.row.text.length
      if (piece.length < EVENTS_A_PIECE && length < PIECE_LENGTH) continue
      yield piece
      piece = []
      length = 0
    }
    if (piece.length > 0) yield piece
  },
})
