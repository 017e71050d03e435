/**
 * Rows of a channel, read back from the history after a place: the same bytes that the routes of
 * the same name answer.
 */
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { SeriesPage, SeriesRequest } from '#src/domain/series.ts'
import { ROW_BYTES_MAX } from '#src/domain/series.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import { type PlacedTrade, placeTrades, readTradesAfter, tradeText } from '#src/domain/trade.ts'
import { createRowCut } from '#src/domain/wire/row-cut.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Steps } from '#src/platform/scheduler.ts'

/** Channels that have rows of a market. */
export const rowChannels = ['snapshots', 'quotes', 'prices', 'trades'] as const
export type RowChannel = (typeof rowChannels)[number]

/** What of a market is followed. */
export type RowFilter = {
  channel: RowChannel
  /** Undefined for both. */
  outcome?: Outcome | undefined
  /** Levels a side; undefined for all. Of snapshots only. */
  depth?: number | undefined
}

export type LiveRow = {
  position: Position
  /** The number of the row in the store. */
  seq: number
  outcome: Outcome | null
  /** The JSON object. */
  text: string
  /** True of a row without a cursor: a client cut off before the last of them starts over. */
  isPart?: boolean
  /** What every message of it has in common, once it was made for the first of them. */
  shared?: string
}

export type RowPage = {
  rows: LiveRow[]
  /** Where to go on from, whether there was a row or not. */
  resume: Position
  hasMore: boolean
}

/** Rows of a market after a position, exclusive. */
export type FeedQuery = {
  market: Market
  after: Position
  toMs?: number | undefined
  limit: number
}
type RowQuery = RowFilter & FeedQuery
type LastQuery = RowFilter & { market: Market; toMs?: number | undefined }
type LatestQuery = LastQuery & { outcome: Outcome }
export type RowReader = {
  /** Reads ascending after a place, exclusive. */
  after(query: RowQuery): RowPage
  /** The position after which every row is new. */
  end(market: Market, filter: RowFilter): Position
  /** The last row of an outcome, before `toMs` if that is given; undefined where there is none. */
  latest(query: LatestQuery): LiveRow | undefined
}
export type SeriesReaders = Record<
  'quotes' | 'prices',
  (request: SeriesRequest) => Steps<SeriesPage>
>

/** Makes the reader of every channel. */
export function createRowReader(history: MarketHistory, series: SeriesReaders): RowReader {
  return {
    after(query) {
      const { channel } = query
      if (channel === 'snapshots') return readSnapshots(history, query, 'asc')
      if (channel === 'trades') return readTrades(history, query)
      return readSeries(series[channel], query, 'asc')
    },
    end(market, { channel }) {
      if (channel === 'trades') return lastTradePosition(history, market)
      return history.page({ market, order: 'desc', limit: 1 }).last ?? START
    },
    latest(query) {
      const { channel } = query
      if (channel === 'trades') return lastTrade(history, query)
      const last = { ...query, after: undefined, limit: 1 }
      return channel === 'snapshots'
        ? readSnapshots(history, last, 'desc').rows[0]
        : readSeries(series[channel], last, 'desc').rows[0]
    },
  }
}

/** The last row of each outcome that has one, before `toMs` if that is given, in order of time. */
export const lastRows = (read: RowReader, query: LastQuery): LiveRow[] =>
  (query.outcome === undefined ? outcomes : [query.outcome])
    .flatMap((outcome) => read.latest({ ...query, outcome }) ?? [])
    .sort((a, b) => comparePositions(a.position, b.position))
    .map((row, index, { length }) => ({ ...row, isPart: index < length - 1 }))

type Order = 'asc' | 'desc'
type PageQuery = Omit<RowQuery, 'after'> & { after: Position | undefined }
/** Before every row. */
export const START: Position = { timestampMs: 0, id: 0 }

const decoder = new TextDecoder()

