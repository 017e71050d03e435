/**
 * What follows from the times and verdicts of a market's snapshots: when each outcome was first and last
 * seen, its longest silence, how many books were verified, and its derived gaps. Rows behind the last one of their outcome cost a comparison
 * each; rows among others are looked at together with their neighbours, in the columns of the chunks.
 */
import { type GapReason, silenceMs, type Span } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'
import type { StoredSnapshot } from '#src/core/snapshot.ts'

import { outcomeCodes } from '../codec/chunk.ts'
import { createMarketTimes } from '../reads/market-times.ts'
import type { ChunkTable } from '../tables/chunk-table.ts'
import { gapKinds, type GapOwner, type GapTable, type Silence } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-row.ts'
import type { TailTable } from '../tables/tail-table.ts'
import type { GoneRow } from './arrivals.ts'
import { SilenceTally } from './silence-tally.ts'
import { createVerdicts } from './verdicts.ts'

type Tables = { chunks: ChunkTable; tails: TailTable; gaps: GapTable }

/**
 * Rows that were put in and taken out; ids from `firstNewId` on are of no row before. Of what is taken out something
 * of its time and outcome is left.
 */
export type RowChange = {
  rows: readonly StoredSnapshot[]
  gone: readonly GoneRow[]
  firstNewId: number
}

/** New rows of one outcome, all of them stored already. */
type Addition = {
  /** Of the rows behind those held before. */
  tally: SilenceTally
  count: number
  /** Before the addition; undefined when nothing was held. */
  held: { firstMs: number; lastMs: number } | undefined
  /** Times of the rows among those held before; both inclusive. */
  late: Span | undefined
}

/** What a late addition is looked at with. */
type Context = { owner: GapOwner; quietMs: number; reason: GapReason; change: RowChange }

/** Keeps spans, silences and derived gaps true. Both verbs need a transaction around them. */
export function createSilences({ gaps, ...tables }: Tables) {
  const times = createMarketTimes(tables)
  const verdicts = createVerdicts({ gaps, times })

  /** Derives the gaps around late rows anew; returns the longest silence there, with and without them. */
  function mergeGaps(late: Span, { owner, quietMs, reason, change }: Context) {
    const now = new SilenceTally(quietMs)
    const before = new SilenceTally(quietMs)
    const timesBefore = change.gone
      .filter(({ outcome }) => outcomeCodes[outcome] === owner.outcome)
      .map(({ timestampMs }) => timestampMs)
    for (const run of times.around(owner, late)) {
      for (let row = 0; row < run.count; row++) {
        if (run.outcome(row) !== owner.outcome) continue
        now.add(run.timeMs(row))
        if (run.id(row) < change.firstNewId) timesBefore.push(run.timeMs(row))
      }
    }
    for (const timeMs of timesBefore.sort((a, b) => a - b)) before.add(timeMs)
    const known = gaps.derived(owner, { fromMs: now.firstMs, toMs: now.lastMs })
    const made = inherit(now.gaps, { known, reason })
    const gone = without(known, made)
    gaps.replaceDerived(owner, gone, without(made, known))
    return { nowMs: now.longestMs, beforeMs: before.longestMs }
  }

  /** Stores the derived gaps of an addition and returns the outcome's longest silence. */
  function apply(market: Market, addition: Addition, context: Context): number | undefined {
    const { owner, reason } = context
    const { tally, late } = addition
    const { longestMs } = tally
    const fresh = tally.gaps.map((gap) => ({ ...gap, reason }))
    gaps.replaceDerived(owner, [], fresh)
    if (late === undefined) return positiveOf(tally)
    const { nowMs, beforeMs } = mergeGaps(late, context)
    // The longest one lies elsewhere, or there is a longer one here.
    if (beforeMs < longestMs || nowMs >= longestMs) return Math.max(longestMs, nowMs)
    const outcome = outcomes[owner.outcome] ?? 'up'
    return gaps.longestDerived(owner) ?? times.scan(market)[outcome].silences.longestMs
  }

  return {
    /** Returns what is held of a market after a change; its rows are in order and not empty. */
    add(market: StoredMarket, change: RowChange, reason: GapReason): Market {
      const { rows } = change
      const quietMs = silenceMs(market.timeframe)
      const { up, down } = sortOut(market, rows, quietMs)
      const longest = (outcome: Outcome, addition: Addition): number | undefined => {
        const owner = ownerOf(market, outcome)
        if (addition.count === 0) return market.longestSilenceMs[outcome]
        return apply(market, addition, { owner, quietMs, reason, change })
      }
      const longestSilenceMs = { up: longest('up', up), down: longest('down', down) }
      verdicts.update(market, change)
      const spans = { up: spanOf(up), down: spanOf(down) }
      return { ...withTimes(market, rows), ...countsOf(market, change), spans, longestSilenceMs }
    },

    /** Derives everything again; `reason` is that of silences of which nothing was derived yet. */
    derive(market: Market, reason: GapReason): Market {
      const { up, down } = times.scan(market)
      for (const [outcome, { silences }] of Object.entries({ up, down }) as [
        Outcome,
        typeof up,
      ][]) {
        const owner = ownerOf(market, outcome)
        const known = gaps.derived(owner)
        const made = inherit(silences.gaps, { known, reason })
        gaps.replaceDerived(owner, without(known, made), without(made, known))
      }
      verdicts.derive(market, { up: up.verdicts, down: down.verdicts })
      return {
        ...market,
        verifiedCounts: { up: up.verdicts.verifiedCount, down: down.verdicts.verifiedCount },
        spans: { up: up.silences.span, down: down.silences.span },
        longestSilenceMs: { up: positiveOf(up.silences), down: positiveOf(down.silences) },
      }
    },
  }
}

