/** What changed of a market after it could be served, and why. */
import type { Coin, MarketFacts, Timeframe } from './market.ts'
import type { TimeRange } from './time.ts'

/** What each means is said where it is documented: extensions/trust/schema.ts. */
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
] as const satisfies readonly (keyof MarketFacts)[]
type Fact = (typeof revisedFacts)[number]

/** As they are stored: times in Unix milliseconds, the tick in millionths. */
export type FactChange = { fact: Fact; before: string | number | null; after: FactChange['before'] }

/** What was changed, and in which time. */
export type MarketChange = TimeRange & {
  why: RevisionCause
  /** Snapshots or trades that were put in, that stayed under their id, and that are gone. */
  added?: number
  changed?: number
  removed?: number
  facts?: readonly FactChange[]
}

export type Revision = Required<Omit<MarketChange, 'fromMs' | 'toMs'>> & {
  id: number
  /** When it was written, by our clock. */
  atMs: number
  conditionId: string
  coin: Coin
  timeframe: Timeframe
  /** Of the market, as in lists. */
  orderMs: number
  /** Of the market after the change. */
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
