/** Writes what a recorder received, in one transaction. */
import { ENDLESS_MS, type Span } from '#src/domain/coverage.ts'
import type { MarketChange } from '#src/domain/revision.ts'

import type { Batch, GapChange, Recording } from '../history.ts'
import { changing } from '../reads/market-read.ts'
import { assertNearWindow, type StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'

type Heard = Recording['trades'][number] | GapChange

type Ports = Pick<Tables, 'gaps' | 'trades'> & {
  applyBatch: (batch: Batch) => { accepted: number; duplicates: number }
  getMarket: (conditionId: string) => StoredMarket
  /** Shows that something besides the books was written. */
  touch: (market: StoredMarket, changes: readonly MarketChange[]) => void
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
    // The gaps follow once all is written.
    if (heard.kind === 'said') return 0
    return heard.kind === 'opened'
      ? gaps.record(market.id, [heard.gap])
      : gaps.withdraw(market.id, heard.gap)
  }

  return ({ source = 'recorded', isImport = false, snapshots, ...beside }: Recording) => {
    const gapReason = isImport ? undefined : ('venue_silent' as const)
    const counts = applyBatch({ id: '', source, gapReason, snapshots })
    const heard: Heard[] = [...beside.trades, ...beside.gaps]
    for (const [conditionId, own] of Map.groupBy(heard, (each) => each.conditionId)) {
      changing(conditionId, () => {
        const market = getMarket(conditionId)
        const changed = own.filter((each) => apply(market, each) > 0)
        if (changed.length > 0) touch(market, describe(market, changed))
      })
    }
    return counts
  }
}

/** What of it changes what was served before. */
function describe(market: StoredMarket, heard: readonly Heard[]): MarketChange[] {
  const trades = heard.filter((each) => 'trade' in each)
  const gapSpans = (isNoted: boolean) =>
    heard.flatMap((each) =>
      'trade' in each || (each.kind === 'opened') !== isNoted ? [] : [spanOfChange(each)],
    )
  return [
    ...lateTrades(market, trades.length),
    ...([true, false] as const).flatMap((isNoted) => {
      const spans = gapSpans(isNoted)
      const why = isNoted ? ('gap_noted' as const) : ('gap_closed' as const)
      return spans.length === 0 ? [] : [{ why, ...spanOfGaps(spans) }]
    }),
  ]
}

function spanOfChange(change: GapChange): Span {
  if (change.kind === 'ended') return { fromMs: change.atMs, toMs: ENDLESS_MS }
  return change.kind === 'said' ? change.statement : change.gap
}

/** From the first to the last; without an end where one has none. */
export function spanOfGaps(gaps: readonly Span[]): Pick<MarketChange, 'fromMs' | 'toMs'> {
  const toMs = Math.max(...gaps.map((gap) => gap.toMs))
  return {
    fromMs: Math.min(...gaps.map((gap) => gap.fromMs)),
    toMs: toMs === ENDLESS_MS ? undefined : toMs,
  }
}

/** While a market is recorded, trades are what it gains. */
export const lateTrades = ({ isClosed }: StoredMarket, added: number): MarketChange[] =>
  isClosed ? [{ why: 'late_trades', added }] : []
