/** A market that is followed: up to where it was written, and what is known of it. */
import { ENDLESS_MS, type Gap } from '#src/core/coverage.ts'
import { type Market, type MarketStatus, statusOf } from '#src/core/market.ts'
import type { Position } from '#src/core/snapshot.ts'
import { type Clock, toIso } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Hub } from '#src/live/hub.ts'
import type { RowFilter } from '#src/live/rows.ts'

export type LegPorts = {
  history: MarketHistory
  hub: Hub
  clock: Clock
  describeMarket: (market: Market) => string
}

export type Leg = {
  market: Market
  /** Everything up to here, inclusive, was written. */
  at: Position
  /** That of which everything was written. */
  revision: number | undefined
  status: MarketStatus
  /** Those of which all were written, if any, and those that need not be written. */
  gaps: readonly Gap[] | undefined
  known: ReadonlySet<string>
}

type LegStart = { market: Market; at: Position | undefined; filter: RowFilter }

/** After `at`, or after the last row where it is undefined. */
export function createLeg(
  { history, hub, clock }: LegPorts,
  { market, at, filter }: LegStart,
): Leg {
  const end = at ?? hub.endOf(market, filter)
  const over = history.gaps(market).filter(({ toMs }) => toMs <= end.timestampMs)
  return {
    ...{ market, at: end, revision: undefined, gaps: undefined },
    status: at === undefined ? statusOf(market, clock()) : 'open',
    known: new Set(over.map((gap) => gapText(market, gap))),
  }
}

/** Gaps that were not written yet, in order of time. */
export function unwrittenGaps(leg: Leg, { history }: LegPorts): Gap[] {
  const gaps = history.gaps(leg.market)
  if (gaps === leg.gaps) return []
  leg.gaps = undefined
  return gaps.filter((gap) => !leg.known.has(gapText(leg.market, gap)))
}

/** The data of the event of a gap, which is written with it. */
export function takeGap(leg: Leg, gap: Gap): string {
  const text = gapText(leg.market, gap)
  // Others may hold the set from when they were in one lane.
  leg.known = new Set(leg.known).add(text)
  return text
}

/** Names and data of the events of what has changed besides rows. */
export function* changesOf(
  leg: Leg,
  { history, clock, describeMarket }: LegPorts,
): Generator<[name: string, json: string]> {
  const { market } = leg
  const status = statusOf(market, clock())
  if (status !== leg.status && status !== 'upcoming')
    yield [`market_${status}`, describeMarket(market)]
  leg.status = status
  const gaps = history.gaps(market)
  if (gaps === leg.gaps) return
  const now = new Set(gaps.map((gap) => gapText(market, gap)))
  for (const gap of now.difference(leg.known)) yield ['gap', gap]
  leg.gaps = gaps
  leg.known = now
}

const gapText = ({ conditionId }: Market, { outcome, fromMs, toMs, reason }: Gap): string =>
  JSON.stringify({
    ...{ conditionId, outcome, reason, from: toIso(fromMs) },
    to: toMs === ENDLESS_MS ? null : toIso(toMs),
  })
