import { Elysia } from 'elysia'

import {
  coverageOf,
  coverageText,
  marketSpanOf,
  printedShare,
  type Span,
  spanOf,
} from '#src/domain/coverage.ts'
import { formatMillionths, MILLIONTHS_PER_UNIT } from '#src/domain/decimal.ts'
import type { Market } from '#src/domain/market.ts'
import { type Caller, readsPrices } from '#src/domain/selling/caller.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { encodedTag, historyTagOf } from '#src/domain/tag.ts'
import { readRange, toIso } from '#src/domain/time.ts'
import { byteOf } from '#src/domain/wire/json-bytes.ts'
import {
  MILLIONTHS_BYTES_MAX,
  putMillionths,
  putNull,
  putText,
} from '#src/domain/wire/row-bytes.ts'
import { type MarketHistory, PIECE_ROWS, prevailingRange } from '#src/history/history.ts'
import type { PageAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'
import type { MadePage, PageCache } from '#src/platform/page-cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { type Grid, HeatCells } from './cells.ts'
import { RemovedSizes } from './removed.ts'
import { HeatmapBody, HeatmapQuery } from './schema.ts'

type Deps = {
  history: MarketHistory
  pages: PageCache
  served: () => ServedMoment
}
type Asked = { market: Market; query: HeatmapQuery; request: Request; caller: Caller }

/** Columns that are printed at once: a millisecond. */
const COLUMNS_A_STEP = 64
/** Averages are rounded to hundredths of a share. */
const HUNDREDTH = 10_000

export const heatmapRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'heatmap' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/heatmap',
      ({ reply, request, market, query, caller }) =>
        reply.page(request, answerHeatmap(deps, { request, market, query, caller })),
      {
        access: 'snapshots',
        market: true,
        query: HeatmapQuery,
        isLong: true,
        isCovered: true,
        caching: 'page',
        response: { 200: HeatmapBody },
        answers: { description: 'The cells.' },
        detail: {
          operationId: 'getHeatmap',
          summary: 'Liquidity by price and time',
          description:
            'The sizes of a book in cells of price and time, made of every recorded state: what a state shows counts from its moment to that of the next one, as far as the book is known then. Sizes of levels in one bin are added up; `max` and `last` are exact, averages are rounded to hundredths. With `include=removed` each column says what was pulled and what was traded, exactly.',
          tags: ['snapshots'],
        },
      },
    )

function answerHeatmap({ history, pages, served }: Deps, asked: Asked): PageAnswer {
  const { market, query, request, caller } = asked
  const { nowMs, isStale } = served()
  const { outcome, agg } = query
  const priceBins = Number(query.priceBins)
  const { fromMs, toMs } = pictureOf(market, query, nowMs)
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / query.timeBins))
  const withRemoved = query.include === 'removed' && readsPrices(caller)
  const grid = { fromMs, toMs, stepMs, priceBins, agg, withRemoved }
  const gaps = history.gaps(market)
  const question = { market, gaps, outcome, fromMs, toMs, nowMs, isStale }
  const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const what = [outcome, agg, fromMs, toMs, stepMs, priceBins].join('.')
  const name = withRemoved ? `${what}.removed` : what
  // How much of it is known changes with time as long as the market is open.
  const version = market.isClosed ? market.revision : `${market.revision}.${nowMs}`
  const tag = encodedTag(
    `heatmap.${historyTagOf(history.cursorKey)}.${market.id}.${name}.${version}`,
    isGzip,
  )
  return {
    tag,
    isGzip,
    isClosed: market.isClosed,
    coverage: coverageText(question),
    findPage: () => pages.find(tag),
    *make(): Steps<MadePage> {
      const known = coverageOf(question)[0]?.intervals ?? []
      const cells = yield* readCells(history, asked, { grid, known })
      const trades = withRemoved ? tradeSpanOf(history, market) : undefined
      const removed = trades && (yield* readRemoved(history, asked, { grid, trades }))
      return { tag, body: yield* print(cells, { asked, grid, known, trades, removed }) }
    },
  }
}

/** The time asked for, else the trading window, else what is held. */
function pictureOf(market: Market, query: HeatmapQuery, nowMs: number): Span {
  const asked = readRange(query)
  const whole = marketSpanOf(market, nowMs)
  const fromMs = asked.fromMs ?? market.windowStartMs ?? whole?.fromMs
  const toMs = asked.toMs ?? market.windowEndMs ?? whole?.toMs
  return spanOf({ market, gaps: [], nowMs, fromMs, toMs })
}

function* readCells(
  history: MarketHistory,
  { market, query: { outcome } }: Asked,
  { grid, known }: { grid: Grid; known: readonly Span[] },
): Steps<HeatCells> {
  const { fromMs, toMs } = grid
  const cells = new HeatCells(grid, known)
  yield history.ready([prevailingRange(market, outcome, fromMs)])
  const before = history.at({ market, outcome, timestampMs: fromMs })
  const query = { market, outcome, fromMs: before?.timestampMs ?? fromMs, toMs }
  const runs = history.runs(query)
  for (let after: Position | undefined; ;) {
    yield history.ready([{ ...query, after, order: 'asc', limit: PIECE_ROWS }])
    const { done, value: run } = runs.next()
    if (done) break
    after = run.rows.at(-1)
    cells.add(run)
  }
  cells.end()
  return cells
}

/** The time between the first and the last trade of a market that is held. */
function tradeSpanOf(history: MarketHistory, market: Market): Span | undefined {
  const [first] = history.trades({ market, first: 1, isTrade: true })
  const [last] = history.trades({ market, last: 1, isTrade: true })
  return first && last && { fromMs: first.timestampMs, toMs: last.timestampMs + 1 }
}