const ownerOf = ({ id }: Market, outcome: Outcome): GapOwner => ({
  marketId: id,
  outcome: outcomeCodes[outcome],
  kind: gapKinds.silence,
})

export type Silences = ReturnType<typeof createSilences>

/** Which rows go on behind those of their outcome, and which lie among them. */
function sortOut(
  market: Market,
  rows: readonly StoredSnapshot[],
  quietMs: number,
): Record<Outcome, Addition> {
  const additions = {
    up: emptyAddition(market, 'up', quietMs),
    down: emptyAddition(market, 'down', quietMs),
  }
  for (const { outcome, timestampMs } of rows) {
    const addition = additions[outcome]
    addition.count++
    if (addition.held === undefined || timestampMs >= addition.held.lastMs)
      addition.tally.add(timestampMs)
    else addition.late = { fromMs: addition.late?.fromMs ?? timestampMs, toMs: timestampMs }
  }
  return additions
}

function emptyAddition(market: Market, outcome: Outcome, quietMs: number): Addition {
  const held = market.spans[outcome]
  const tally = new SilenceTally(quietMs)
  if (held !== undefined) tally.resume(held.lastMs, market.longestSilenceMs[outcome])
  return { tally, count: 0, held, late: undefined }
}

function countsOf(
  market: Market,
  { rows, gone }: RowChange,
): Pick<Market, 'snapshotCounts' | 'verifiedCounts'> {
  const snapshotCounts = { ...market.snapshotCounts }
  const verifiedCounts = { ...market.verifiedCounts }
  const count = (
    { outcome, isVerified }: Omit<GoneRow, 'id' | 'timestampMs'>,
    by: number,
  ): void => {
    snapshotCounts[outcome] += by
    if (isVerified === true) verifiedCounts[outcome] += by
  }
  for (const row of rows) count(row, 1)
  for (const row of gone) count(row, -1)
  return { snapshotCounts, verifiedCounts }
}

function withTimes(market: Market, rows: readonly StoredSnapshot[]): Market {
  const firstMs = rows[0]?.timestampMs ?? 0
  const lastMs = rows.at(-1)?.timestampMs ?? 0
  return {
    ...market,
    firstSnapshotMs: Math.min(firstMs, market.firstSnapshotMs ?? firstMs),
    lastSnapshotMs: Math.max(lastMs, market.lastSnapshotMs ?? lastMs),
  }
}

function spanOf({ tally, held, late }: Addition): { firstMs: number; lastMs: number } | undefined {
  if (tally.span === undefined) return undefined
  const { firstMs, lastMs } = tally.span
  return { firstMs: Math.min(held?.firstMs ?? firstMs, late?.fromMs ?? firstMs), lastMs }
}

const positiveOf = ({ longestMs }: SilenceTally): number | undefined =>
  longestMs < 0 ? undefined : longestMs

/** Gives each gap the reason of the known one that it is a part of. Both lists ascend and do not overlap. */
function inherit(
  gaps: readonly Span[],
  { known, reason }: { known: readonly Silence[]; reason: GapReason },
): Silence[] {
  let at = 0
  return gaps.map((gap) => {
    while ((known[at]?.toMs ?? Infinity) < gap.toMs) at++
    const whole = known[at]
    const isPart = whole !== undefined && whole.fromMs <= gap.fromMs
    return { ...gap, reason: isPart ? whole.reason : reason }
  })
}

/** Those of `gaps` that are not among `others`; no two of either begin together. */
function without(gaps: readonly Silence[], others: readonly Silence[]): Silence[] {
  const ends = new Map(others.map(({ fromMs, toMs }) => [fromMs, toMs]))
  return gaps.filter(({ fromMs, toMs }) => ends.get(fromMs) !== toMs)
}
