/**
 * Keeps the gaps of books that contradict their hash: each from its own millisecond to the next
 * verified book of its outcome. A market without such a book costs nothing; one whose rows come in
 * order, a look at the new ones.
 */
import { ENDLESS_MS, type Span } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'

import { type GapTable, ownerOf, type OwnGap } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-row.ts'
import type { MarketTimes, RowChange } from './coverage.ts'
import { type OutcomeTally, VerdictTally } from './tallies.ts'

type Tables = { gaps: GapTable; times: MarketTimes }

export function createVerdictGaps({ gaps, times }: Tables) {
  function updateOutcome(market: StoredMarket, outcome: Outcome, change: RowChange): void {
    const isOwn = (row: { outcome: Outcome }): boolean => row.outcome === outcome
    const rows = change.rows.filter(isOwn)
    const isContradicted = rows.some(({ isVerified }) => isVerified === false)
    // Every contradicted row that is held has a gap.
    if (!isContradicted && market.gapRevision === 0) return
    const owner = ownerOf(market, outcome, 'verdict')
    const last = gaps.lastDerived(owner)
    if (!isContradicted && last === undefined) return
    const heldMs = market.spans[outcome]?.lastMs ?? -1
    if (change.gone.some(isOwn) || !rows.every(({ timestampMs }) => timestampMs > heldMs)) {
      const { verdicts } = times.scan(market)[outcome]
      gaps.replaceDerived(owner, gaps.derived(owner), withReason(verdicts.gaps))
      return
    }
    const open = last?.toMs === ENDLESS_MS ? [last] : []
    const tally = new VerdictTally(open[0]?.fromMs)
    for (const { timestampMs, isVerified } of rows) tally.add(timestampMs, isVerified)
    gaps.replaceDerived(owner, open, withReason(tally.gaps))
  }

  return {
    /** Brings the gaps up to date after a change; `market` is as it was before. */
    update(market: StoredMarket, change: RowChange): void {
      for (const outcome of outcomes) updateOutcome(market, outcome, change)
    },

    /** Puts what was found by looking at a whole market. */
    derive(market: Market, found: Record<Outcome, OutcomeTally>): void {
      for (const outcome of outcomes) {
        const owner = ownerOf(market, outcome, 'verdict')
        const now = withReason(found[outcome].verdicts.gaps)
        gaps.replaceDerived(owner, gaps.derived(owner), now)
      }
    },
  }
}

const withReason = (spans: readonly Span[]): OwnGap[] =>
  spans.map((span) => ({ ...span, reason: 'hash_mismatch' }))
