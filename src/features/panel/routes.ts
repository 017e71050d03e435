import { Elysia } from 'elysia'

import {
  type CoverageTally,
  type Span,
  tallyCoverage,
  tallyText,
  type WindowedMarket,
} from '#src/domain/coverage.ts'
import {
  type CursorList,
  type MarketPosition,
  marketPosition,
  startOfMarkets,
} from '#src/domain/cursor.ts'
import { exactNumber, formatMillionths } from '#src/domain/decimal.ts'
import { type DepthFigures, depthFigures, type Levels } from '#src/domain/depth-figures.ts'
import { type AppError, parameterError } from '#src/domain/errors.ts'
import {
  type Coin,
  type Outcome,
  outcomes,
  type SourceChoice,
  type Timeframe,
  timeframeMs,
  winnerOf,
} from '#src/domain/market.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import { readsPrices } from '#src/domain/selling/caller.ts'
import { readRange, type TimeRange, toIso } from '#src/domain/time.ts'
import type { Trade } from '#src/domain/trade.ts'
import { tallyOfNothing, tallyOfUnknown } from '#src/domain/windows.ts'
import { LevelColumns } from '#src/domain/wire/level-columns.ts'
import { quoteText } from '#src/domain/wire/row-bytes.ts'
import { prevailingRange, type RowRange } from '#src/history/history.ts'
import { readSource } from '#src/history/reads/market-pages.ts'
import { findSpot } from '#src/history/reads/spot-read.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { type ListPage, readList } from '#src/http/cursor-list.ts'
import { type TableForm, tableOf, tableQuery, tableTask } from '#src/http/table.ts'
import type { TaskPorts, Tasks } from '#src/http/tasks.ts'

import { PanelList, PanelQuery, PanelRow } from './schema.ts'
import { countMissing, selectMarkets } from './selection.ts'

type Given = {
  coin: Coin
  query: PanelQuery
  table: TableForm
  /** True if the caller's tier includes the members of the `prices` routes. */
  isPriced: boolean
}

type Cell = {
  market: WindowedMarket
  offset: Offset
  tsMs: number
  maxAgeMs: number
  coverage: Record<Outcome, CoverageTally>
  /** True if the caller's tier includes the members of the `prices` routes. */
  isPriced: boolean
}

export const panelTask = tableTask('panel', PanelList, makePanel)

export const panelRoutes = (api: Api, tasks: Tasks) =>
  new Elysia({ name: 'panel' }).use(api).get(
    '/v1/:coin/panel',
    ({ reply, request, coin, query, caller }) => {
      const isPriced = readsPrices(caller)
      const table = tableOf(request, query, panelMembers(isPriced))
      const given = { coin, query, table, isPriced }
      return reply(request, tasks.data(request, panelTask, given, 'long'))
    },
    {
      access: 'snapshots',
      coin: true,
      query: tableQuery(PanelQuery),
      isCovered: true,
      caching: 'digest',
      response: { 200: PanelList },
      answers: {
        description: 'A page of the panel.',
        resume: 'Cursor after the last market, even if `nextCursor` is null.',
      },
      detail: {
        operationId: 'getPanel',
        summary: 'Get every market at offsets before its expiry',
        description:
          'One row for each market and offset: the state that prevails at that moment before the expiry, and the winning outcome; a later state is never used. A market is included once it has expired, so a row changes later only through a backfill or when its winner becomes known. A market with an unknown window is left out; if snapshots of it are recorded in the range, `X-Coverage` counts it as `window_unknown`. `X-Coverage` also counts the moments of windows that are not recorded, between `from`, the cursor or the first market, and the last market or, on the last page, `to`. Follow `nextCursor` until it is null; to resume later, use `X-Resume-Cursor`. `lastTrade` and `spot` belong to the routes of `prices`: for a tier without them, rows and tables lack these members.',
        tags: ['snapshots'],
      },
    },
  )

/** Markets whose archived books are fetched and held in memory together. */
const FETCHED_MARKETS = 32

/** Members of a row that only callers with the tier route `prices` get. */
const priceMembers = ['lastTrade', 'spot']

const panelMembers = (isPriced: boolean): string[] =>
  Object.keys(PanelRow.properties).filter((name) => isPriced || !priceMembers.includes(name))

