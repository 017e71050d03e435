/**
 * Rows of a channel, read from the history after a position: the same bytes that the routes of the
 * same name return.
 */

import type { ChangePosition } from '#src/domain/cursor.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { SeriesPage, SeriesRequest } from '#src/domain/series.ts'
import { ROW_BYTES_MAX } from '#src/domain/series.ts'
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import {
  type PlacedTrade,
  placeTrades,
  readTradesAfter,
  type TradeQuery,
  tradeText,
} from '#src/domain/trade.ts'
import { createRowCut } from '#src/domain/wire/row-cut.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { readChangePage } from '#src/history/reads/change-page.ts'
import { NotReady } from '#src/history/reads/until-ready.ts'

/** Channels that have rows of a market. */
export const rowChannels = ['snapshots', 'changes', 'quotes', 'prices', 'trades'] as const
export type RowChannel = (typeof rowChannels)[number]

/** Selects the rows of a market to follow. */
export type RowFilter = {
  channel: RowChannel
  /** Undefined for both. */
  outcome?: Outcome | undefined
  /** Levels per side, for snapshots only; undefined for all. */
  depth?: number | undefined
}

export type LiveRow = {
  /** For a change, also the last state of the other outcome. */
  position: ChangePosition
  /** The number of the row in the store. */
  seq: number
  outcome: Outcome | null
  /** The JSON object. */
  text: string
  /** True if it was received after a row of a later time, which was sent first. */
  isLate?: boolean
  /** True if the row has no cursor: a client disconnected before the last row starts over. */
  isPart?: boolean
  /** The text that all messages of the row share, created by the first of them. */
  shared?: string
}

type RowPage = {
  rows: LiveRow[]
  /** The position to continue from, even if there was no row. */
  resume: Position
  hasMore: boolean
  /** `seen` of the next read, if this read had it. */
  seen?: number | undefined
}

/** A read that waits for rows from the archive: repeat it once the promise settles. */
export type Coming = Promise<unknown>

/** Rows of a market after a position, exclusive. */
export type FeedQuery = {
  market: Market
  after: Position
  toMs?: number | undefined
  limit: number
  /**
   * Rows before the position with greater ids are late; undefined: late rows are not looked for.
   */
  seen?: number | undefined
}
export type RowReader = ReturnType<typeof createRowReader>

/** Creates the reader of all channels. */
export function createRowReader(
  history: MarketHistory,
  series: Record<'quotes' | 'prices', (request: SeriesRequest) => SeriesPage>,
) {
  const read = (
    query: RowFilter & Parameters<typeof readSnapshots>[1],
    order: 'asc' | 'desc',
  ): RowPage | Coming =>
    query.channel === 'quotes' || query.channel === 'prices'
      ? readSeries(series[query.channel], query, order)
      : readSnapshots(history, query, order)

  function readAfter(query: RowFilter & FeedQuery): RowPage | Coming {
    if (query.channel === 'trades') return readTrades(history, query)
    return query.channel === 'changes' ? readChanges(history, query) : read(query, 'asc')
  }

  return {
    /** Reads in ascending order after a position, exclusive. */
    after: readAfter,

    /** The `seen` of a reader that begins now; undefined for channels whose rows are never late. */
    seen: ({ channel }: RowFilter): number | undefined =>
      channel === 'trades' ? history.lastTradeId() : undefined,

    /** The position after which all rows are new. */
    end: (market: Market, { channel }: RowFilter): Position =>
      channel === 'trades'
        ? lastTradePosition(history, market)
        : (history.lastPosition(market) ?? START),

    /** The last row of an outcome, before `toMs` if that is set. */
    latest(
      query: RowFilter & { market: Market; outcome: Outcome; toMs?: number | undefined },
    ): LiveRow | undefined | Coming {
      if (query.channel === 'trades') return lastTrade(history, query)
      const page = read({ ...query, after: undefined, limit: 1 }, 'desc')
      if (page instanceof Promise || query.channel !== 'changes') return firstOf(page)
      const [last] = page.rows
      if (last === undefined) return undefined
      // The position has no state of either outcome, so the row is a whole book.
      const { timestampMs, id } = last.position
      return firstOf(
        readChanges(history, { ...query, after: { timestampMs, id: id - 1 }, limit: 1 }),
      )
    },
  }
}

const firstOf = (page: RowPage | Coming): LiveRow | undefined | Coming =>
  page instanceof Promise ? page : page.rows[0]

/** The last row of each outcome that has one, before `toMs` if that is set, in order of time. */
export function lastRows(
  reader: RowReader,
  query: RowFilter & { market: Market; toMs?: number | undefined },
): LiveRow[] | Coming {
  const found = (query.outcome === undefined ? outcomes : [query.outcome]).map((outcome) =>
    reader.latest({ ...query, outcome }),
  )
  const coming = found.filter((each) => each instanceof Promise)
  if (coming.length > 0) {
    const all = Promise.all(coming)
    // The caller may not await it, and reads again instead.
    all.catch(() => {})
    return all
  }
  return found
    .flatMap((row) => (row === undefined || row instanceof Promise ? [] : [row]))
    .sort((a, b) => comparePositions(a.position, b.position))
    .map((row, index, all) => {
      const { timestampMs, id } = row.position
      // A reader of changes that continues after the last row has all of these books.
      const other = query.channel === 'changes' ? (all[index - 1]?.position.id ?? 0) : undefined
      return { ...row, position: { timestampMs, id, other }, isPart: index < all.length - 1 }
    })
}

