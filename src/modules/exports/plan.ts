/** What an export will be: its markets, its rows and its shape, from what was asked. */
import type { Span } from '#src/core/coverage.ts'
import { AppError } from '#src/core/errors.ts'
import type { Coin, Market, Timeframe } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { DAY_MS, parseMoment, readRange } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { marketPages } from '#src/history/reads/market-pages.ts'
import type { Steps } from '#src/lib/scheduler.ts'

import {
  type DayExportQuery,
  type Format,
  LEVELS_MAX,
  type MarketExportQuery,
  STATE_LEVELS_DEFAULT,
  STATE_LEVELS_MAX,
} from './model.ts'
import type { Shape, Source } from './source.ts'

/** An export that was asked for, not begun. */
export type ExportPlan = {
  format: Format
  shape: Shape
  markets: readonly Market[]
  source: Source
  /** Of the file, without its ending. */
  name: string
  /** A market may still be added before it, Unix milliseconds. */
  openUntilMs: number
  /** The windows that the export should have; undefined for that of a market. */
  windows: DayWindows | undefined
}

/**
 * Windows that begin in a span, of each timeframe, by the starts of all that
 * are held of the day, ascending.
 */
export type DayWindows = Span & { startsMs: ReadonlyMap<Timeframe, readonly number[]> }

/** Markets that are looked at in a step; a millisecond or two. */
export const MARKETS_A_STEP = 50

/** Plans exports of a history. */
export function createPlanner(history: MarketHistory) {
  function positionOf(market: Market, id: string): Position {
    const position = history.findPosition(market, Number(id))
    if (position !== undefined) return position
    throw parameterError('after', `Market ${market.conditionId} has no snapshot ${id}.`)
  }

  function* listDay(coin: Coin, { day, timeframe }: DayExportQuery): Steps<Market[]> {
    const fromMs = readDay(day)
    const filters = { coin, timeframe: timeframe as Timeframe | undefined }
    const query = { ...filters, fromMs, toMs: fromMs + DAY_MS, limit: MARKETS_A_STEP }
    const markets: Market[] = []
    for (const page of marketPages(history, { ...query, order: 'asc' })) {
      if (markets.length > 0) yield
      markets.push(...page)
    }
    return markets
  }

  return {
    /** Throws `invalid_parameter`. */
    planMarket(market: Market, query: MarketExportQuery, format: Format): ExportPlan {
      const { outcome, after } = query
      const place = after === undefined ? undefined : positionOf(market, after)
      const markets = [market]
      const rows = { conditionIds: idsOf(markets), outcome, ...readRange(query), after: place }
      return {
        format,
        shape: readShape(query, format),
        markets,
        source: { history, ...rows },
        name: nameOf(market),
        openUntilMs: 0,
        windows: undefined,
      }
    },

    /** Throws `invalid_parameter`. */
    *planDay(coin: Coin, query: DayExportQuery, format: Format): Steps<ExportPlan> {
      const { day, outcome, after } = query
      const timeframe = query.timeframe as Timeframe | undefined
      const listed = yield* listDay(coin, query)
      let markets = listed
      let place: Position | undefined
      if (after !== undefined) {
        const [conditionId = '', id = ''] = after.split(':')
        markets = markets.slice(markets.findIndex((one) => one.conditionId === conditionId))
        const [market] = markets
        if (market?.conditionId !== conditionId) {
          throw parameterError('after', `The export of ${day} has no market ${conditionId}.`)
        }
        place = positionOf(market, id)
      }
      const range = { fromMs: undefined, toMs: undefined }
      const startMs = readDay(day)
      const endMs = startMs + DAY_MS
      // What continues from a market is asked for from there.
      const fromMs = after === undefined ? startMs : (markets[0]?.orderMs ?? startMs)
      return {
        format,
        shape: readShape(query, format),
        markets,
        source: { history, conditionIds: idsOf(markets), outcome, ...range, after: place },
        openUntilMs: endMs,
        windows: { fromMs, toMs: endMs, startsMs: startsOf(listed, timeframe) },
        name: [coin, day, ...(timeframe === undefined ? [] : [timeframe])].join('-'),
      }
    },
  }
}

const idsOf = (markets: readonly Market[]): string[] =>
  markets.map(({ conditionId }) => conditionId)

/** Of the timeframes that were asked for or that are held. */
function startsOf(markets: readonly Market[], asked: Timeframe | undefined) {
  const startsMs = new Map<Timeframe, number[]>(asked === undefined ? [] : [[asked, []]])
  for (const { timeframe, windowStartMs } of markets) {
    const known = startsMs.get(timeframe) ?? []
    startsMs.set(timeframe, windowStartMs === undefined ? known : [...known, windowStartMs])
  }
  return startsMs
}

type ShapeQuery = Pick<MarketExportQuery, 'shape' | 'depth' | 'after' | 'include'>

function readShape({ shape, depth, after, include }: ShapeQuery, format: Format): Shape {
  if (format === 'ndjson' && (shape ?? depth) !== undefined) {
    const param = shape === undefined ? 'depth' : 'shape'
    throw parameterError(param, `\`${param}\` goes with CSV and Parquet; NDJSON holds whole books.`)
  }
  if (format === 'parquet' && after !== undefined) {
    throw parameterError(
      'after',
      'A Parquet file cannot be appended to. Ask for it from its start.',
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

/** Start of a day in Unix milliseconds. */
function readDay(day: string): number {
  const startMs = parseMoment(`${day}T00:00:00Z`)
  if (startMs !== undefined) return startMs
  throw parameterError('day', `\`day\` is "${day}", which is no day. Send one as 2026-04-13.`)
}

const nameOf = ({ slug, conditionId }: Market): string =>
  slug !== undefined && /^[\w-]{1,100}$/.test(slug) ? slug : conditionId

const parameterError = (param: string, message: string) =>
  new AppError('invalid_parameter', message, { param })