function createPageMaker({ history, clock }: TaskPorts) {
  const columns = new LevelColumns(Number.POSITIVE_INFINITY)

  function stateAt({ market, tsMs, maxAgeMs }: Cell, outcome: Outcome): string {
    const row = history.at({ market, outcome, timestampMs: tsMs })
    if (row === undefined || tsMs - row.timestampMs > maxAgeMs) return 'null'
    return stateText(row.timestampMs, columns.alone(row.text()), tsMs)
  }

  /** Prevailing spot price at a moment. */
  function spotAt({ market, tsMs, maxAgeMs }: Cell) {
    const tick = findSpot(history, { ...market, atMs: tsMs })
    if (tick === undefined || tsMs - tick.timestampMs > maxAgeMs) return null
    const { price, source, windowSeconds, timestampMs } = tick
    return { price: exactNumber(price), source, windowSeconds, ageMs: tsMs - timestampMs }
  }

  /** Text of a row after the members of its market. */
  function rowText(cell: Cell): string {
    const { offset, tsMs, coverage } = cell
    const place = `"offset":"${offset.text}","offsetMs":${-offset.beforeMs || 0},"ts":"${toIso(tsMs)}"`
    const covered = `{"up":${coverage.up.coveredMs > 0},"down":${coverage.down.coveredMs > 0}}`
    const states = `"up":${stateAt(cell, 'up')},"down":${stateAt(cell, 'down')}`
    return `${place}${cell.isPriced ? pricesText(cell) : ''},"covered":${covered},${states}`
  }

  function pricesText(cell: Cell): string {
    const { market, tsMs } = cell
    const [trade] = history.trades({ market, toMs: tsMs + 1, last: 1 })
    return `,"lastTrade":${tradeText(trade)},"spot":${JSON.stringify(spotAt(cell))}`
  }

  return async function readPage(
    query: PanelQuery,
    { offsets, filters }: PanelRequest,
    after: MarketPosition | undefined,
    isPriced: boolean,
  ): Promise<ListPage<MarketPosition>> {
    const { coin, timeframe, fromMs, toMs } = filters
    const { limit, maxAgeMs = Number.POSITIVE_INFINITY } = query
    const nowMs = clock()
    const source = readSource(history, coin, query.source)
    const range = { coin, timeframe, fromMs, toMs, limit, after }
    const chosen = selectMarkets(history, { ...range, source }, nowMs)
    const momentsOf = (markets: number) => markets * offsets.length * outcomes.length
    const missing = momentsOf(countMissing(chosen, range, nowMs))
    const rows: string[] = []
    const tallies = [tallyOfNothing(missing, missing), tallyOfUnknown(momentsOf(chosen.unknown))]
    function* rangesOf(markets: readonly WindowedMarket[]): Generator<RowRange> {
      for (const market of markets) {
        for (const { beforeMs } of offsets) {
          const atMs = market.windowEndMs - beforeMs
          for (const outcome of outcomes)
            yield { ...prevailingRange(market, outcome, atMs), withReceived: false }
        }
      }
    }
    for (const [index, market] of chosen.markets.entries()) {
      const count = index % FETCHED_MARKETS === 0 ? FETCHED_MARKETS : 1
      await history.ready(rangesOf(chosen.markets.slice(index, index + count)))
      const head = marketText(market)
      history.consistently(market, () => {
        const gaps = history.gaps(market)
        for (const offset of offsets) {
          const tsMs = market.windowEndMs - offset.beforeMs
          const question = { market, gaps, ...momentOf(market, tsMs), nowMs }
          const coverage = {
            up: tallyCoverage({ ...question, outcome: 'up' }),
            down: tallyCoverage({ ...question, outcome: 'down' }),
          }
          tallies.push(coverage.up, coverage.down)
          const cell = { market, offset, tsMs, maxAgeMs, coverage, isPriced }
          rows.push(`${head},${rowText(cell)}}`)
        }
      })
    }
    return {
      rows,
      last: chosen.markets.at(-1),
      hasMore: chosen.hasMore,
      coverage: tallyText(tallies),
      // Without `prices`, the page is not cached for long, because the caller may buy a higher
      // tier.
      isClosed: chosen.isFinal && isPriced,
    }
  }
}

/** Rejects with `invalid_parameter`, `cursor_invalid` and `cursor_mismatch`. */
async function makePanel(ports: TaskPorts, { coin, query, isPriced }: Given): Promise<DataAnswer> {
  const request = readRequest(coin, query)
  const readPage = createPageMaker(ports)
  return readList(ports.cursors, {
    list: panelList,
    filters: request.filters,
    cursor: query.cursor,
    read: (after) => readPage(query, request, after, isPriced),
  })
}

/**
 * The expiry is outside of the window, so the state that prevails there is the last one before it.
 */
function momentOf({ windowEndMs }: WindowedMarket, tsMs: number): Span {
  const fromMs = Math.min(tsMs, windowEndMs - 1)
  return { fromMs, toMs: fromMs + 1 }
}

