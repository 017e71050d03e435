/**
 * Lists that clients read with cursors and that live streams follow as well: a stream takes its
 * cursors from the list of the same rows. All other lists are declared beside their routes.
 */

import {
  bytesPosition,
  changePosition,
  type CursorList,
  rowPosition,
  type SpotPosition,
  spotPosition,
  startOf,
} from './cursor.ts'
import type { Coin, Outcome, Timeframe } from './market.ts'
import type { Interval, RowFilters } from './series.ts'
import type { Position } from './snapshot.ts'
import type { TimeRange } from './time.ts'
import { cutText, isUncut, type RowCut } from './wire/row-cut.ts'

/** Filters that all lists of a market's history share. */
export type HistoryFilters = RowFilters & { conditionId: string }

/** The prefix of the filter text of every list of a market's history. */
const rangeText = ({ outcome, order, fromMs, toMs }: HistoryFilters): string =>
  [outcome ?? 'both', order, fromMs, toMs].join('.')

/** A list of a market's history; `text` is the canonical text of its filters, also for ETags. */
export type HistoryList<Filters extends HistoryFilters> = CursorList<Filters, Position> & {
  text: (filters: Filters) => string
}

const historyList = <Filters extends HistoryFilters>(
  name: string,
  text: (filters: Filters) => string,
): HistoryList<Filters> => ({
  name,
  text,
  filters: (filters) => [filters.conditionId, text(filters)],
  position: rowPosition,
  start: startOf,
})
export type SnapshotFilters = HistoryFilters & {
  interval?: Interval | undefined
  view: 'own' | 'consolidated'
  cut: RowCut
}

export const snapshotList = historyList<SnapshotFilters>('snapshots', (filters) => {
  const { interval, view, cut } = filters
  const range = rangeText(filters)
  const isPlain = interval === undefined && view === 'own' && isUncut(cut)
  return isPlain ? range : `${range}.${interval ?? ''}.${view}.${cutText(cut)}`
})

export type SeriesFilters = HistoryFilters & {
  interval?: Interval | undefined
  /** Members of each row, in this order; undefined for the default members. */
  fields?: readonly string[] | undefined
}

const seriesText = (filters: SeriesFilters): string => {
  const { interval, fields } = filters
  const named = fields === undefined ? '' : `.${fields.join('+')}`
  return `${rangeText(filters)}.${interval ?? ''}${named}`
}

export const quoteList = historyList<SeriesFilters>('quotes', seriesText)
export const priceList = historyList<SeriesFilters>('prices', seriesText)

export const tradeList = historyList<HistoryFilters>('trades', rangeText)

export const changeList: HistoryList<HistoryFilters> = {
  ...historyList('changes', rangeText),
  position: changePosition,
}

export type SpotFilters = TimeRange & {
  coin: Coin
  order: 'asc' | 'desc'
  interval?: Interval | undefined
  source?: string | undefined
  windowSeconds?: number | undefined
}

export const spotList: CursorList<SpotFilters, SpotPosition> = {
  name: 'spot',
  filters: ({ coin, order, fromMs, toMs, interval, source, windowSeconds }) => [
    coin,
    [order, fromMs, toMs, interval, source, windowSeconds].join('.'),
  ],
  position: spotPosition,
  start: startOf,
}

/** Filters of a coin's live stream. */
export type CoinFeedFilters = {
  coin: Coin
  timeframe: Timeframe | undefined
  channel: string
  outcome?: Outcome | undefined
  depth?: number | undefined
}

/** The position holds one position for each market of the coin (`live/cursors.ts`). */
export const coinFeedList: CursorList<CoinFeedFilters, Uint8Array> = {
  name: 'live',
  // The first release wrote `undefined` for a filter that is not set.
  filters: ({ coin, timeframe, channel, outcome, depth }) => [
    coin,
    String(timeframe),
    channel,
    String(outcome),
    String(depth),
  ],
  position: bytesPosition,
}