/** The position before all rows. */
export const START: Position = { timestampMs: 0, id: 0 }

const decoder = new TextDecoder()

function readSnapshots(
  history: MarketHistory,
  query: Omit<RowFilter, 'channel'> & Omit<FeedQuery, 'after'> & { after: Position | undefined },
  order: 'asc' | 'desc',
): RowPage | Coming {
  const { market, outcome, depth, after, limit, toMs } = query
  const range = { market, outcome, after, limit, order, toMs }
  const coming = history.ready([range])
  if (coming !== undefined) return coming
  const page = history.page(range)
  const cut = createRowCut({ depth, fields: undefined })
  const rows: LiveRow[] = []
  // A text is valid until the next one is read.
  for (const bytes of page.texts()) rows.push(toRow(decoder.decode(cut(bytes))))
  return { rows, resume: page.last ?? after ?? START, hasMore: page.hasMore }
}

function readChanges(
  history: MarketHistory,
  { market, outcome, after, toMs, limit }: RowFilter & FeedQuery,
): RowPage | Coming {
  return orComing(() => {
    const page = readChangePage(history, { market, outcome, after, toMs, limit })
    const rows = page.rows.map((row): LiveRow => {
      const text = decoder.decode(page.texts.subarray(row.from, row.to))
      return { position: positionOf(row), seq: row.id, outcome: row.outcome, text }
    })
    return { rows, resume: rows.at(-1)?.position ?? after, hasMore: page.hasMore }
  })
}

const positionOf = ({ timestampMs, id, other }: ChangePosition): ChangePosition => ({
  timestampMs,
  id,
  other,
})

/** Runs a read that may throw `NotReady`. */
function orComing(read: () => RowPage): RowPage | Coming {
  try {
    return read()
  } catch (error) {
    if (error instanceof NotReady) return error.coming
    throw error
  }
}

/** Id, time and outcome come before any list in a row: see domain/wire/snapshot-json.ts. */
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
  read: (request: SeriesRequest) => SeriesPage,
  { market, outcome, after, limit, toMs }: Parameters<typeof readSnapshots>[1],
  order: 'asc' | 'desc',
): RowPage | Coming {
  const range = { outcome, after, limit, order, fromMs: undefined, toMs }
  return orComing(() => {
    const { count, put, last, resume, hasMore } = read({ market, stepMs: undefined, range })
    const bytes = new Uint8Array(ROW_BYTES_MAX)
    const rows = Array.from({ length: count }, (_, row) =>
      toRow(decoder.decode(bytes.subarray(0, put(row, bytes, 0)))),
    )
    return { rows, resume: resume ?? last ?? after ?? START, hasMore }
  })
}

/** Maximum delay of a late trade: it is sent if it is recorded this long after a later one. */
const LATE_MS = 30_000

/**
 * A page never ends within a millisecond, so that all followers of a market share positions. Late
 * trades come first; the position after them is the previous one.
 */
function readTrades(history: MarketHistory, query: RowFilter & FeedQuery): RowPage {
  const { market, outcome, after, toMs, limit, seen } = query
  const uptoId = seen === undefined ? undefined : history.lastTradeId()
  // Trades that are accepted between the reads are left to the next ones.
  const belowId = uptoId === undefined ? undefined : uptoId + 1
  const read = (asked: TradeQuery) => history.trades({ belowId, isTrade: true, ...asked })
  const times = { fromMs: Math.max(0, after.timestampMs - LATE_MS), toMs: after.timestampMs }
  const late = uptoId === seen ? [] : read({ market, ...times, aboveId: seen, outcome })
  const placed = readTradesAfter(read, { market, after, toMs, first: limit + 1 })
  let end = Math.min(limit, placed.length)
  const timeAt = (index: number): number | undefined => placed[index]?.trade.timestampMs
  while (end < placed.length && timeAt(end) === timeAt(end - 1)) end++
  const page = placed.slice(0, end)
  const rows = page
    .filter(({ trade }) => outcome === undefined || trade.outcome === outcome)
    .map(toTradeRow)
  const lateRows = late
    .toSorted((a, b) => a.id - b.id)
    .map((trade) => ({ ...toTradeRow({ trade, at: after }), isLate: true }))
  return {
    rows: [...lateRows, ...rows],
    resume: page.at(-1)?.at ?? after,
    hasMore: placed.length > end,
    seen: uptoId,
  }
}

function lastTradePosition(history: MarketHistory, market: Market): Position {
  const [last] = history.trades({ market, last: 1, isTrade: true })
  if (last === undefined) return START
  const same = history.trades({ market, fromMs: last.timestampMs, isTrade: true })
  return placeTrades(same).at(-1)?.at ?? { timestampMs: last.timestampMs, id: 0 }
}

function lastTrade(
  history: MarketHistory,
  { market, outcome, toMs }: { market: Market; outcome: Outcome; toMs?: number | undefined },
): LiveRow | undefined {
  const [last] = history.trades({ market, outcome, toMs, last: 1, isTrade: true })
  if (last === undefined) return undefined
  const { timestampMs } = last
  // Its position depends on all trades of its millisecond.
  const same = history.trades({
    market,
    fromMs: timestampMs,
    toMs: timestampMs + 1,
    isTrade: true,
  })
  const found = placeTrades(same).find(({ trade }) => trade.id === last.id)
  return found && toTradeRow(found)
}

const toTradeRow = ({ trade, at }: PlacedTrade): LiveRow => ({
  position: at,
  seq: trade.id,
  outcome: trade.outcome ?? null,
  text: tradeText(trade),
})
