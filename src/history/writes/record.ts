/** What a recorder heard, in one transaction. */
import type { Batch, GapChange, Recording } from '../history.ts'
import { changing } from '../reads/market-read.ts'
import { assertNearWindow, type StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'

type Heard = Recording['trades'][number] | GapChange

type Ports = Pick<Tables, 'gaps' | 'trades'> & {
  applyBatch: (batch: Batch) => { accepted: number; duplicates: number }
  getMarket: (conditionId: string) => StoredMarket
  /** Shows that something besides the books was written. */
  touch: (market: StoredMarket) => void
}

/** Returns the function that applies a recording; it needs a transaction around it. */
export function createRecord({ gaps, trades, applyBatch, getMarket, touch }: Ports) {
  /** Returns how many rows were changed. */
  function apply(market: StoredMarket, heard: Heard): number {
    if ('trade' in heard) {
      assertNearWindow(market, heard.trade.timestampMs)
      return trades.insert(market.id, [heard.trade])
    }
    if (heard.kind === 'ended') return gaps.end(market.id, heard.outcome, heard.atMs)
    if (heard.kind === 'filled') return gaps.fill(market.id, heard.outcome, heard)
    return heard.kind === 'opened'
      ? gaps.record(market.id, [heard.gap])
      : gaps.withdraw(market.id, heard.gap)
  }

  return ({ source = 'recorded', snapshots, ...beside }: Recording) => {
    const counts = applyBatch({ id: '', source, gapReason: 'venue_silent', snapshots })
    const heard: Heard[] = [...beside.trades, ...beside.gaps]
    for (const [conditionId, own] of Map.groupBy(heard, (each) => each.conditionId)) {
      changing(conditionId, () => {
        const market = getMarket(conditionId)
        const changed = own.map((each) => apply(market, each))
        if (changed.some((count) => count > 0)) touch(market)
      })
    }
    return counts
  }
}
