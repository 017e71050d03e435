/** Writes what a recorder received, in one transaction. */

import { withLater } from '#src/database/database.ts'
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

type Ports = Pick<Tables, 'gaps' | 'markets' | 'revisions' | 'trades'> & {
  applyBatch: ApplyBatch
  /** Throws `unknown_market`. */
  requireMarket: (conditionId: string, found: StoredMarket | undefined) => StoredMarket
  /** Shows that something besides the books was written. */
  touch: (market: Market, changes: readonly MarketChange[]) => void
}

/** Returns the function that applies a recording; it needs a transaction around it. */
export function createRecord(ports: Ports) {
  const { gaps, markets, revisions, trades, applyBatch, requireMarket, touch } = ports

  /** Whether it may change something: nearly all statements that a recorder has a book do not. */
  const mayChange = withLater((change: GapChange, market: StoredMarket) => {
    if (change.kind !== 'known') return () => true
    const owner = ownerOf(market, change.outcome, 'recorded')
    const find = gaps.last.later(owner, market.gapRevision)
    return (): boolean => {
      const last = find()
      return last !== undefined && last.toMs > change.fromMs
    }
  })

  /** `before`: the market without the rows of this recording. Returns how many rows were changed. */
  function apply(market: Market, before: Market, heard: GapChange): number {
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
    const applyLater = applyBatch.later({ id: '', source, gapReason, snapshots })
    const all: Heard[] = [...beside.trades, ...beside.gaps]
    const withBooks = new Set(snapshots.map(({ conditionId }) => conditionId))
    const asked = [...Map.groupBy(all, (each) => each.conditionId)].map(([conditionId, own]) => ({
      conditionId,
      own,
      find: withBooks.has(conditionId) ? undefined : markets.find.later(conditionId),
    }))
    if (beside.trades.length > 0) trades.later()
    if (beside.gaps.length > 0) revisions.later()
    const { counts, markets: applied } = applyLater()
    const known = asked.map(({ conditionId, own, find }) =>
      changing(conditionId, () => {
        const inBatch = applied.get(conditionId)
        const before = inBatch?.before ?? requireMarket(conditionId, find?.())
        const now = inBatch?.now ?? before
        const traded = own.flatMap((each) => ('trade' in each ? [each.trade] : []))
        for (const { timestampMs } of traded) assertNearWindow(now, timestampMs)
        const parts = own
          // What an import knows is `said`.
          .filter((each) => 'trade' in each || !isImport || each.kind !== 'known')
          .map((each) => ({
            each,
            isNeeded: 'trade' in each ? () => true : mayChange.later(each, before),
          }))
        return { before, now, parts, traded }
      }),
    )
    const needed = known.map(({ before, now, parts }) =>
      changing(now.conditionId, () => {
        const heard = parts.filter(({ isNeeded }) => isNeeded()).map(({ each }) => each)
        return { before, now, heard }
      }),
    )
    const added = trades.insert(
      known.flatMap(({ now, traded }) => traded.map((trade) => ({ marketId: now.id, trade }))),
    )
    for (const { before, now, heard } of needed)
      changing(now.conditionId, () => {
        const changed = heard.filter((each) =>
          'trade' in each ? added.has(each.trade) : apply(now, before, each) > 0,
        )
        if (changed.length > 0) touch(now, describe(now, changed))
      })
    return counts
  }
}

/** What of it changes what was served before. */
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

/** From the first to the last; without an end where one has none. */
export function spanOfGaps(gaps: readonly Span[]): Pick<MarketChange, 'fromMs' | 'toMs'> {
  const toMs = Math.max(...gaps.map((gap) => gap.toMs))
  return {
    fromMs: Math.min(...gaps.map((gap) => gap.fromMs)),
    toMs: toMs === ENDLESS_MS ? undefined : toMs,
  }
}

/** While a market is recorded, trades are what it gains. */
export const lateTrades = ({ isClosed }: Market, added: number): MarketChange[] =>
  isClosed ? [{ why: 'late_trades', added }] : []
