/** A market that is followed: up to where it was written, and what is known of it. */
import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import { factsText, type Market, type MarketStatus, statusOf } from '#src/domain/market.ts'
import type { Position } from '#src/domain/snapshot.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import { takenBack } from '#src/live/gaps.ts'
import type { Hub } from '#src/live/hub.ts'
import type { RowFilter } from '#src/live/rows.ts'

export type LegPorts = {
  /** As streams tell them; the same list as long as it is true. */
  gaps: (market: Market) => readonly Gap[]
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
  /** What was known of it when the last event told. */
  facts: string
  /** Those of which all were written, if any, and those that need not be written, by their data. */
  gaps: readonly Gap[] | undefined
  known: ReadonlyMap<string, Gap>
}

type LegStart = { market: Market; at: Position | undefined; filter: RowFilter }

/** After `at`, or after the last row where it is undefined. */
export function createLeg({ gaps, hub, clock }: LegPorts, { market, at, filter }: LegStart): Leg {
  const end = at ?? hub.endOf(market, filter)
  const over = gaps(market).filter(({ toMs }) => toMs <= end.timestampMs)
  return {
    ...{ market, at: end, revision: undefined, gaps: undefined },
    status: at === undefined ? statusOf(market, clock()) : 'open',
    known: byText(market, over),
    facts: factsText(market),
  }
}

/** Gaps that were not written yet, in order of time. */
export function unwrittenGaps(leg: Leg, ports: LegPorts): Gap[] {
  const gaps = ports.gaps(leg.market)
  if (gaps === leg.gaps) return []
  leg.gaps = undefined
  return gaps.filter((gap) => !leg.known.has(gapText(leg.market, gap)))
}

/** The data of the event of a gap, which is written with it. */
export function takeGap(leg: Leg, gap: Gap): string {
  const text = gapText(leg.market, gap)
  // Others may hold the map from when they were in one lane.
  leg.known = new Map(leg.known).set(text, gap)
  return text
}

/** Names and data of the events of what has changed besides rows. */
export function* changesOf(
  leg: Leg,
  { clock, describeMarket, ...ports }: LegPorts,
): Generator<[name: string, json: string]> {
  const { market } = leg
  const status = statusOf(market, clock())
  const isTold = status !== leg.status && status !== 'upcoming'
  const facts = factsText(market)
  if (isTold) yield [`market_${status}`, describeMarket(market)]
  else if (facts !== leg.facts) yield ['market_update', describeMarket(market)]
  leg.status = status
  leg.facts = facts
  const gaps = ports.gaps(market)
  if (gaps === leg.gaps) return
  const now = byText(market, gaps)
  for (const gap of takenBack(leg.known.values(), gaps)) yield ['gap', gapText(market, gap)]
  for (const text of now.keys()) if (!leg.known.has(text)) yield ['gap', text]
  leg.gaps = gaps
  leg.known = now
}

const gapText = ({ conditionId }: Market, { outcome, fromMs, toMs, reason }: Gap): string =>
  JSON.stringify({
    ...{ conditionId, outcome, reason, from: toIso(fromMs) },
    to: toMs === ENDLESS_MS ? null : toIso(toMs),
  })

const byText = (market: Market, gaps: readonly Gap[]): Map<string, Gap> =>
  new Map(gaps.map((gap) => [gapText(market, gap), gap]))
