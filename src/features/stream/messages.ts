/** Messages of subscriptions and replays, with the rows and cursors of the routes. */

import type { Gap } from '#src/domain/coverage.ts'
import type { CursorCodec } from '#src/domain/cursor.ts'
import { type SpotFilters, spotList } from '#src/domain/lists.ts'
import type { Coin, Market } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { seriesOf, type StoredTick } from '#src/domain/spot.ts'
import { createRowCursors } from '#src/live/cursors.ts'
import { gapMembers } from '#src/live/gaps.ts'
import type { LiveRow, RowFilter } from '#src/live/rows.ts'
import type { SpotFilter, SpotPosition } from '#src/live/spot.ts'

/**
 * The part of a message that is equal for all subscribers; each adds its id and sequence numbers.
 */
export type Message = {
  type: string
  /** Number of the row in the store. */
  seq?: number
  /**
   * Key of the state that the row updates: of queued rows with the same key, only the newest is
   * needed.
   */
  state?: string | undefined
  /** Text after the subscriber's own part, without the last brace. */
  rest: string
}

export type RowType = 'row' | 'snapshot'

type MessageOptions = {
  cursors: CursorCodec
  /** Id of the store. */
  epoch: string
  /** The row of `GET /v1/{coin}/spot`. */
  describeTick: (tick: StoredTick) => object
  /** Highest id of a recorded spot price. */
  lastSpotId: () => number
}

export function createMessages({ cursors, epoch, describeTick, lastSpotId }: MessageOptions) {
  const rowCursors = createRowCursors(cursors)
  /** Filters of the spot route: ascending, without a range. */
  const spotFiltersOf = ({ coin, source, windowSeconds }: SpotFilter): SpotFilters => ({
    coin,
    source,
    windowSeconds,
    order: 'asc',
  })
  /** Without a cursor, clients cannot resume after the row. */
  const tail = (cursor: string | undefined, data: string) =>
    `${cursor === undefined ? '' : `"cursor":"${cursor}",`}"epoch":"${epoch}","data":${data}}`

  return {
    /** Both throw `cursor_invalid` and `cursor_mismatch`. */
    positionOf: rowCursors.decode,
    spotPositionOf(filter: SpotFilter, cursor: string): SpotPosition {
      const position = cursors.decode(spotList, spotFiltersOf(filter), cursor)
      return { ...position, seen: position.seen ?? lastSpotId() }
    },

    row(type: RowType, market: Market, filter: RowFilter, row: LiveRow): Message {
      const { position, seq, outcome, text, isPart, isLate = false } = row
      const cursor = isPart ? undefined : rowCursors.encode(market, filter, position)
      const origin = `"channel":"${filter.channel}","conditionId":"${market.conditionId}"`
      // No trade replaces an earlier one, and each change needs the one before it.
      const isKept = filter.channel === 'trades' || filter.channel === 'changes'
      const state = isKept ? undefined : (outcome ?? '')
      const mark = isLate ? ',"late":true' : ''
      return { type, seq, state, rest: `,${origin},"seq":${seq}${mark},${tail(cursor, text)}` }
    },

    /** Leaves out the cursor if no position is given. */
    tick(
      type: RowType,
      filter: SpotFilter,
      tick: StoredTick,
      position: (Position & { seen?: number }) | undefined,
    ): Message {
      const cursor = position && cursors.encode(spotList, spotFiltersOf(filter), position)
      const origin = `"channel":"spot","coin":"${filter.coin}","seq":${tick.id}`
      const rest = `,${origin},${tail(cursor, JSON.stringify(describeTick(tick)))}`
      return { type, seq: tick.id, state: seriesOf(tick), rest }
    },
  }
}

export type Messages = ReturnType<typeof createMessages>

export const gapMessage = (market: Market, gap: Gap): Message => ({
  type: 'gap',
  rest: `,${gapMembers(market, gap)}}`,
})

/** `data` is the market as JSON. */
export const marketMessage = (
  kind: 'open' | 'update' | 'closed' | 'resolved',
  data: string,
): Message => ({ type: `market_${kind}`, rest: `,"data":${data}}` })

export const marketEndMessage = ({ conditionId }: Market): Message => ({
  type: 'market_end',
  rest: `,"conditionId":"${conditionId}"}`,
})

/** Marks the end of stored rows: from here on rows are sent as they are recorded. */
export const liveMessage = (of: { conditionId: string } | { coin: Coin }): Message => ({
  type: 'live',
  rest: `,${JSON.stringify(of).slice(1)}`,
})

/** Sent if a snapshot is requested and there are no rows. */
export const emptyMessage: Message = { type: 'snapshot_empty', rest: '}' }

export const replayEndMessage: Message = { type: 'replay_end', rest: '}' }
