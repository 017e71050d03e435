/** Terms of trading in a market as of a moment: fees, delay and price increment. */
import { parseMillionths } from '#src/domain/decimal.ts'
import type { FeeTerms } from '#src/domain/fill.ts'
import type { FeeSchedule, Market } from '#src/domain/market.ts'
import type { FactChange } from '#src/domain/revision.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** The venue's delay for markets of coins, and its introduction. */
const COIN_DELAY_MS = 250
const COIN_DELAY_SINCE_MS = Date.UTC(2026, 5, 1)

export const costSources = ['request', 'market', 'venue', 'unknown', 'none'] as const
type CostSource = (typeof costSources)[number]

export type Fees = { terms: FeeTerms; schedule: FeeSchedule | undefined; source: CostSource }
export type Delay = { ms: number; source: CostSource }

type Revisions = Pick<MarketHistory, 'revisions'>

/**
 * The value of a fact as of a moment, from the log of changes. If the server learned the fact only
 * after the moment, the first known value counts.
 */
function factAsOf<Fact extends 'feeSchedule' | 'takerDelayMs' | 'tickSize'>(
  { revisions }: Revisions,
  market: Market,
  { fact, atMs }: { fact: Fact; atMs: number },
): Market[Fact] {
  const changes = revisions.factsOf(market.conditionId, atMs)
  const next = changes.flat().find((change: FactChange) => change.fact === fact)
  return ((next?.before ?? next?.after) as Market[Fact]) ?? market[fact]
}

/** The fees of the market as of a moment; `unknown` without a schedule in exact numbers. */
export function feesAsOf(history: Revisions, market: Market, atMs: number): Fees {
  const text = factAsOf(history, market, { fact: 'feeSchedule', atMs })
  const schedule = text === undefined ? undefined : (JSON.parse(text) as FeeSchedule)
  const value = schedule && parseMillionths(schedule.rate)
  const exponent = schedule && Number(schedule.exponent)
  const isExact = Number.isInteger(exponent) && Number(exponent) > 0 && Number(exponent) < 10
  if (value === undefined || exponent === undefined || !isExact)
    return { terms: { kind: 'bps', value: 0 }, schedule, source: 'unknown' }
  return { terms: { kind: 'rate', value, exponent }, schedule, source: 'market' }
}

/** The price increment of the market as of a moment; undefined if unknown. */
export const tickSizeAsOf = (history: Revisions, market: Market, atMs: number) =>
  factAsOf(history, market, { fact: 'tickSize', atMs })

/** Delay of the venue for taker orders, as of a moment. */
export function takerDelayAsOf(history: Revisions, market: Market, atMs: number): Delay {
  const stated = factAsOf(history, market, { fact: 'takerDelayMs', atMs })
  if (stated !== undefined) return { ms: stated, source: 'market' }
  return market.source === 'recorded' && atMs >= COIN_DELAY_SINCE_MS
    ? { ms: COIN_DELAY_MS, source: 'venue' }
    : { ms: 0, source: 'none' }
}
