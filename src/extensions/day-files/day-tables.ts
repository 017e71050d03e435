/** The tables of day files: their columns, and the rows of a market. */

import { readChanges } from '#src/domain/changes.ts'
import { tallyCoverage } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes, timeframeMs } from '#src/domain/market.ts'
import { isSameTop } from '#src/domain/quote.ts'
import type { ReadStates } from '#src/domain/series.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { StoredTick } from '#src/domain/spot.ts'
import type { Trade } from '#src/domain/trade.ts'
import type { MarketHistory, Top } from '#src/history/history.ts'
import { findSpot } from '#src/history/reads/spot-read.ts'
import {
  type Book,
  booksOf,
  idColumn,
  ladderColumns,
  levelColumns,
  levelRows,
  outcomeColumn,
  timestampColumn,
} from '#src/tables/books.ts'
import { type Change, changesIn, ownChangeColumns } from '#src/tables/changes.ts'
import {
  type Column,
  type Columns,
  type ColumnType,
  type Numbers,
  optional,
  required,
} from '#src/tables/column.ts'
import { marketColumns, type OfMarket } from '#src/tables/markets.ts'
import { createParquet } from '#src/tables/parquet.ts'

import type { FileKind } from './store.ts'

/** Levels of each side in `snapshots`; `levels` has all. */
const STATE_LEVELS = 25
/** Rows per read. */
const PAGE_ROWS = 1000
/** Values per row group. */
const GROUP_VALUES = 2_000_000
/** The moments of `panel`: shares of the window, and seconds, before the expiry. */
const SHARES = [1, 0.75, 0.5, 0.25, 0.1]
const SECONDS = [30, 5, 0]

type OfQuote = OfMarket & { state: Top }
/** The prevailing values at a moment before the expiry. */
type PanelRow = OfMarket & {
  offsetMs: number
  atMs: number
  isCovered: Record<Outcome, boolean>
  tops: Record<Outcome, Top | undefined>
  trade: Trade | undefined
  tick: StoredTick | undefined
}

/** Columns of a part of a row, which `pick` finds, named after `path`. */
const columnsWithin = <Row, Part>(
  path: readonly string[],
  pick: (row: Row) => Part,
  columns: readonly Column<Part>[],
): Column<Row>[] =>
  columns.map(({ name, kind, read }) =>
    optional([...path, name].join('_'), kind, (row) => read(pick(row))),
  )

/** The best levels of a book; null for an empty side. */
const topColumns: readonly Column<Top | undefined>[] = [
  optional('bid', 'millionths', (top) => top?.bidPrice || null),
  optional('bidSize', 'millionths', (top) => (top?.bidPrice ? top.bidSize : null)),
  optional('ask', 'millionths', (top) => top?.askPrice || null),
  optional('askSize', 'millionths', (top) => (top?.askPrice ? top.askSize : null)),
]

const bookColumns = [...marketColumns, timestampColumn, idColumn, outcomeColumn] as const

const quoteColumns: Columns<OfQuote> = [
  ...bookColumns,
  ...columnsWithin([], ({ state }: OfQuote) => state, topColumns),
]

const tradeColumns: Columns<OfMarket & { trade: Trade }> = [
  ...marketColumns,
  required('timestamp', 'time', ({ trade }) => trade.timestampMs),
  optional('outcome', 'text', ({ trade }) => trade.outcome),
  optional('price', 'millionths', ({ trade }) => trade.price),
  optional('size', 'millionths', ({ trade }) => trade.size),
  optional('side', 'text', ({ trade }) => trade.side),
  optional('transactionHash', 'text', ({ trade }) => trade.transactionHash),
]

const panelColumns: Columns<PanelRow> = [
  ...marketColumns,
  required('offsetMs', 'int64', ({ offsetMs }) => offsetMs),
  required('ts', 'time', ({ atMs }) => atMs),
  ...outcomes.flatMap((outcome): Column<PanelRow>[] => [
    required(`covered_${outcome}`, 'int32', ({ isCovered }) => isCovered[outcome]),
    ...columnsWithin([outcome], ({ tops }: PanelRow) => tops[outcome], [
      optional('timestamp', 'time', (top) => top?.timestampMs),
      ...topColumns,
    ]),
  ]),
  ...columnsWithin(['lastTrade'], ({ trade }: PanelRow) => trade, [
    optional('price', 'millionths', (trade) => trade?.price),
    optional('outcome', 'text', (trade) => trade?.outcome),
    optional('timestamp', 'time', (trade) => trade?.timestampMs),
  ]),
  ...columnsWithin(['spot'], ({ tick }: PanelRow) => tick, [
    optional('price', 'digits', (tick) => tick?.price),
    optional('source', 'text', (tick) => tick?.source),
    optional('windowSeconds', 'int64', (tick) => tick?.windowSeconds),
    optional('timestamp', 'time', (tick) => tick?.timestampMs),
  ]),
]