/** Trades that are read at once: a millisecond of work. */
const TRADES_A_STEP = 500

function* readRemoved(
  history: MarketHistory,
  { market, query: { outcome } }: Asked,
  { grid, trades }: { grid: Grid; trades: Span },
): Steps<RemovedSizes> {
  const removed = new RemovedSizes(grid, outcome, trades)
  const { toMs } = grid
  for (let { fromMs } = grid; ;) {
    const block = history.trades({
      market,
      fromMs,
      toMs,
      first: TRADES_A_STEP,
      isTrade: true,
    })
    for (const trade of block) removed.add(trade)
    const last = block.at(-1)
    if (last === undefined || block.length < TRADES_A_STEP) return removed
    fromMs = last.timestampMs + 1
    yield
  }
}

type Shown = {
  asked: Asked
  grid: Grid
  known: readonly Span[]
  /** The time in which trades are held; undefined also where what was removed is not shown. */
  trades: Span | undefined
  removed: RemovedSizes | undefined
}

function* print(cells: HeatCells, shown: Shown): Steps<Uint8Array<ArrayBuffer>> {
  const { asked, grid, trades } = shown
  const { market, query } = asked
  const { outcome } = query
  const { fromMs, toMs, stepMs, priceBins, agg, withRemoved } = grid
  const head = JSON.stringify({
    conditionId: market.conditionId,
    symbol: market.coin,
    timeframe: market.timeframe,
    source: market.source,
    outcome,
    agg,
    from: toIso(fromMs),
    to: toIso(toMs),
    stepMs,
  })
  const priceStep = formatMillionths(MILLIONTHS_PER_UNIT / priceBins)
  const out = new ByteWriter(cells.columns * priceBins * 8)
  out.text(`${head.slice(0, -1)},"priceStep":${priceStep}`)
  if (withRemoved) out.text(`,"trades":${spanText(trades)}`)
  out.text(',"columns":[')
  const sizes = withRemoved ? 6 : 2
  const bytes = new Uint8Array(COLUMN_BYTES + sizes * priceBins * (MILLIONTHS_BYTES_MAX + 1))
  for (let column = 0; column < cells.columns; column++) {
    if (column > 0) out.text(',')
    out.bytes(bytes.subarray(0, putColumn(bytes, cells, { column, shown })))
    if (column % COLUMNS_A_STEP === 0) yield
  }
  out.text(']}')
  return out.view()
}

/** The moments of the first and the last trade; `toMs` is exclusive. */
const spanText = (trades: Span | undefined): string =>
  trades === undefined
    ? 'null'
    : JSON.stringify({ from: toIso(trades.fromMs), to: toIso(trades.toMs - 1) })

/** Of a column without its sizes. */
const COLUMN_BYTES = 512
const sides = ['bids', 'asks'] as const
const bestNames = { bids: 'bid', asks: 'ask' } as const

function putColumn(
  bytes: Uint8Array,
  cells: HeatCells,
  { column, shown }: { column: number; shown: Shown },
): number {
  const { fromMs, toMs, stepMs, agg, withRemoved } = shown.grid
  const knownMs = cells.knownMs[column] ?? 0
  if (knownMs === 0) return putNull(bytes, 0)
  const startMs = fromMs + column * stepMs
  const share = printedShare(knownMs, Math.min(stepMs, toMs - startMs))
  const averagedMs = agg === 'time-weighted' ? knownMs : 0
  let at = putText(bytes, 0, `{"covered":${JSON.stringify(share)}`)
  for (const side of sides) {
    const best = cells.bestOf(side, column)
    at = putText(bytes, at, `,"${bestNames[side]}":`)
    at = best === undefined ? putNull(bytes, at) : putMillionths(bytes, at, best)
  }
  for (const side of sides) {
    at = putText(bytes, at, `,"${side}":`)
    at = putSizes(bytes, at, { cells: cells.cellsOf(side, column), averagedMs })
  }
  if (withRemoved) at = putRemoved(bytes, at, cells, { column, shown })
  return putText(bytes, at, '}')
}

function putRemoved(
  bytes: Uint8Array,
  start: number,
  cells: HeatCells,
  { column, shown: { removed, known } }: { column: number; shown: Shown },
): number {
  let at = start
  const isKnown = removed?.isKnown(column, known) ?? false
  for (const kind of ['pulled', 'traded'] as const) {
    at = putText(bytes, at, `,"${kind}":`)
    if (removed === undefined || !isKnown) {
      at = putNull(bytes, at)
      continue
    }
    for (const side of sides) {
      at = putText(bytes, at, side === 'bids' ? '{"bids":' : ',"asks":')
      at = putSizes(bytes, at, { cells: removed.of(cells, side, column)[kind], averagedMs: 0 })
    }
    at = putText(bytes, at, '}')
  }
  return at
}

function putSizes(
  bytes: Uint8Array,
  start: number,
  { cells, averagedMs }: { cells: Float64Array; averagedMs: number },
): number {
  let to = cells.length
  while (to > 0 && cells[to - 1] === 0) to--
  let from = 0
  while (from < to && cells[from] === 0) from++
  let at = putText(bytes, start, `{"from":${from},"sizes":[`)
  for (let bin = from; bin < to; bin++) {
    const sum = cells[bin] ?? 0
    const size = averagedMs === 0 ? sum : Math.round(sum / averagedMs / HUNDREDTH) * HUNDREDTH
    at = putMillionths(bytes, at, size)
    bytes[at++] = byteOf.comma
  }
  return putText(bytes, to > from ? at - 1 : at, ']}')
}
