/** Changes of a market after it could be served, and their causes. */
import type { Coin, MarketFacts, Timeframe } from './market.ts'
import type { TimeRange } from './time.ts'

/** The causes are documented in extensions/trust/schema.ts. */
export const revisionCauses = [
  'late_rows',
  'imported',
  'late_trades',
  'fact_changed',
  'gap_noted',
  'gap_closed',
  'deleted',
] as const
type RevisionCause = (typeof revisionCauses)[number]

/** Facts that may become known, or be corrected, after a market was first served. */
export const revisedFacts = [
  'slug',
  'question',
  'windowStartMs',
  'windowEndMs',
  'winner',
  'winnerSource',
  'tickSize',
  'settlementRule',
  'strike',
  'strikeSource',
  'strikeMs',
  'finalPrice',
  'finalPriceSource',
  'finalPriceMs',
  'feeSchedule',
  'takerDelayMs',
  'orderAgeMs',
] as const satisfies readonly (keyof MarketFacts)[]
type Fact = (typeof revisedFacts)[number]

/** Stored values: times in Unix milliseconds, the tick in millionths. */
export type FactChange = { fact: Fact; before: string | number | null; after: FactChange['before'] }

/** A change, and the time range that it affects. */
export type MarketChange = TimeRange & {
  why: RevisionCause
  /** Snapshots or trades that were added, changed under the same id, and removed. */
  added?: number
  changed?: number
  removed?: number
  facts?: readonly FactChange[]
}

export type Revision = Required<Omit<MarketChange, 'fromMs' | 'toMs'>> & {
  id: number
  /** Time of writing, by the server's clock. */
  atMs: number
  conditionId: string
  coin: Coin
  timeframe: Timeframe
  /** The market's sort key, as in lists. */
  orderMs: number
  /** The market's revision after the change. */
  revision: number
  fromMs: number | undefined
  toMs: number | undefined
}

export function factChanges(before: MarketFacts, after: MarketFacts): FactChange[] {
  return revisedFacts.flatMap((fact) => {
    const was = before[fact] ?? null
    const is = after[fact] ?? null
    return was === is ? [] : [{ fact, before: was, after: is }]
  })
}
