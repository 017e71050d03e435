/** Writes what a recorder received, in one transaction. */
import { ENDLESS_MS, type Span } from '#src/domain/coverage.ts'
import type { MarketChange } from '#src/domain/revision.ts'

import type { GapChange, Recording } from '../history.ts'
import { changing } from '../reads/market-read.ts'
import { ownerOf } from '../tables/gap-table.ts'
import { assertNearWindow, type StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { ApplyBatch } from './append.ts'

type Heard = Recording['trades'][number] | GapChange

type Ports = Pick<Tables, 'gaps' | 'markets' | 'trades'> & {
  applyBatch: ApplyBatch
  /** Throws `unknown_market`. */
  requireMarket: (conditionId: string, found: StoredMarket | undefined) => StoredMarket
  /** Shows that something besides the books was written; the result seals the market. */
  touch: (market: StoredMarket, changes: readonly MarketChange[]) => () => void
}

/** Returns the function that applies a recording; it needs a transaction around it. */
export function createRecord({ gaps, markets, trades, applyBatch, requireMarket, touch }: Ports) {
  /**
   * Whether it may change something. The market of a batch need not be read again for each statement
   * that a recorder has its book, as nearly all of them change nothing.
   */
  function mayChange(change: GapChange, market: StoredMarket | undefined): boolean {
    if (change.kind !== 'known' || market === undefined) return true
    if (market.gapRevision === 0) return false
    const last = gaps.last(ownerOf(market, change.outcome, 'recorded'), market.gapRevision)
    return last !== undefined && last.toMs > change.fromMs
  }

  /** `before`: the market without the rows of this recording. Returns how many rows were changed. */
  function apply(market: StoredMarket, before: StoredMarket, heard: GapChange): number {
    if (heard.kind === 'ended') return gaps.end(market.id, heard.outcome, heard.atMs)
    // The gaps follow once all is written.
    if (heard.kind === 'said') return 0
    if (heard.kind === 'known') return gaps.cut(market.id, heard.outcome, heard)
    if (heard.kind === 'unknown')
      return gaps.recordAfter(market.id, heard.gap, before.spans[heard.gap.outcome]?.lastMs ?? -1)
    return heard.kind === 'opened'
      ? gaps.record(market.id, [heard.gap])
      : gaps.withdraw(market.id, heard.gap)
  }

  return ({ source = 'recorded', isImport = false, snapshots, ...beside }: Recording) => {
    const gapReason = isImport ? undefined : ('venue_silent' as const)
    const { counts, before } = applyBatch({ id: '', source, gapReason, snapshots })
    const gapChanges = beside.gaps.filter((change) =>
      // What an import knows is `said`.
      isImport ? change.kind !== 'known' : mayChange(change, before.get(change.conditionId)),
    )
    const heard: Heard[] = [...beside.trades, ...gapChanges]
    const asked = [...Map.groupBy(heard, (each) => each.conditionId)].map(([conditionId, own]) => ({
      conditionId,
      own,
      find: markets.find.later(conditionId),
    }))
    const known = asked.map(({ conditionId, own, find }) =>
      changing(conditionId, () => {
        const market = requireMarket(conditionId, find())
        const traded = own.flatMap((each) => ('trade' in each ? [each.trade] : []))
        for (const { timestampMs } of traded) assertNearWindow(market, timestampMs)
        return { conditionId, market, own, traded }
      }),
    )
    const added = trades.insert(
      known.flatMap(({ market, traded }) =>
        traded.map((trade) => ({ marketId: market.id, trade })),
      ),
    )
    const seals = known.flatMap(({ conditionId, market, own }) =>
      changing(conditionId, () => {
        const changed = own.filter((each) =>
          'trade' in each
            ? added.has(each.trade)
            : apply(market, before.get(conditionId) ?? market, each) > 0,
        )
        if (changed.length === 0) return []
        return [{ conditionId, seal: touch(market, describe(market, changed)) }]
      }),
    )
    for (const { conditionId, seal } of seals) changing(conditionId, seal)
    return counts
  }
}

/** What of it changes what was served before. */
function describe(market: StoredMarket, heard: readonly Heard[]): MarketChange[] {
  const trades = heard.filter((each) => 'trade' in each)
  const gapSpans = (isNoted: boolean) =>
    heard.flatMap((each) =>
      'trade' in each || isNote(each) !== isNoted ? [] : [spanOfChange(each)],
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

const isNote = ({ kind }: GapChange): boolean => kind === 'opened' || kind === 'unknown'

function spanOfChange(change: GapChange): Span {
  if (change.kind === 'ended') return { fromMs: change.atMs, toMs: ENDLESS_MS }
  if (change.kind === 'known') return { fromMs: change.fromMs, toMs: ENDLESS_MS }
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
