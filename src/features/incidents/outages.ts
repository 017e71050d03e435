/** Outages of recorder and venue, derived from the gaps in recorded markets. */
import {
  ENDLESS_MS,
  type Gap,
  hasWindow,
  type Span,
  type WindowedMarket,
} from '#src/domain/coverage.ts'
import { type Coin, coins, outcomes, type Timeframe } from '#src/domain/market.ts'
import { overlapOf } from '#src/domain/spans.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { cacheDays } from '#src/history/reads/day-cache.ts'
import { type MarketLists, marketPages } from '#src/history/reads/market-pages.ts'
import { seriesOf } from '#src/history/reads/with-downtime.ts'

import { incidentCauses } from './schema.ts'

type Cause = (typeof incidentCauses)[number]
type History = MarketLists & Pick<MarketHistory, 'gaps' | 'cursorKey' | 'silentSinceMs'>

/** Markets of one coin and timeframe with a gap from an incident. */
export type Affected = {
  coin: Coin
  timeframe: Timeframe
  markets: number
  firstWindowMs: number
  lastWindowMs: number
}
/** `toMs` is `ENDLESS_MS` while the incident lasts. */
export type Incident = Span & { cause: Cause; affected: readonly Affected[] }

/** A gap of a market that is part of an outage. */
type Piece = Span & { cause: Cause; market: WindowedMarket }

const BLOCK = 100
/** Shorter outages are gaps but not incidents. */
const INCIDENT_MS_MIN = 5_000
/**
 * A gap begins after the last state of its market, so gaps of one outage begin at different times.
 */
const APART_MS = 1_000
/** The longest window, plus half a day for states outside it. */
const REACH_MS = 1.5 * DAY_MS

/** Incidents that overlap a range, newest first. */
export function listIncidents(history: History, range: Span, nowMs: number): Incident[] {
  const fromMs = Math.max(0, range.fromMs - REACH_MS)
  const pieces: Piece[] = []
  for (let startMs = fromMs - (fromMs % DAY_MS); startMs < range.toMs; startMs += DAY_MS)
    pieces.push(...readPieces(history, { startMs }, nowMs))
  const silentMs = history.silentSinceMs?.()
  return incidentCauses
    .flatMap((cause) => joinPieces(pieces.filter((piece) => piece.cause === cause)))
    .map((incident) => withOpenEnd(incident, silentMs))
    .filter(({ fromMs: beginMs, toMs }) => beginMs < range.toMs && toMs > range.fromMs)
    .filter((incident) => incident.toMs - incident.fromMs >= INCIDENT_MS_MIN)
    .sort((a, b) => b.fromMs - a.fromMs || Number(a.cause > b.cause) - Number(a.cause < b.cause))
}

/** A silent recorder learns of no further windows, so no gap is known after the last of them. */
const withOpenEnd = (incident: Incident, silentMs = Number.POSITIVE_INFINITY): Incident =>
  incident.cause === 'recorder_down' && incident.toMs >= silentMs
    ? { ...incident, toMs: ENDLESS_MS }
    : incident

const windowOf = ({ windowStartMs, windowEndMs }: WindowedMarket): Span => ({
  fromMs: windowStartMs,
  toMs: windowEndMs,
})

/**
 * The pieces of the windows that begin on a day. What a window lacks before its start is left out:
 * it becomes known when the window begins, and an incident that is known keeps its start.
 */
const readPieces = cacheDays(
  (history: History, { startMs }: { startMs: number }, nowMs): Piece[] => {
    const range = { fromMs: startMs, toMs: startMs + DAY_MS }
    const windows = coins
      .flatMap((coin) => {
        const query = { coin, source: 'recorded', ...range, order: 'asc', limit: BLOCK } as const
        return [...marketPages(history, query)].flat()
      })
      .filter(hasWindow)
    const gaps = new Map(windows.map((market) => [market, history.gaps(market)]))
    const pieces: Piece[] = []
    for (const [market, own] of gaps) {
      const window = windowOf(market)
      const isOver = nowMs >= window.toMs
      for (const gap of own) {
        const { reason } = gap
        if (reason !== 'recorder_down' && reason !== 'venue_restart') continue
        const { fromMs, toMs } = overlapOf(gap, window)
        if (toMs <= fromMs) continue
        const isEndless = !isOver && gap.toMs === ENDLESS_MS
        pieces.push({ cause: reason, fromMs, toMs: isEndless ? ENDLESS_MS : toMs, market })
      }
    }
    return [...pieces, ...silentPieces(gaps, nowMs)]
  },
)