function marketText(market: WindowedMarket): string {
  const { conditionId, slug, timeframe, strike, finalPrice, winnerSource } = market
  const text = JSON.stringify({
    conditionId,
    slug: slug ?? null,
    timeframe,
    source: market.source,
    windowStart: toIso(market.windowStartMs),
    windowEnd: toIso(market.windowEndMs),
    strike: exactNumber(strike),
    finalPrice: exactNumber(finalPrice),
    winner: winnerOf(market) ?? null,
    winnerSource: winnerSource ?? null,
  })
  return text.slice(0, -1)
}

/** Concatenated instead of built from objects: a page has thousands of numbers. */
function tradeText(trade: Trade | undefined): string {
  if (trade === undefined) return 'null'
  const { price, outcome, timestampMs } = trade
  const traded = outcome === undefined ? 'null' : `"${outcome}"`
  return `{"price":${formatMillionths(price)},"outcome":${traded},"timestamp":"${toIso(timestampMs)}"}`
}

function stateText(
  timestampMs: number,
  { bids, asks }: Record<'bids' | 'asks', Levels>,
  tsMs: number,
): string {
  const age = `"timestamp":"${toIso(timestampMs)}","ageMs":${tsMs - timestampMs}`
  const quote = quoteText({
    bidPrice: bids.prices[0] ?? 0,
    bidSize: bids.sizes[0] ?? 0,
    askPrice: asks.prices[0] ?? 0,
    askSize: asks.sizes[0] ?? 0,
  })
  const depth = `"bids":${depthText(depthFigures(bids))},"asks":${depthText(depthFigures(asks))}`
  return `{${age},${quote},${depth}}`
}

const depthText = ({ levels, size, usdc }: DepthFigures): string =>
  `{"levels":${levels},"size":${size},"usdc":${usdc}}`

/** `text` as requested; `beforeMs` is at least 0 and at most the length of the window. */
type Offset = { text: string; beforeMs: number }

const OFFSETS_MAX = 8

const pattern = /^-(0|[1-9]\d{0,8})(ms|s|m|h)$/
const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

type PanelFilters = TimeRange & {
  coin: Coin
  timeframe: Timeframe
  /** Offsets as requested. */
  offsets: readonly string[]
  maxAgeMs?: number | undefined
  source?: SourceChoice | undefined
}

const panelList: CursorList<PanelFilters, MarketPosition> = {
  name: 'panel',
  filters: ({ coin, timeframe, offsets, fromMs, toMs, maxAgeMs, source }) => [
    coin,
    timeframe,
    offsets.join(','),
    fromMs,
    toMs,
    maxAgeMs,
    ...(source === undefined ? [] : [source]),
  ],
  position: marketPosition,
  start: startOfMarkets,
}

type PanelRequest = { offsets: Offset[]; filters: PanelFilters }

/** Throws `invalid_parameter`. */
function readRequest(coin: Coin, query: PanelQuery): PanelRequest {
  const { timeframe, maxAgeMs, source } = query
  const offsets = readOffsets(query.offsets, timeframe)
  const { fromMs, toMs } = readRange(query)
  const texts = offsets.map(({ text }) => text)
  return {
    offsets,
    filters: { coin, timeframe, offsets: texts, fromMs, toMs, maxAgeMs, source },
  }
}

function readOffsets(text: string, timeframe: Timeframe): Offset[] {
  const items = text.split(',', OFFSETS_MAX + 1)
  if (items.length > OFFSETS_MAX) {
    throw offsetsError(
      `\`offsets\` has more than ${OFFSETS_MAX} items. Request the others separately.`,
    )
  }
  const offsets = items.map((item) => readOffset(item, timeframe))
  for (const [index, { text: item, beforeMs }] of offsets.entries()) {
    const first = offsets.findIndex((offset) => offset.beforeMs === beforeMs)
    if (first === index) continue
    const same = offsets[first]?.text === item ? '' : `, the same as "${offsets[first]?.text}"`
    throw offsetsError(`\`offsets\` repeats "${item}"${same}. Send each moment once.`)
  }
  return offsets
}

function readOffset(item: string, timeframe: Timeframe): Offset {
  const match = pattern.exec(item)
  if (match === null) {
    throw offsetsError(
      `\`offsets\` has the item "${excerpt(item)}", but each must be a minus sign, a whole number without leading zeros and a unit (ms, s, m or h), such as -240s.`,
    )
  }
  const beforeMs = Number(match[1]) * (unitMs[match[2] ?? ''] ?? 0)
  if (beforeMs > timeframeMs[timeframe]) {
    throw offsetsError(
      `\`offsets\` has the item "${item}", which is before the start of the ${timeframe} window. Send at most -${timeframeMs[timeframe] / 1000}s.`,
    )
  }
  return { text: item, beforeMs }
}

const offsetsError = (message: string): AppError => parameterError('offsets', message)
