/**
 * Every list that is walked with cursors: its name and filters, which cursors are sealed to, and its
 * position. Live streams take their cursors from the same lists. Cursors never expire: a filter that
 * is added must leave the texts of requests without it as they are
 * (`test/contract/cursors.test.ts`).
 */

import {
  bytesPosition,
  type CreatedPosition,
  createdPosition,
  type CursorList,
  idPosition,
  jsonPosition,
  type MarketPosition,
  marketPosition,
  rowPosition,
  type SpotPosition,
  spotPosition,
  startOf,
  startOfMarkets,
} from './cursor.ts'
import type { Coin, MarketStatus, Outcome, SourceChoice, Timeframe } from './market.ts'
import type { Interval, RowFilters } from './series.ts'
import type { Position } from './snapshot.ts'
import { cutText, isUncut, type RowCut } from './wire/row-cut.ts'

/** Unix milliseconds: `fromMs` inclusive, `toMs` exclusive. */
type Range = { fromMs?: number | undefined; toMs?: number | undefined }

/** What every list of a market's history can be asked for. */
export type HistoryFilters = RowFilters & {
  conditionId: string
  knownAt?: number | undefined
}

/** The part that all texts of a market's history begin with. A filter of all goes to its end. */
const rangeText = ({ outcome, order, fromMs, toMs }: HistoryFilters): string =>
  `${outcome ?? 'both'}.${order}.${fromMs ?? ''}.${toMs ?? ''}`

/** A list of a market's history; `text` names its filters, in its tags too. */
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

export type SnapshotView = 'own' | 'consolidated'
export type SnapshotFilters = HistoryFilters & {
  interval?: Interval | undefined
  view: SnapshotView
  cut: RowCut
}

export const snapshotList = historyList<SnapshotFilters>('snapshots', (filters) => {
  const { interval, view, cut, knownAt } = filters
  const range = rangeText(filters)
  if (knownAt !== undefined) return `${range}.${interval ?? ''}.${view}.${cutText(cut)}.${knownAt}`
  const isPlain = interval === undefined && view === 'own' && isUncut(cut)
  return isPlain ? range : `${range}.${interval ?? ''}.${view}.${cutText(cut)}`
})

export type SeriesFilters = HistoryFilters & {
  interval?: Interval | undefined
  /** Members wanted of each row, in their order; undefined for those that every row has. */
  fields?: readonly string[] | undefined
}

const seriesText = (filters: SeriesFilters): string => {
  const { interval, fields, knownAt } = filters
  const named = fields === undefined ? '' : `.${fields.join('+')}`
  const known = knownAt === undefined ? '' : `.known${knownAt}`
  return `${rangeText(filters)}.${interval ?? ''}${named}${known}`
}

export const quoteList = historyList<SeriesFilters>('quotes', seriesText)
export const priceList = historyList<SeriesFilters>('prices', seriesText)

export const tradeList = historyList<HistoryFilters>(
  'trades',
  (filters) =>
    `${rangeText(filters)}.${filters.knownAt === undefined ? '' : `known${filters.knownAt}`}`,
)

export type SpotFilters = Range & {
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

export type MarketFilters = Range & {
  coin: Coin
  timeframe?: Timeframe | undefined
  status?: MarketStatus | undefined
  winner?: Outcome | undefined
  source?: SourceChoice | undefined
  order: 'asc' | 'desc'
}

export const marketList: CursorList<MarketFilters, MarketPosition> = {
  name: 'markets',
  filters({ coin, timeframe, status, fromMs, toMs, winner, source, order }) {
    const named = Object.entries({ timeframe, status, fromMs, toMs, winner, source })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${value}`)
    return order === 'asc' ? [coin, ...named, 'asc'] : [coin, ...named]
  },
  position: marketPosition,
  start: startOfMarkets,
}

export type PanelFilters = Range & {
  coin: Coin
  timeframe: Timeframe
  /** As they were sent. */
  offsets: readonly string[]
  maxAgeMs?: number | undefined
  knownAt?: number | undefined
  source?: SourceChoice | undefined
}

export const panelList: CursorList<PanelFilters, MarketPosition> = {
  name: 'panel',
  filters: ({ coin, timeframe, offsets, fromMs, toMs, maxAgeMs, knownAt, source }) => [
    coin,
    timeframe,
    offsets.join(','),
    fromMs,
    toMs,
    maxAgeMs,
    ...(knownAt === undefined ? [] : [`known${knownAt}`]),
    ...(source === undefined ? [] : [source]),
  ],
  position: marketPosition,
  start: startOfMarkets,
}

export const revisionList: CursorList<
  { coin?: Coin | undefined; since?: number | undefined },
  number
> = {
  name: 'revisions',
  filters: ({ coin, since }) => [coin ?? 'all', since],
  position: idPosition,
  start: () => 0,
}

export const manifestList: CursorList<object, number> = {
  name: 'manifests',
  filters: () => [],
  position: idPosition,
  start: () => 0,
}

export type FileFilters = {
  coin: Coin
  timeframe?: Timeframe | undefined
  /** UTC day. */
  day?: string | undefined
  kind?: string | undefined
  numbers?: string | undefined
}
export type FilePosition = { timeframe: Timeframe; day: string; name: string }

export const fileList: CursorList<FileFilters, FilePosition> = {
  name: 'files',
  filters: ({ coin, timeframe, day, kind, numbers }) => [coin, timeframe, day, kind, numbers],
  position: jsonPosition(),
}

/** What a live stream of a coin follows. */
export type CoinFeedFilters = {
  coin: Coin
  timeframe: Timeframe | undefined
  channel: string
  outcome?: Outcome | undefined
  depth?: number | undefined
}

/** Its position is one in each market of the coin (`live/cursors.ts`). */
export const coinFeedList: CursorList<CoinFeedFilters, Uint8Array> = {
  name: 'live',
  // What is not chosen was `undefined` in the first release.
  filters: ({ coin, timeframe, channel, outcome, depth }) => [
    coin,
    String(timeframe),
    channel,
    String(outcome),
    String(depth),
  ],
  position: bytesPosition,
}

export const paymentList: CursorList<{ accountId: string }, CreatedPosition> = {
  name: 'payments',
  filters: ({ accountId }) => [accountId],
  position: createdPosition,
}