/** A moment at which an outcome becomes open or silent, or stops being so. */
type Turn = { atMs: number; open: number; silent: number }

/** Gaps of markets while every recorded and open outcome is silent, of at least two markets. */
function silentPieces(gaps: ReadonlyMap<WindowedMarket, readonly Gap[]>, nowMs: number): Piece[] {
  const turns: Turn[] = []
  const silent: Piece[] = []
  for (const [market, own] of gaps) {
    const window = windowOf(market)
    for (const outcome of outcomes) {
      const firstMs = market.spans[outcome]?.firstMs
      if (firstMs === undefined) continue
      const open = overlapOf({ fromMs: firstMs, toMs: nowMs }, window)
      if (open.toMs <= open.fromMs) continue
      turns.push(
        { atMs: open.fromMs, open: 1, silent: 0 },
        { atMs: open.toMs, open: -1, silent: 0 },
      )
      for (const gap of own) {
        if (gap.outcome !== outcome || gap.reason !== 'venue_silent') continue
        const { fromMs, toMs } = overlapOf(gap, open)
        if (toMs <= fromMs) continue
        turns.push({ atMs: fromMs, open: 0, silent: 1 }, { atMs: toMs, open: 0, silent: -1 })
        silent.push({ cause: 'venue_silent', fromMs, toMs, market })
      }
    }
  }
  return silentSpans(turns).flatMap((span) => {
    const within = silent
      .map((piece) => ({ ...piece, ...overlapOf(piece, span) }))
      .filter(({ fromMs, toMs }) => toMs > fromMs)
      // It may go on: more is not known yet.
      .map((piece) => (piece.toMs === nowMs ? { ...piece, toMs: ENDLESS_MS } : piece))
    return new Set(within.map(({ market }) => market)).size > 1 ? within : []
  })
}

/** Spans in which every open outcome is silent. */
function silentSpans(turns: Turn[]): Span[] {
  const spans: Span[] = []
  let open = 0
  let silent = 0
  let fromMs: number | undefined
  const byTime = Map.groupBy(turns, ({ atMs }) => atMs)
  for (const atMs of [...byTime.keys()].sort((a, b) => a - b)) {
    for (const turn of byTime.get(atMs) ?? []) {
      open += turn.open
      silent += turn.silent
    }
    const isSilent = open > 0 && silent === open
    if (isSilent) fromMs ??= atMs
    else if (fromMs !== undefined) {
      spans.push({ fromMs, toMs: atMs })
      fromMs = undefined
    }
  }
  return spans
}

/** Joins adjacent pieces with the same cause. */
function joinPieces(pieces: readonly Piece[]): Incident[] {
  const incidents: (Span & { cause: Cause; markets: Set<WindowedMarket> })[] = []
  for (const { cause, fromMs, toMs, market } of pieces.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = incidents.at(-1)
    if (last === undefined || fromMs > last.toMs + APART_MS)
      incidents.push({ cause, fromMs, toMs, markets: new Set([market]) })
    else {
      last.markets.add(market)
      incidents[incidents.length - 1] = { ...last, toMs: Math.max(last.toMs, toMs) }
    }
  }
  return incidents.map(({ markets, ...incident }) => ({
    ...incident,
    affected: groupBySeries(markets),
  }))
}

const groupBySeries = (markets: ReadonlySet<WindowedMarket>): Affected[] =>
  [...Map.groupBy(markets, seriesOf).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const startsMs = group.map(({ windowStartMs }) => windowStartMs)
    const { coin, timeframe } = first
    return {
      coin,
      timeframe,
      markets: group.length,
      firstWindowMs: Math.min(...startsMs),
      lastWindowMs: Math.max(...startsMs),
    }
  })

export const isGoingOn = ({ toMs }: Incident): boolean => toMs === ENDLESS_MS
