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
import type { Market, Outcome } from '#src/domain/market.ts'
import { type Caller, readsPrices } from '#src/domain/selling/caller.ts'
import { encodedTag, historyTagOf } from '#src/domain/tag.ts'
import { readRange, toIso } from '#src/domain/time.ts'
import { byteOf } from '#src/domain/wire/json-bytes.ts'
import {
  MILLIONTHS_BYTES_MAX,
  putMillionths,
  putNull,
  putText,
} from '#src/domain/wire/row-bytes.ts'
import { type MarketHistory, prevailingRange } from '#src/history/history.ts'
import { readyRuns } from '#src/history/reads/until-ready.ts'
import type { DataAnswer, PageAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { marketValues } from '#src/http/fields.ts'
import { acceptsGzip } from '#src/http/negotiation.ts'
import { dataTask, marketIn, type TaskPorts, type Tasks } from '#src/http/tasks.ts'
import { ByteWriter } from '#src/platform/byte-writer.ts'
import type { PageCache } from '#src/platform/page-cache.ts'

import { type Grid, HeatCells } from './cells.ts'
import { RemovedSizes } from './removed.ts'
import { HeatmapBody, HeatmapQuery } from './schema.ts'

type Deps = TaskPorts & { pages: PageCache; tasks: Tasks }
type Asked = { market: Market; outcome: Outcome }
type Given = { conditionId: string; outcome: Outcome; grid: Grid }

/** Averages are rounded to hundredths of a share. */
const HUNDREDTH = 10_000

export const heatmapTask = dataTask('heatmap', makeHeatmap)

export const heatmapRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'heatmap' })
    .use(api)
    .get(
      '/v1/:coin/markets/:conditionId/heatmap',
      ({ reply, request, market, query, caller }) =>
        reply(request, answerHeatmap(deps, { request, market, query, caller })),
      {
        access: 'snapshots',
        market: true,
        query: HeatmapQuery,
        isCovered: true,
        caching: 'page',
        response: { 200: HeatmapBody },
        answers: { description: 'The cells.' },
        detail: {
          operationId: 'getHeatmap',
          summary: 'Get a heat map of liquidity',
          description:
            'Sizes of a book by price and time, from every recorded state: a state prevails until the next one, and only while the book is known. Sizes of levels in the same price bin are added up. `max` and `last` are exact, averages are rounded to hundredths. With `include=removed`, each column also has the sizes that were pulled and traded, exactly.',
          tags: ['snapshots'],
        },
      },
    )

function answerHeatmap(
  { history, pages, clock, tasks }: Deps,
  {
    market,
    query,
    request,
    caller,
  }: { market: Market; query: HeatmapQuery; request: Request; caller: Caller },
): PageAnswer {
  const nowMs = clock()
  const { outcome, agg } = query
  const priceBins = Number(query.priceBins)
  const { fromMs, toMs } = pictureOf(market, query, nowMs)
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / query.timeBins))
  const withRemoved = query.include === 'removed' && readsPrices(caller)
  const grid = { fromMs, toMs, stepMs, priceBins, agg, withRemoved }
  const question = { market, gaps: history.gaps(market), outcome, fromMs, toMs, nowMs }
  const isGzip = acceptsGzip(request.headers.get('accept-encoding'))
  const what = [outcome, agg, fromMs, toMs, stepMs, priceBins].join('.')
  const name = withRemoved ? `${what}.removed` : what
  const key = `heatmap.${historyTagOf(history.cursorKey)}.${market.id}.${name}`
  // The known part of an open market grows with time.
  const clocked = market.isClosed ? '' : `.${nowMs}`
  const tagAt = (version: number | string) => encodedTag(`${key}.${version}${clocked}`, isGzip)
  const tag = tagAt(market.revision)
  const given = { conditionId: market.conditionId, outcome, grid }
  return {
    tag,
    isGzip,
    isClosed: market.isClosed,
    coverage: coverageText(question),
    findPage: () => pages.find(tag),
    async make(asking) {
      const made = await tasks.page(asking, heatmapTask, given, 'long')
      return { body: made.body, tag: tagAt(made.version ?? made.tag) }
    },
  }
}

