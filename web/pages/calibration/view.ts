/** State of the page in its address: length, dates, the moment shown, and the rule. */

import { type Rule, toMillionths } from '../../lib/backtest.ts'
import type { Outcome } from '../../lib/bodies.ts'
import { widths } from '../../lib/calibration.ts'
import { DAY_MS, dayAfter, toDay as dayOf } from '../../lib/days.ts'

const SECOND = 1_000
const MINUTE = 60_000
const HOUR = 3_600_000

type Length = { lengthMs: number; moments: readonly number[] }

/** By length of the window: moments before the end, one fewer than the panel returns at once. */
export const lengths: Readonly<Record<string, Length>> = {
  '5m': {
    lengthMs: 5 * MINUTE,
    moments: [4, 3, 2, 1, 0.5, 1 / 6, 1 / 12].map((each) => each * MINUTE),
  },
  '15m': {
    lengthMs: 15 * MINUTE,
    moments: [12, 9, 6, 4, 2, 1, 0.5].map((each) => each * MINUTE),
  },
  '1h': { lengthMs: HOUR, moments: [50, 40, 30, 20, 10, 5, 1].map((each) => each * MINUTE) },
  '4h': {
    lengthMs: 4 * HOUR,
    moments: [210, 180, 120, 60, 30, 10, 1].map((each) => each * MINUTE),
  },
  '1d': { lengthMs: DAY_MS, moments: [20, 16, 12, 8, 4, 1, 1 / 60].map((each) => each * HOUR) },
}
const USUAL_MOMENT_MS = MINUTE
/** Windows that are read unless the dates say otherwise. */
const USUAL_WINDOWS = 2_000

export type View = {
  timeframe: string
  length: Length
  outcome: Outcome
  widthCents: number
  /** UTC days, both inclusive. */
  fromDay: string
  toDay: string
  source: string | undefined
  /** The moment whose bins are shown one by one. */
  momentMs: number
  rule: Rule
}

type Span = { firstSnapshot: string | null; lastSnapshot: string | null }
type Held = Span & { timeframes: readonly (Span & { timeframe: string })[] }

/**
 * Reads an address, with a default for each part that is missing or invalid. The default outcome is
 * the one with more rows.
 */
export function readView(query: URLSearchParams, held: Held, usualOutcome: Outcome = 'up'): View {
  const asked = query.get('timeframe') ?? ''
  const timeframe = asked in lengths ? asked : '5m'
  const { [timeframe]: length = { lengthMs: 0, moments: [] } } = lengths
  const span = held.timeframes.find((each) => each.timeframe === timeframe) ?? held
  const { moments } = length
  const momentMs = Number(query.get('moment')) * SECOND
  const dates = readDates(query, span, length.lengthMs)
  return {
    timeframe,
    length,
    outcome: readOutcome(query.get('outcome'), usualOutcome),
    widthCents: widths.find((each) => String(each) === query.get('bins')) ?? 5,
    ...dates,
    source: query.get('source') ?? undefined,
    momentMs: moments.includes(momentMs) ? momentMs : usualOf(moments),
    rule: readRule(query, length, usualOutcome),
  }
}

const readOutcome = (text: string | null, usual: Outcome): Outcome =>
  text === 'up' || text === 'down' ? text : usual

const usualOf = (moments: readonly number[]): number =>
  moments.includes(USUAL_MOMENT_MS) ? USUAL_MOMENT_MS : (moments[0] ?? 0)

const isDay = (text: string | null): text is string =>
  text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

function readDates(query: URLSearchParams, span: Span, lengthMs: number) {
  const firstMs = Date.parse(span.firstSnapshot ?? '1970-01-01')
  const lastMs = Date.parse(span.lastSnapshot ?? '1970-01-01')
  const from = query.get('from')
  const to = query.get('to')
  const toDay = isDay(to) ? to : dayOf(lastMs)
  const usualFromMs = Math.max(firstMs, Date.parse(toDay) + DAY_MS - USUAL_WINDOWS * lengthMs)
  const fromDay = isDay(from) ? from : dayOf(Math.min(usualFromMs, Date.parse(toDay)))
  return { fromDay, toDay }
}

/** Bounds of typed values: those of the fill route, except for sizes that no book has. */
export const bounds = {
  size: { min: 0.01, max: 1_000_000, step: 0.01 },
  price: { min: 0.1, max: 99.9, step: 0.1 },
  fee: { min: 0, max: 1, step: 0.0001 },
} as const
/** The taker fee of coin markets, from the venue's documentation of 2026. */
const VENUE_FEE_RATE = 0.07

function readRule(
  query: URLSearchParams,
  { lengthMs, moments }: Length,
  usualOutcome: Outcome,
): Rule {
  const read = (name: string, { min, max, usual }: { min: number; max: number; usual: number }) => {
    const value = Number(query.get(name) || Number.NaN)
    return value >= min && value <= max ? value : usual
  }
  const usualSeconds = usualOf(moments) / SECOND
  const beforeSeconds = read('before', { min: 0, max: lengthMs / SECOND, usual: usualSeconds })
  return {
    outcome: readOutcome(query.get('buy'), usualOutcome),
    measure: query.get('on') === 'mid' ? 'mid' : 'ask',
    comparison: query.get('at') === 'least' ? 'least' : 'most',
    price: toMillionths(read('price', { ...bounds.price, usual: 60 }) / 100),
    beforeMs: Math.round(beforeSeconds * SECOND),
    size: toMillionths(read('size', { ...bounds.size, usual: 100 })),
    feeRate: toMillionths(read('fee', { ...bounds.fee, usual: VENUE_FEE_RATE })),
  }
}

/** The request for the panel. */
export type PanelCall = {
  coin: string
  timeframe: string
  /** Starts of windows: inclusive, and exclusive. */
  from: string
  to: string
  source: string | undefined
  /** At most eight. */
  offsets: readonly string[]
}

/** Adds the moment of the rule if it is not among those shown. */
export function callOf(
  coin: string,
  { timeframe, length, fromDay, toDay, source, rule }: View,
): PanelCall {
  const moments = length.moments.includes(rule.beforeMs)
    ? length.moments
    : [...length.moments, rule.beforeMs]
  return {
    coin,
    timeframe,
    from: `${fromDay}T00:00:00Z`,
    to: `${dayAfter(toDay)}T00:00:00Z`,
    source,
    offsets: moments.map((ms) => (ms % 1000 === 0 ? `-${ms / 1000}s` : `-${ms}ms`)),
  }
}
