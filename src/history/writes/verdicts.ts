/**
 * Keeps the gaps of books that contradict their hash: each from its own millisecond to the next verified book of its
 * outcome. A market without such a book costs nothing; one whose rows come in order, a look at the new ones.
 */
import { ENDLESS_MS, type Span } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import type { MarketTimes } from '../reads/market-times.ts'
import { gapKinds, type GapOwner, type GapTable, type Silence } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-row.ts'
import type { RowChange } from './silences.ts'
import { VerdictTally } from './verdict-tally.ts'

type Tables = { gaps: GapTable; times: MarketTimes }

export function createVerdicts({ gaps, times }: Tables) {
  function replace(owner: GapOwner, known: readonly Silence[], now: readonly Span[]): void {
    const isIn = (list: readonly Span[], { fromMs, toMs }: Span): boolean =>
      list.some((gap) => gap.fromMs === fromMs && gap.toMs === toMs)
    const made = now
      .filter((gap) => !isIn(known, gap))
      .map((gap) => ({ ...gap, reason: 'hash_mismatch' as const }))
    const gone = known.filter((gap) => !isIn(now, gap))
    gaps.replaceDerived(owner, gone, made)
  }

  function updateOutcome(market: StoredMarket, outcome: Outcome, change: RowChange): void {
    const isOwn = (row: { outcome: Outcome }): boolean => row.outcome === outcome
    const rows = change.rows.filter(isOwn)
    const isContradicted = rows.some(({ isVerified }) => isVerified === false)
    // Every contradicted row that is held has a gap.
    if (!isContradicted && market.gapRevision === 0) return
    const owner = ownerOf(market, outcome)
    const last = gaps.lastDerived(owner)
    if (!isContradicted && last === undefined) return
    if (!isFresh(rows, market.spans[outcome]) || change.gone.some(isOwn)) {
      replace(owner, gaps.derived(owner), times.scan(market)[outcome].verdicts.gaps)
      return
    }
    const open = last?.toMs === ENDLESS_MS ? [last] : []
    const tally = new VerdictTally(open[0]?.fromMs)
    for (const { timestampMs, isVerified } of rows) tally.add(timestampMs, isVerified)
    replace(owner, open, tally.gaps)
  }

  return {
    /** Brings the gaps up to date after a change; `market` is as it was before. */
    update(market: StoredMarket, change: RowChange): void {
      for (const outcome of outcomes) updateOutcome(market, outcome, change)
    },

    /** Puts what was found by looking at a whole market. */
    derive(market: Market, found: Record<Outcome, VerdictTally>): void {
      for (const outcome of outcomes) {
        const owner = ownerOf(market, outcome)
        replace(owner, gaps.derived(owner), found[outcome].gaps)
      }
    },
  }
}

const isFresh = (rows: RowChange['rows'], held: { lastMs: number } | undefined): boolean =>
  rows.every(({ timestampMs }) => timestampMs > (held?.lastMs ?? -1))

const ownerOf = ({ id }: Market, outcome: Outcome): GapOwner => ({
  marketId: id,
  outcome: outcomeCodes[outcome],
  kind: gapKinds.contradiction,
})
