/** Plans an export: its markets, rows and shape, from the request. */
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
  createMarketFinder,
  type FindMarket,
  type Market,
  outcomes,
  type Timeframe,
} from '#src/domain/market.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { tagOf } from '#src/domain/tag.ts'
import { DAY_MS, readRange, toIsoDay } from '#src/domain/time.ts'
import { tallyMissing } from '#src/domain/windows.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages, readSource } from '#src/history/reads/market-pages.ts'
import { marketIn, type Task, type TaskPorts } from '#src/http/tasks.ts'
import { assertEngineFile, engineFileName } from '#src/tables/engine-files.ts'
import { marketFileName } from '#src/tables/markets.ts'

import type { Rows, Shape } from './rows.ts'
import {
  type DayExportQuery,
  type Format,
  isEngineFormat,
  LEVELS_MAX,
  type MarketExportQuery,
  STATE_LEVELS_DEFAULT,
  STATE_LEVELS_MAX,
} from './schema.ts'

type Plan = {
  format: Format
  shape: Shape
  markets: readonly Market[]
  rows: Rows
  name: string
  /** For a day: the span in which windows begin, and the starts of the known windows, ascending. */
  windows: (Span & { startsMs: ReadonlyMap<Timeframe, readonly number[]> }) | undefined
}

/** The rows of an export, and its headers. */
export type ExportPlan = Pick<Plan, 'format' | 'shape' | 'rows' | 'name'> & {
  /** Hash of everything that decides the bytes; used as the `ETag`. */
  digest: string
  coverage: string
  /** True if only a backfill can change the export. */
  isClosed: boolean
}

type Asked = { format: Format } & (
  { conditionId: string; query: MarketExportQuery } | { coin: Coin; query: DayExportQuery }
)

export const planTask = { name: 'export plan', run: planExport } satisfies Task<Asked, ExportPlan>

/** Rejects with `invalid_parameter`. */
async function planExport(ports: TaskPorts, asked: Asked): Promise<ExportPlan> {
  const { history, clock } = ports
  const { format } = asked
  const plan =
    'coin' in asked
      ? await planDay(history, { ...asked, findMarket: createMarketFinder(history) })
      : await planMarket(history, { ...asked, market: marketIn(ports, asked.conditionId) })
  const { shape, rows, name, markets, windows } = plan
  const { outcome, fromMs, toMs, after } = rows
  // Gaps that are not stored decide which changes are whole books.
  const bridged =
    shape.kind === 'changes' ? markets.map(history.derivedGaps ?? (() => [])) : undefined
  const revisions = markets.map(({ conditionId, revision }) => [conditionId, revision])
  return {
    format,
    shape,
    rows,
    name,
    digest: tagOf(
      JSON.stringify([format, shape, outcome, fromMs, toMs, after, revisions, bridged]),
    ),
    coverage: coverageOf(history, plan, clock()),
    isClosed: clock() >= (windows?.toMs ?? 0) && markets.every((market) => market.isClosed),
  }
}

/** Markets in one read. */
const MARKETS_A_READ = 50

/** Throws `invalid_parameter`. */
async function planMarket(
  history: MarketHistory,
  { market, query, format }: { market: Market; query: MarketExportQuery; format: Format },
): Promise<Plan> {
  const { conditionId } = market
  const { outcome, after } = query
  const position = after === undefined ? undefined : await positionOf(history, market, after)
  const rows = { conditionIds: [conditionId], outcome, ...readRange(query), after: position }
  const plan = { format, markets: [market], rows, windows: undefined }
  if (isEngineFormat(format)) {
    for (const param of ['shape', 'depth', 'include', 'after'] as const)
      if (query[param] !== undefined)
        throw parameterError(param, `\`${param}\` does not go with \`format=${format}\`.`)
    const file = { format, outcome, kind: query.kind }
    assertEngineFile(file)
    const shape = { kind: 'changes', depth: LEVELS_MAX, tardisKind: query.kind } as const
    return { ...plan, shape, name: engineFileName(market, rows.fromMs, file) }
  }
  if (query.kind !== undefined)
    throw parameterError('kind', '`kind` goes with `format=tardis` only.')
  const shape = { ...readShape(query, format), ...sourceOf([market]) }
  return { ...plan, shape, name: marketFileName(market) }
}

/** Throws `invalid_parameter`. */
async function planDay(
  history: MarketHistory,
  {
    coin,
    query,
    format,
    findMarket,
  }: { coin: Coin; query: DayExportQuery; format: Format; findMarket: FindMarket },
): Promise<Plan> {
  const { day: startMs, outcome, after, timeframe } = query
  const source = readSource(history, coin, query.source)
  const day = toIsoDay(startMs)
  const endMs = startMs + DAY_MS
  const span = { fromMs: startMs, toMs: endMs, limit: MARKETS_A_READ, order: 'asc' } as const
  const listed: Market[] = []
  for (const page of marketPages(history, { coin, timeframe, source, ...span }))
    listed.push(...page)
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
    position = await positionOf(history, market, snapshotId)
  }
  const conditionIds = markets.map(({ conditionId }) => conditionId)
  // A resumed export starts with the market of the position.
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

async function positionOf(history: MarketHistory, market: Market, text: string): Promise<Position> {
  const id = Number(text)
  await history.ready([{ market, order: 'asc', id }])
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
  if (shape === 'changes') {
    if (depth === undefined && (format !== 'parquet' || after === undefined))
      return { kind: shape, depth: LEVELS_MAX }
    if (depth !== undefined)
      throw parameterError('depth', '`depth` does not go with `changes`, which have every level.')
  }
  if (format === 'ndjson' && (shape ?? depth) !== undefined) {
    const param = shape === undefined ? 'depth' : 'shape'
    throw parameterError(param, `\`${param}\` is for CSV and Parquet only; NDJSON has whole books.`)
  }
  if (format === 'parquet' && after !== undefined) {
    throw parameterError('after', 'A Parquet file cannot be resumed. Request it from the start.')
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

/** Coverage over all markets, and over the windows of a day that have no market. */
function coverageOf(
  history: MarketHistory,
  { markets, windows, rows: { outcome, fromMs, toMs } }: Plan,
  nowMs: number,
): string {
  const tallies: CoverageTally[] = []
  for (const market of markets) {
    const gaps = history.gaps(market)
    const question = { market, gaps, outcome, fromMs, toMs, nowMs }
    const span = spanOf(question)
    // In an export by day, a window that has not begun has nothing missing.
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
