/** What day files hold: their columns, and the rows of a market. */
import { type ChangesPage, readChanges } from '#src/domain/changes.ts'
import { columnName } from '#src/domain/column-name.ts'
import { tallyCoverage } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes, timeframeMs, winnerOf } from '#src/domain/market.ts'
import { isSameTop } from '#src/domain/quote.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { MarketHistory, RowRun, Top } from '#src/history/history.ts'
import { findSpot } from '#src/history/reads/spot-read.ts'
import type { Table, TableColumn } from '#src/platform/parquet/table.ts'

export const fileKinds = ['snapshots', 'levels', 'quotes', 'trades', 'panel'] as const
export type FileKind = (typeof fileKinds)[number]

/** Levels of each side in `snapshots`; `levels` has all. */
const STATE_LEVELS = 25
/** Rows that are read at once. */
const PAGE_ROWS = 1000
/** The moments of `panel`, as shares of the window before the expiry, and seconds before it. */
const [SHARES, SECONDS] = [
  [1, 0.75, 0.5, 0.25, 0.1],
  [30, 5, 0],
]

const required = { isRequired: true } as const

/** Of every file. */
const marketColumns: readonly TableColumn[] = [
  { name: columnName('conditionId'), kind: 'text', ...required },
  { name: 'slug', kind: 'text' },
  { name: 'source', kind: 'text', ...required },
  { name: columnName('windowStart'), kind: 'time' },
  { name: columnName('windowEnd'), kind: 'time' },
  { name: 'strike', kind: 'price' },
  { name: columnName('finalPrice'), kind: 'price' },
  { name: 'winner', kind: 'text' },
]

const rowColumns: readonly TableColumn[] = [
  { name: 'timestamp', kind: 'time', ...required },
  { name: 'id', kind: 'integer', ...required },
  { name: 'outcome', kind: 'text', ...required },
]

const decimals = (...names: string[]): TableColumn[] =>
  names.map((name) => ({ name, kind: 'decimal' }))

const stateColumns = ['bid', 'ask'].flatMap((side) =>
  Array.from({ length: STATE_LEVELS }, (_, level) => [
    `${side}_price_${level + 1}`,
    `${side}_size_${level + 1}`,
  ]).flat(),
)

const quoteColumns = decimals('bid', columnName('bidSize'), 'ask', columnName('askSize'))

const panelColumns: readonly TableColumn[] = [
  { name: columnName('offsetMs'), kind: 'integer', ...required },
  { name: 'ts', kind: 'time', ...required },
  ...outcomes.flatMap((outcome): TableColumn[] => [
    { name: columnName('covered', outcome), kind: 'flag', ...required },
    { name: columnName(outcome, 'timestamp'), kind: 'time' },
    ...quoteColumns.map((column) => ({ ...column, name: columnName(outcome, column.name) })),
  ]),
  ...decimals(columnName('lastTrade', 'price')),
  { name: columnName('lastTrade', 'outcome'), kind: 'text' },
  { name: columnName('lastTrade', 'timestamp'), kind: 'time' },
  { name: columnName('spot', 'price'), kind: 'price' },
  { name: columnName('spot', 'source'), kind: 'text' },
  { name: columnName('spot', 'windowSeconds'), kind: 'integer' },
  { name: columnName('spot', 'timestamp'), kind: 'time' },
]

const ownColumns: Record<FileKind, readonly TableColumn[]> = {
  snapshots: [...rowColumns, ...decimals(...stateColumns)],
  levels: [
    ...rowColumns,
    { name: 'side', kind: 'text' },
    { name: 'level', kind: 'integer' },
    ...decimals('price', 'size'),
  ],
  quotes: [...rowColumns, ...quoteColumns],
  trades: [
    { name: 'timestamp', kind: 'time', ...required },
    { name: 'outcome', kind: 'text' },
    ...decimals('price', 'size'),
    { name: 'side', kind: 'text' },
    { name: 'transaction_hash', kind: 'text' },
  ],
  panel: panelColumns,
}

