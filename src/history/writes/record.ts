/** Writes the received rows of a recorder in one transaction. */

import { ENDLESS_MS, type Span } from '#src/domain/coverage.ts'
import type { Market } from '#src/domain/market.ts'
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
  /** Raises the revision after a change of data other than books. */
  touch: (market: Market, changes: readonly MarketChange[]) => void
}

/** Creates the function that applies a recording; it needs a transaction. */
export function createRecord(ports: Ports) {
  const { gaps, markets, trades, applyBatch, requireMarket, touch } = ports

  /**
   * True if the statement may change something: nearly all statements that a recorder has a book do
   * not.
   */
  function mayChange(change: GapChange, market: StoredMarket): boolean {
    if (change.kind !== 'known') return true
    const last = gaps.last(ownerOf(market, change.outcome, 'recorded'), market.gapRevision)
    return last !== undefined && last.toMs > change.fromMs
  }

  /**
   * Applies a gap change; `before` is the market without the rows of this recording. Returns the
   * number of changed rows.
   */
  function apply(market: Market, before: Market, heard: GapChange): number {
    if (heard.kind === 'ended') return gaps.end(market.id, heard.outcome, heard.atMs)
    // The gaps are derived after everything is written.
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
    const { counts, markets: applied } = applyBatch({ id: '', source, gapReason, snapshots })
    const all: Heard[] = [...beside.trades, ...beside.gaps]
    const known = [...Map.groupBy(all, (each) => each.conditionId)].map(([conditionId, own]) =>
      changing(conditionId, () => {
        const inBatch = applied.get(conditionId)
        const before = inBatch?.before ?? requireMarket(conditionId, markets.find(conditionId))
        const now = inBatch?.now ?? before
        const traded = own.flatMap((each) => ('trade' in each ? [each.trade] : []))
        for (const { timestampMs } of traded) assertNearWindow(now, timestampMs)
        const heard = own.filter(
          (each) =>
            'trade' in each ||
            // `said` has the periods that an import knows.
            (!(isImport && each.kind === 'known') && mayChange(each, before)),
        )
        return { before, now, heard, traded }
      }),
    )
    const added = trades.insert(
      known.flatMap(({ now, traded }) => traded.map((trade) => ({ marketId: now.id, trade }))),
    )
    for (const { before, now, heard } of known)
      changing(now.conditionId, () => {
        const changed = heard.filter((each) =>
          'trade' in each ? added.has(each.trade) : apply(now, before, each) > 0,
        )
        if (changed.length > 0) touch(now, describe(now, changed))
      })
    return counts
  }
}

/** The changes of data that was served before. */
function describe(market: Market, heard: readonly Heard[]): MarketChange[] {
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

/** The span from the first to the last gap; without an end if one of them has none. */
export function spanOfGaps(gaps: readonly Span[]): Pick<MarketChange, 'fromMs' | 'toMs'> {
  const toMs = Math.max(...gaps.map((gap) => gap.toMs))
  return {
    fromMs: Math.min(...gaps.map((gap) => gap.fromMs)),
    toMs: toMs === ENDLESS_MS ? undefined : toMs,
  }
}

/** Trades are expected while a market is recorded, so only later ones are changes. */
export const lateTrades = ({ isClosed }: Market, added: number): MarketChange[] =>
  isClosed ? [{ why: 'late_trades', added }] : []