function readSnapshots(history: MarketHistory, query: PageQuery, order: Order): RowPage {
  const { market, outcome, depth, after, limit, toMs } = query
  const page = history.page({ market, outcome, after, limit, order, toMs })
  const cut = createRowCut({ depth, fields: undefined })
  const rows: LiveRow[] = []
  // A text is valid until the next one is asked for.
  for (const bytes of page.texts()) rows.push(toRow(decoder.decode(cut(bytes))))
  return { rows, resume: page.last ?? after ?? START, hasMore: page.hasMore }
}

/** Rows have one id, time and outcome before any list, in this form: domain/wire/snapshot-json.ts. */
function toRow(text: string): LiveRow {
  const idAt = text.indexOf(ID) + ID.length
  const id = Number(text.slice(idAt, text.indexOf('"', idAt)))
  const timeAt = text.indexOf(TIME) + TIME.length
  const timestampMs = Date.parse(text.slice(timeAt, timeAt + ISO_LENGTH))
  const outcomeAt = text.indexOf(OUTCOME) + OUTCOME.length
  const outcome = text.startsWith('up"', outcomeAt) ? 'up' : 'down'
  return { position: { timestampMs, id }, seq: id, outcome, text }
}
const ID = '"id":"'
const TIME = '"timestamp":"'
const OUTCOME = '"outcome":"'
const ISO_LENGTH = '2026-04-14T08:00:10.672Z'.length

function readSeries(
  read: SeriesReaders['quotes'],
  { market, outcome, after, limit, toMs }: PageQuery,
  order: Order,
): RowPage {
  const range = { outcome, after, limit, order, fromMs: undefined, toMs }
  const steps = read({ market, stepMs: undefined, range })
  let step = steps.next()
  while (!step.done) step = steps.next()
  const { count, put, last, resume, hasMore } = step.value
  const bytes = new Uint8Array(ROW_BYTES_MAX)
  const rows = Array.from({ length: count }, (_, row) =>
    toRow(decoder.decode(bytes.subarray(0, put(row, bytes, 0)))),
  )
  return { rows, resume: resume ?? last ?? after ?? START, hasMore }
}

/** A page does not end within a millisecond, so that all that follow a market have one place. */
function readTrades(history: MarketHistory, query: RowQuery): RowPage {
  const { market, outcome, after, toMs, limit } = query
  const placed = readTradesAfter(history.trades, { market, after, toMs, first: limit + 1 })
  let end = Math.min(limit, placed.length)
  const timeOf = (index: number): number | undefined => placed[index]?.trade.timestampMs
  while (end < placed.length && timeOf(end) === timeOf(end - 1)) end++
  const page = placed.slice(0, end)
  const rows = page
    .filter(({ trade }) => outcome === undefined || trade.outcome === outcome)
    .map(toTradeRow)
  return { rows, resume: page.at(-1)?.at ?? after, hasMore: placed.length > end }
}

function lastTradePosition(history: MarketHistory, market: Market): Position {
  const [last] = history.trades({ market, last: 1 })
  if (last === undefined) return START
  const same = history.trades({ market, fromMs: last.timestampMs })
  return placeTrades(same).at(-1)?.at ?? { timestampMs: last.timestampMs, id: 0 }
}

function lastTrade(history: MarketHistory, query: LatestQuery): LiveRow | undefined {
  const { market, outcome, toMs } = query
  const [last] = history.trades({ market, outcome, toMs, last: 1 })
  if (last === undefined) return undefined
  const { timestampMs } = last
  // Its place is among all of its millisecond.
  const same = history.trades({ market, fromMs: timestampMs, toMs: timestampMs + 1 })
  const found = placeTrades(same).find(({ trade }) => trade.id === last.id)
  return found && toTradeRow(found)
}

const toTradeRow = ({ trade, at }: PlacedTrade): LiveRow => ({
  ...{ position: at, seq: trade.id, outcome: trade.outcome ?? null, text: tradeText(trade) },
})
