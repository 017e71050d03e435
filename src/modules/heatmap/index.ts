import {
  coverageOf,
  coverageText,
  marketSpanOf,
  printedShare,
  type Span,
  spanOf,
} from '#src/core/coverage.ts'
import { formatMillionths, MILLIONTHS_PER_UNIT } from '#src/core/decimal.ts'
import type { Market } from '#src/core/market.ts'
import { historyTagOf } from '#src/core/tag.ts'
import { type Clock, readRange, toIso } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { PageAnswer } from '#src/http/data-response.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { route } from '#src/http/route.ts'
import type { Page, PageCache } from '#src/lib/page-cache.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import { type Grid, HeatCells, type Side } from './cells.ts'
import { HeatmapBody, HeatmapQuery } from './model.ts'

type Deps = { history: MarketHistory; pages: PageCache; clock: Clock }
type Asked = { market: Market; query: HeatmapQuery; request: Request }

/** Columns that are printed at once: a millisecond. */
const COLUMNS_A_STEP = 64
/** Averages are rounded to hundredths of a share. */
const HUNDREDTH = 10_000

export const heatmapRoutes = (deps: Deps) => [
  route({
    path: '/v1/:coin/markets/:conditionId/heatmap',
    access: 'snapshots',
    operationId: 'getHeatmap',
    summary: 'Liquidity by price and time',
    description:
      'The sizes of a book in cells of price and time, made of every recorded state: what a state shows counts from its moment to that of the next one, as far as the book is known then. Sizes of levels in one bin are added up; `max` and `last` are exact, averages are rounded to hundredths.',
    query: HeatmapQuery,
    ok: { description: 'The cells.', schema: HeatmapBody },
    isCovered: true,
    caching: 'page',
    answer: (asked) => answerHeatmap(deps, asked),
  }),
]

function answerHeatmap({ history, pages, clock }: Deps, asked: Asked): PageAnswer {
  const { market, query, request } = asked
  const nowMs = clock()
  const { outcome, agg } = query
  const priceBins = Number(query.priceBins)
  const { fromMs, toMs } = pictureOf(market, query, nowMs)
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / query.timeBins))
  const grid = { fromMs, toMs, stepMs, priceBins, agg }
  const gaps = history.gaps(market)
  const question = { market, gaps, outcome, fromMs, toMs, nowMs }
  const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const name = [outcome, agg, fromMs, toMs, stepMs, priceBins].join('.')
  // How much of it is known changes with time as long as the market is open.
  const version = market.isClosed ? market.revision : `${market.revision}.${nowMs}`
  const tag = `heatmap.${historyTagOf(history.cursorKey)}.${market.id}.${name}.${version}${isGzip ? '.gzip' : ''}`
  return {
    ...{ tag, isGzip, isClosed: market.isClosed, coverage: coverageText(question) },
    findPage: () => pages.find(tag),
    *make(): Steps<Page> {
      const known = coverageOf(question)[0]?.intervals ?? []
      const cells = yield* readCells(history, asked, { grid, known })
      const text = yield* print(cells, { market, outcome, grid })
      return { tag, body: new TextEncoder().encode(text) }
    },
  }
}

/** The time asked for, else the trading window, else what is held. */
function pictureOf(market: Market, query: HeatmapQuery, nowMs: number): Span {
  const asked = readRange(query)
  const whole = marketSpanOf(market, nowMs)
  const fromMs = asked.fromMs ?? market.windowStartMs ?? whole?.fromMs
  const toMs = asked.toMs ?? market.windowEndMs ?? whole?.toMs
  return spanOf({ ...{ market, gaps: [], nowMs }, fromMs, toMs })
}

type Terms = { grid: Grid; known: readonly Span[] }

function* readCells(
  history: MarketHistory,
  { market, query: { outcome } }: Asked,
  { grid, known }: Terms,
): Steps<HeatCells> {
  const { fromMs, toMs } = grid
  const cells = new HeatCells(grid, known)
  const before = history.at({ market, outcome, timestampMs: fromMs })
  for (const run of history.runs({
    ...{ market, outcome, toMs },
    fromMs: before?.timestampMs ?? fromMs,
  })) {
    cells.add(run)
    yield
  }
  cells.endState(toMs)
  return cells
}

type Shown = { market: Market; outcome: string; grid: Grid }

function* print(cells: HeatCells, { market, outcome, grid }: Shown): Steps<string> {
  const { fromMs, toMs, stepMs, priceBins, agg } = grid
  const head = JSON.stringify({
    ...{ conditionId: market.conditionId, symbol: market.coin, timeframe: market.timeframe },
    ...{ source: market.source, outcome, agg, from: toIso(fromMs), to: toIso(toMs), stepMs },
  })
  const priceStep = formatMillionths(MILLIONTHS_PER_UNIT / priceBins)
  const texts: string[] = []
  const toSide = { bids: createSideText(priceBins), asks: createSideText(priceBins) }
  for (let column = 0; column < cells.columns; column++) {
    texts.push(toColumn(cells, column, { grid, toSide }))
    if (column % COLUMNS_A_STEP === 0) yield
  }
  return `${head.slice(0, -1)},"priceStep":${priceStep},"columns":[${texts.join(',')}]}`
}

type Printing = { grid: Grid; toSide: Record<Side, ReturnType<typeof createSideText>> }

function toColumn(cells: HeatCells, column: number, { grid, toSide }: Printing): string {
  const { fromMs, toMs, stepMs, agg } = grid
  const knownMs = cells.knownMs[column] ?? 0
  if (knownMs === 0) return 'null'
  const startMs = fromMs + column * stepMs
  const share = printedShare(knownMs, Math.min(stepMs, toMs - startMs))
  const { bid, ask } = cells.bestOf(column)
  const averagedMs = agg === 'time-weighted' ? knownMs : 0
  const sideOf = (side: Side) => toSide[side](cells.cellsOf(side, column), averagedMs)
  return `{"covered":${JSON.stringify(share)},"bid":${toText(bid)},"ask":${toText(ask)},"bids":${sideOf('bids')},"asks":${sideOf('asks')}}`
}

const toText = (millionths: number | undefined): string =>
  millionths === undefined ? 'null' : formatMillionths(millionths)

/** Most cells are as they were in the column before, so their text is kept. */
function createSideText(priceBins: number) {
  const sizes = new Float64Array(priceBins)
  const texts: string[] = Array.from({ length: priceBins }, () => '0')
  return (cells: Float64Array, averagedMs: number): string => {
    let to = cells.length
    while (to > 0 && cells[to - 1] === 0) to--
    let from = 0
    while (from < to && cells[from] === 0) from++
    for (let bin = from; bin < to; bin++) {
      const sum = cells[bin] ?? 0
      const size = averagedMs === 0 ? sum : Math.round(sum / averagedMs / HUNDREDTH) * HUNDREDTH
      if (size === sizes[bin]) continue
      sizes[bin] = size
      texts[bin] = formatMillionths(size)
    }
    return `{"from":${from},"sizes":[${texts.slice(from, to).join(',')}]}`
  }
}
