/** What a series of a market, such as its quotes, is asked for, and a page of it. */
import type { Market } from './market.ts'
import type { Position } from './snapshot.ts'
import type { StatePart } from './states.ts'

/** No row is longer, and neither is what follows the rows. */
export const ROW_BYTES_MAX = 512

/** What a page is asked for; `stepMs` is undefined for every change. */
export type SeriesRequest = {
  market: Market
  stepMs: number | undefined
  range: StatePart
  /** Members wanted of each row, in their order; undefined for those that every row has. */
  fields?: readonly string[] | undefined
}

export type SeriesPage = {
  /** Number of rows. */
  count: number
  /**
   * Writes a row, a JSON object of at most `ROW_BYTES_MAX`, at an
   * offset; returns the offset after it.
   */
  put: (row: number, bytes: Uint8Array, start: number) => number
  /** The last place looked at; undefined where there was none. */
  last: Position | undefined
  hasMore: boolean
  /** Where a follower resumes, if that is not `last`. */
  resume?: Position | undefined
}