type Source = Pick<
  MarketHistory,
  'ready' | 'runs' | 'tops' | 'trades' | 'spot' | 'gaps' | 'changes'
>

/** `levels` is the number of rows of the file per row; one by default. */
const dayTable = <Row>(
  columns: Columns<Row>,
  read: (history: Source, market: Market, nowMs: number) => Iterable<Row>,
  levels: (row: Row) => number = () => 1,
) => ({
  columns: columns as readonly ColumnType[],

  /** Yields a file of some markets, one after another, in pieces; returns the number of rows. */
  *make(
    history: Source,
    markets: readonly Market[],
    nowMs: number,
    numbers: Numbers,
  ): Generator<Uint8Array, number> {
    const file = createParquet(columns, { numbers, valuesMax: GROUP_VALUES, hasStatistics: true })
    for (const market of markets) {
      for (const row of read(history, market, nowMs)) {
        file.add(row, levels(row))
        while (!file.hasRoomFor(1)) yield* file.flush()
      }
    }
    yield* file.end()
    return file.rows()
  },
})

export const dayTables = {
  snapshots: dayTable([...bookColumns, ...ladderColumns(STATE_LEVELS)], (history, market) =>
    allBooks(history, market, STATE_LEVELS),
  ),
  levels: dayTable(
    [...bookColumns, ...levelColumns('int64')],
    (history, market) => allBooks(history, market, undefined),
    levelRows,
  ),
  quotes: dayTable(quoteColumns, quotesOf),
  trades: dayTable(tradeColumns, (history, market) =>
    history.trades({ market, isTrade: true }).map((trade) => ({ market, trade })),
  ),
  panel: dayTable(panelColumns, panelOf),
  changes: dayTable([...marketColumns, ...ownChangeColumns], changesOf, levelRows),
} as const satisfies Record<FileKind, unknown>

export const columnsOf = (kind: FileKind): readonly ColumnType[] => dayTables[kind].columns

function* allBooks(history: Source, market: Market, depth: number | undefined): Generator<Book> {
  for (const run of history.runs({ market, depth })) yield* booksOf(market, run)
}

/** Every state as the levels that changed, as in GET …/changes. */
function* changesOf(history: Source, market: Market): Generator<Change> {
  const gaps = history.gaps(market)
  for (const run of history.changes({ market, gaps })) yield* changesIn(market, run)
}

/** Every change of the top of a book, as in GET …/quotes. */
function* quotesOf(history: Source, market: Market): Generator<OfQuote> {
  const read: ReadStates<Top> = (part) => {
    const query = { ...part, market }
    // Fetches archived parts in the background, for the next attempt to make the file.
    void history.ready([{ ...query, withTops: true }])
    return history.tops(query)
  }
  let after: Position | undefined
  for (;;) {
    const range = { order: 'asc', limit: PAGE_ROWS, after } as const
    const page = readChanges<Top>({ read, isSame: isSameTop, range })
    for (const state of page.rows) yield { market, state }
    if (!page.hasMore) return
    after = page.last
  }
}

/** One row per market and moment before its expiry; it uses only earlier data. */
function panelOf(history: Source, market: Market, nowMs: number): PanelRow[] {
  const { coin, source, windowEndMs, timeframe } = market
  if (windowEndMs === undefined) return []
  const lengthMs = timeframeMs[timeframe]
  const all = [...SHARES.map((share) => share * lengthMs), ...SECONDS.map((each) => each * 1000)]
  const moments = [...new Set(all)].sort((a, b) => b - a)
  return moments.map((beforeMs) => {
    const atMs = windowEndMs - beforeMs
    // The expiry itself is outside the window.
    const fromMs = Math.min(atMs, windowEndMs - 1)
    const span = { market, gaps: history.gaps(market), fromMs, toMs: fromMs + 1, nowMs }
    const isCovered = (outcome: Outcome) => tallyCoverage({ ...span, outcome }).coveredMs > 0
    const topOf = (outcome: Outcome) =>
      history.tops({ market, outcome, order: 'desc', toMs: atMs + 1, limit: 1 })[0]
    return {
      market,
      offsetMs: 0 - beforeMs,
      atMs,
      isCovered: { up: isCovered('up'), down: isCovered('down') },
      tops: { up: topOf('up'), down: topOf('down') },
      trade: history.trades({ market, toMs: atMs + 1, last: 1 })[0],
      tick: findSpot(history, { coin, source, atMs }),
    }
  })
}
