/** What an export is: its markets, its rows and its shape, from what was asked. */
import {
  type CoverageTally,
  type Span,
  spanOf,
  tallyCoverage,
  tallyText,
} from '#src/domain/coverage.ts'
import { parameterError } from '#src/domain/errors.ts'
import {
  type Coin,
  type FindMarket,
  type Market,
  outcomes,
  type Timeframe,
} from '#src/domain/market.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import type { Position } from '#src/domain/snapshot.ts'
import type { ServedMoment } from '#src/domain/staleness.ts'
import { DAY_MS, readRange, toIso } from '#src/domain/time.ts'
import { tallyMissing } from '#src/domain/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages, readSource } from '#src/history/reads/market-pages.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import type { Rows, Shape } from './rows.ts'
import {
  type DayExportQuery,
  type Format,
  LEVELS_MAX,
  type MarketExportQuery,
  STATE_LEVELS_DEFAULT,
  STATE_LEVELS_MAX,
} from './schema.ts'

export type ExportPlan = {
  format: Format
  shape: Shape
  markets: readonly Market[]
  rows: Rows
  name: string
  /** Of a day: the span in which windows begin, and the starts of those held, ascending. */
  windows: (Span & { startsMs: ReadonlyMap<Timeframe, readonly number[]> }) | undefined
}

/** Markets that are looked at in a step; a millisecond or two. */
const MARKETS_A_STEP = 50

/** Throws `invalid_parameter`. */
export function* planMarket(
  history: MarketHistory,
  { market, query, format }: { market: Market; query: MarketExportQuery; format: Format },
): Steps<ExportPlan> {
  const { slug, conditionId } = market
  const { outcome, after } = query
  const position = after === undefined ? undefined : yield* positionOf(history, market, after)
  const rows = { conditionIds: [conditionId], outcome, ...readRange(query), after: position }
  return {
    format,
    shape: { ...readShape(query, format), ...sourceOf([market]) },
    markets: [market],
    rows,
    name: slug !== undefined && /^[\w-]{1,100}$/.test(slug) ? slug : conditionId,
    windows: undefined,
  }
}

/** Throws `invalid_parameter`. */
export function* planDay(
  history: MarketHistory,
  {
    coin,
    query,
    format,
    findMarket,
  }: { coin: Coin; query: DayExportQuery; format: Format; findMarket: FindMarket },
): Steps<ExportPlan> {
  const { day: startMs, outcome, after, timeframe } = query
  const source = readSource(history, coin, query.source)
  const day = toIso(startMs).slice(0, 'YYYY-MM-DD'.length)
  const endMs = startMs + DAY_MS
  const span = { fromMs: startMs, toMs: endMs, limit: MARKETS_A_STEP, order: 'asc' } as const
  const listed: Market[] = []
  for (const page of marketPages(history, { coin, timeframe, source, ...span })) {
    if (listed.length > 0 || page.length === 0) yield
    listed.push(...page)
  }
  let markets = listed
  let position: Position | undefined
  if (after !== undefined) {
    const [name = '', snapshotId = ''] = after.split(':')
    const id = findMarket(name)?.conditionId
    markets = listed.slice(listed.findIndex(({ conditionId }) => conditionId === id))
    const [market] = markets
    if (market === undefined || market.conditionId !== id) {
      throw parameterError('after', `The export of ${day} has no market ${excerpt(name)}.`)
    }
    position = yield* positionOf(history, market, snapshotId)
  }
  const conditionIds = markets.map(({ conditionId }) => conditionId)
  // What continues from a market is asked for from there.
  const fromMs = after === undefined ? startMs : (markets[0]?.orderMs ?? startMs)
  return {
    format,
    shape: { ...readShape(query, format), ...sourceOf(markets) },
    markets,
    rows: { conditionIds, outcome, after: position },
    windows: { fromMs, toMs: endMs, startsMs: startsOf(listed, timeframe) },
    name: [coin, day, ...(timeframe === undefined ? [] : [timeframe])].join('-'),
  }
}

function* positionOf(history: MarketHistory, market: Market, text: string): Steps<Position> {
  const id = Number(text)
  yield history.ready([{ market, order: 'asc', id }])
  const position = history.findPosition(market, id)
  if (position !== undefined) return position
  throw parameterError('after', `Market ${market.conditionId} has no snapshot ${text}.`)
}

function startsOf(markets: readonly Market[], asked: Timeframe | undefined) {
  const startsMs = new Map<Timeframe, number[]>(asked === undefined ? [] : [[asked, []]])
  for (const { timeframe, windowStartMs } of markets) {
    const known = startsMs.get(timeframe) ?? []
    startsMs.set(timeframe, windowStartMs === undefined ? known : [...known, windowStartMs])
  }
  return startsMs
}

const sourceOf = (markets: readonly Market[]): Pick<Shape, 'withSource'> =>
  markets.some(({ source }) => source === 'simulated') ? { withSource: true } : {}

type ShapeQuery = Pick<MarketExportQuery, 'shape' | 'depth' | 'after' | 'include'>

function readShape({ shape, depth, after, include }: ShapeQuery, format: Format): Shape {
  if (format === 'ndjson' && (shape ?? depth) !== undefined) {
    const param = shape === undefined ? 'depth' : 'shape'
    throw parameterError(param, `\`${param}\` goes with CSV and Parquet; NDJSON holds whole books.`)
  }
  if (format === 'parquet' && after !== undefined) {
    throw parameterError(
      'after',
      'A Parquet file cannot be appended to. Request it from its start.',
    )
  }
  const more = include === undefined ? {} : { withReceived: true }
  if (shape !== 'states') return { kind: 'levels', depth: depth ?? LEVELS_MAX, ...more }
  if (depth !== undefined && depth > STATE_LEVELS_MAX) {
    throw parameterError(
      'depth',
      `\`depth\` is ${depth}, but at most ${STATE_LEVELS_MAX} with \`states\`.`,
    )
  }
  return { kind: 'states', depth: depth ?? STATE_LEVELS_DEFAULT, ...more }
}

/** Over all markets, and all windows of a day that have none; made in steps. */
export function* coverageOf(
  history: MarketHistory,
  { markets, windows, rows: { outcome, fromMs, toMs } }: ExportPlan,
  { nowMs, isStale }: ServedMoment,
): Steps<string> {
  const tallies: CoverageTally[] = []
  for (const [index, market] of markets.entries()) {
    if (index > 0 && index % MARKETS_A_STEP === 0) yield
    const gaps = history.gaps(market)
    const question = { market, gaps, outcome, fromMs, toMs, nowMs, isStale }
    const span = spanOf(question)
    // On a day nothing is missing of a window that has not opened.
    if (windows === undefined || span.toMs > span.fromMs) tallies.push(tallyCoverage(question))
  }
  if (windows !== undefined) {
    const { startsMs, ...range } = windows
    const asked = outcome === undefined ? outcomes.length : 1
    for (const [timeframe, held] of startsMs) {
      tallies.push(tallyMissing(held, { timeframe, ...range, nowMs }, asked))
    }
  }
  return tallyText(tallies)
}