async function makeHeatmap(
  ports: TaskPorts,
  { conditionId, outcome, grid }: Given,
): Promise<DataAnswer> {
  const { history, clock } = ports
  const market = marketIn(ports, conditionId)
  const { fromMs, toMs, withRemoved } = grid
  const asked = { market, outcome }
  const gaps = history.gaps(market)
  const question = { market, gaps, outcome, fromMs, toMs, nowMs: clock() }
  const known = coverageOf(question)[0]?.intervals ?? []
  const cells = await readCells(history, asked, { grid, known })
  const trades = withRemoved ? tradeSpanOf(history, market) : undefined
  const removed = trades && readRemoved(history, asked, { grid, trades })
  const body = print(cells, { asked, grid, known, trades, removed })
  // Rows written during the computation may be included or not.
  const isUnchanged = history.findMarket(conditionId)?.revision === market.revision
  return { body, version: isUnchanged ? market.revision : undefined }
}

/** The requested time, else the trading window, else the recorded time. */
function pictureOf(market: Market, query: HeatmapQuery, nowMs: number): Span {
  const asked = readRange(query)
  const whole = marketSpanOf(market, nowMs)
  const fromMs = asked.fromMs ?? market.windowStartMs ?? whole?.fromMs
  const toMs = asked.toMs ?? market.windowEndMs ?? whole?.toMs
  return spanOf({ market, gaps: [], nowMs, fromMs, toMs })
}

async function readCells(
  history: MarketHistory,
  { market, outcome }: Asked,
  { grid, known }: { grid: Grid; known: readonly Span[] },
): Promise<HeatCells> {
  const { fromMs, toMs } = grid
  const cells = new HeatCells(grid, known)
  await history.ready([prevailingRange(market, outcome, fromMs)])
  const before = history.at({ market, outcome, timestampMs: fromMs })
  const query = { market, outcome, fromMs: before?.timestampMs ?? fromMs, toMs }
  for await (const run of readyRuns(history, query, history.runs(query))) cells.add(run)
  cells.end()
  return cells
}

/** Time between the first and the last recorded trade of a market. */
function tradeSpanOf(history: MarketHistory, market: Market): Span | undefined {
  const [first] = history.trades({ market, first: 1, isTrade: true })
  const [last] = history.trades({ market, last: 1, isTrade: true })
  return first && last && { fromMs: first.timestampMs, toMs: last.timestampMs + 1 }
}

/** Trades in one read. */
const TRADES_A_READ = 500

function readRemoved(
  history: MarketHistory,
  { market, outcome }: Asked,
  { grid, trades }: { grid: Grid; trades: Span },
): RemovedSizes {
  const removed = new RemovedSizes(grid, outcome, trades)
  const { toMs } = grid
  for (let { fromMs } = grid; ;) {
    const block = history.trades({
      market,
      fromMs,
      toMs,
      first: TRADES_A_READ,
      isTrade: true,
    })
    for (const trade of block) removed.add(trade)
    const last = block.at(-1)
    if (last === undefined || block.length < TRADES_A_READ) return removed
    fromMs = last.timestampMs + 1
  }
}

type Shown = {
  asked: Asked
  grid: Grid
  known: readonly Span[]
  /** Time in which trades are recorded; undefined also if removed sizes are not requested. */
  trades: Span | undefined
  removed: RemovedSizes | undefined
}

function print(cells: HeatCells, shown: Shown): Uint8Array<ArrayBuffer> {
  const { asked, grid, trades } = shown
  const { market, outcome } = asked
  const { fromMs, toMs, stepMs, priceBins, agg, withRemoved } = grid
  const head = JSON.stringify({
    ...marketValues(market),
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
  }
  out.text(']}')
  return out.view()
}

/** Times of the first and the last trade; `toMs` is exclusive. */
const spanText = (trades: Span | undefined): string =>
  trades === undefined
    ? 'null'
    : JSON.stringify({ from: toIso(trades.fromMs), to: toIso(trades.toMs - 1) })

/** Bytes of a column without its sizes. */
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