export const columnsOf = (kind: FileKind): readonly TableColumn[] => [
  ...marketColumns,
  ...ownColumns[kind],
]

type Source = Pick<MarketHistory, 'runs' | 'tops' | 'trades' | 'spot' | 'gaps'>
type Asked = { history: Source; market: Market; table: Table; nowMs: number }

/** The rows of a market, in the order of the routes; what it yields is part of the file. */
export function rowsOf(kind: FileKind, asked: Asked): Generator<Uint8Array> {
  if (kind === 'quotes') return quoteRows(asked)
  if (kind === 'trades') return tradeRows(asked)
  if (kind === 'panel') return panelRows(asked)
  return bookRows(asked, kind)
}

/** Ends a row with what is the same in every row of its market. */
function createEnd({ market, table }: Pick<Asked, 'market' | 'table'>) {
  const [first] = [table.placeOf(columnName('conditionId'))]
  return (): Generator<Uint8Array> => {
    table.putText(first, market.conditionId)
    table.putText(first + 1, market.slug)
    table.putText(first + 2, market.source)
    table.put(first + 3, market.windowStartMs)
    table.put(first + 4, market.windowEndMs)
    table.putText(first + 5, market.strike)
    table.putText(first + 6, market.finalPrice)
    table.putText(first + 7, winnerOf(market))
    return table.endRow()
  }
}

type State = Position & { outcome: Outcome }

function createPlace(table: Table) {
  const first = table.placeOf('timestamp')
  return ({ timestampMs, id, outcome }: State): void => {
    table.put(first, timestampMs)
    table.put(first + 1, id)
    table.putText(first + 2, outcome)
  }
}

function* bookRows({ history, market, table }: Asked, kind: 'snapshots' | 'levels') {
  const end = createEnd({ market, table })
  const place = createPlace(table)
  const isStates = kind === 'snapshots'
  const first = table.placeOf(isStates ? 'bid_price_1' : 'side')
  const depth = isStates ? { depth: STATE_LEVELS } : {}
  for (const run of history.runs({ market, ...depth })) {
    for (const [row, state] of run.rows.entries()) {
      if (isStates) {
        place(state)
        putStates(table, first, levelsOf(run, row))
        yield* end()
        continue
      }
      let count = 0
      for (const { side, level, price, size } of levelsOf(run, row)) {
        place(state)
        table.putText(first, side)
        table.put(first + 1, level)
        table.put(first + 2, price)
        table.put(first + 3, size)
        yield* end()
        count++
      }
      // An empty book is a state, too.
      if (count > 0) continue
      place(state)
      yield* end()
    }
  }
}

function putStates(table: Table, first: number, levels: ReturnType<typeof levelsOf>): void {
  for (const { side, level, price, size } of levels) {
    const at = first + 2 * (level - 1) + (side === 'bid' ? 0 : 2 * STATE_LEVELS)
    table.put(at, price)
    table.put(at + 1, size)
  }
}

function* levelsOf({ ends, prices, sizes }: RowRun, row: number) {
  for (const [index, side] of (['bid', 'ask'] as const).entries()) {
    const [start, end] = [ends[row * 2 + index - 1] ?? 0, ends[row * 2 + index] ?? 0]
    for (let at = start; at < end; at++) {
      yield { side, level: at - start + 1, price: prices[at], size: sizes[at] }
    }
  }
}

function putQuote(table: Table, first: number, top: Top): void {
  if (top.bidPrice > 0) table.put(first, top.bidPrice)
  if (top.bidPrice > 0) table.put(first + 1, top.bidSize)
  if (top.askPrice > 0) table.put(first + 2, top.askPrice)
  if (top.askPrice > 0) table.put(first + 3, top.askSize)
}

/** Every change of the top of a book, as GET …/quotes has them. */
function* quoteRows({ history, market, table }: Asked): Generator<Uint8Array> {
  const end = createEnd({ market, table })
  const place = createPlace(table)
  const first = table.placeOf('bid')
  const read = (part: Parameters<Parameters<typeof readChanges<Top>>[0]['read']>[0]) =>
    history.tops({ market, ...part }) as Top[]
  let after: Position | undefined
  for (;;) {
    const range = { order: 'asc', limit: PAGE_ROWS, after } as const
    const steps = readChanges<Top>({ read, isSame: isSameTop, range })
    let step = steps.next()
    while (step.done !== true) step = steps.next()
    const page: ChangesPage<Top> = step.value
    for (const top of page.rows) {
      place(top)
      putQuote(table, first, top)
      yield* end()
    }
    if (!page.hasMore) return
    after = page.last
  }
}

function* tradeRows({ history, market, table }: Asked): Generator<Uint8Array> {
  const end = createEnd({ market, table })
  const first = table.placeOf('timestamp')
  for (const trade of history.trades({ market })) {
    table.put(first, trade.timestampMs)
    table.putText(first + 1, trade.outcome)
    table.put(first + 2, trade.price)
    table.put(first + 3, trade.size)
    table.putText(first + 4, trade.side)
    table.putText(first + 5, trade.transactionHash)
    yield* end()
  }
}

/** A row a market and moment before its expiry; of what prevailed then, nothing is later. */
function* panelRows(asked: Asked): Generator<Uint8Array> {
  const { market, table } = asked
  const { windowEndMs, timeframe } = market
  if (windowEndMs === undefined) return
  const end = createEnd(asked)
  const lengthMs = timeframeMs[timeframe]
  const all = [...SHARES.map((share) => share * lengthMs), ...SECONDS.map((each) => each * 1000)]
  const moments = [...new Set(all)].sort((a, b) => b - a)
  const first = table.placeOf(columnName('offsetMs'))
  for (const beforeMs of moments) {
    const atMs = windowEndMs - beforeMs
    table.put(first, 0 - beforeMs)
    table.put(first + 1, atMs)
    for (const outcome of outcomes) putPrevailing(asked, outcome, { atMs, windowEndMs })
    putTrade(asked, atMs)
    putSpot(asked, atMs)
    yield* end()
  }
}

type Moment = { atMs: number; windowEndMs: number }

function putPrevailing(
  { history, market, table, nowMs }: Asked,
  outcome: Outcome,
  { atMs, windowEndMs }: Moment,
): void {
  const first = table.placeOf(columnName('covered', outcome))
  // The expiry is not in the window any more.
  const fromMs = Math.min(atMs, windowEndMs - 1)
  const question = { market, gaps: history.gaps(market), outcome, nowMs }
  const { coveredMs } = tallyCoverage({ ...question, fromMs, toMs: fromMs + 1 })
  table.put(first, coveredMs > 0 ? 1 : 0)
  const query = { market, outcome, order: 'desc', toMs: atMs + 1, limit: 1 } as const
  const [top] = history.tops(query) as Top[]
  if (top === undefined) return
  table.put(first + 1, top.timestampMs)
  putQuote(table, first + 2, top)
}

function putTrade({ history, market, table }: Asked, atMs: number): void {
  const first = table.placeOf(columnName('lastTrade', 'price'))
  const [trade] = history.trades({ market, toMs: atMs + 1, last: 1 })
  table.put(first, trade?.price)
  table.putText(first + 1, trade?.outcome)
  table.put(first + 2, trade?.timestampMs)
}

function putSpot({ history, market, table }: Asked, atMs: number): void {
  const { coin, source } = market
  const tick = findSpot(history, { coin, source, atMs })
  const first = table.placeOf(columnName('spot', 'price'))
  table.putText(first, tick?.price)
  table.putText(first + 1, tick?.source)
  table.put(first + 2, tick?.windowSeconds)
  table.put(first + 3, tick?.timestampMs)
}
