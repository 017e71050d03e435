/**
 * What follows from times and verdicts of a market's snapshots. A row after the last one of its
 * outcome costs a comparison; late rows are compared with their neighbours, in chunks' columns.
 */
import { ENDLESS_MS, type GapReason, silenceMs, type Span } from '#src/core/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/core/market.ts'
import type { StoredSnapshot } from '#src/core/snapshot.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import type { ReadBeside } from '../tables/chunk-table.ts'
import { type GapOwner, type GapTable, ownerOf, type OwnGap } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-row.ts'
import type { Tables } from '../tables/tables.ts'
import type { GoneRow } from './append.ts'
import { newOutcomeTallies, TimeTally, VerdictTally } from './tallies.ts'

/** Rows put in and taken out; ids from `firstNewId` on are of no row before. */
type RowChange = {
  rows: readonly StoredSnapshot[]
  gone: readonly GoneRow[]
  firstNewId: number
}

/** New rows of one outcome, all of them stored already. */
type Addition = {
  /** Of the rows after those held before. */
  tally: TimeTally
  count: number
  /** Before the addition; undefined when nothing was held. */
  held: { firstMs: number; lastMs: number } | undefined
  /** Times of the rows among those held before; both inclusive. */
  late: Span | undefined
}

/** What a late addition is merged with. */
type Context = { owner: GapOwner; quietMs: number; reason: GapReason; change: RowChange }

/** Keeps spans, counts, pauses and derived gaps true. Both verbs need a transaction around them. */
export function createCoverage(tables: Pick<Tables, 'chunks' | 'tails' | 'gaps'>) {
  const { gaps } = tables
  const times = createMarketTimes(tables)
  const updateVerdicts = createVerdictUpdate(gaps, times)

  /** Derives all gaps of a kind of an outcome again. */
  function rederive(owner: GapOwner, found: readonly Span[], reason: GapReason): void {
    const known = gaps.derived(owner)
    gaps.replaceDerived(owner, known, inherit(found, reason, known))
  }

  /** Derives the gaps around late rows; returns the longest pause there, with and without them. */
  function mergeGaps(late: Span, { owner, quietMs, reason, change }: Context) {
    const now = new TimeTally(quietMs)
    const before = new TimeTally(quietMs)
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
    gaps.replaceDerived(owner, known, inherit(now.gaps, reason, known))
    return { nowMs: now.longestMs, beforeMs: before.longestMs }
  }

  /** Stores the derived gaps of an addition and returns the outcome's longest pause. */
  function apply(market: Market, { tally, late }: Addition, context: Context): number | undefined {
    const { owner, reason } = context
    const { longestMs } = tally
    gaps.replaceDerived(owner, [], inherit(tally.gaps, reason))
    if (late === undefined) return tally.longest
    const { nowMs, beforeMs } = mergeGaps(late, context)
    // The longest one lies elsewhere, or there is a longer one here.
    if (beforeMs < longestMs || nowMs >= longestMs) return Math.max(longestMs, nowMs)
    const outcome = outcomes[owner.outcome] ?? 'up'
    return gaps.longestDerived(owner) ?? times.scan(market)[outcome].times.longestMs
  }

  return {
    /** Returns what is held of a market after a change; its rows are in order and not empty. */
    add(market: StoredMarket, change: RowChange, reason: GapReason): Market {
      const quietMs = silenceMs(market.timeframe)
      const { up, down } = sortOut(market, change.rows, quietMs)
      const longest = (outcome: Outcome, addition: Addition): number | undefined => {
        if (addition.count === 0) return market.longestSilenceMs[outcome]
        const owner = ownerOf(market, outcome, 'time')
        return apply(market, addition, { owner, quietMs, reason, change })
      }
      const longestSilenceMs = { up: longest('up', up), down: longest('down', down) }
      updateVerdicts(market, change)
      const spans = { up: spanOf(up), down: spanOf(down) }
      return { ...withHeld(market, change), spans, longestSilenceMs }
    },

    /** Derives everything again; `reason` is that of pauses of which nothing was derived yet. */
    derive(market: Market, reason: GapReason): Market {
      const found = times.scan(market)
      const { up, down } = found
      for (const outcome of outcomes) {
        const { times: own, verdicts } = found[outcome]
        rederive(ownerOf(market, outcome, 'time'), own.gaps, reason)
        rederive(ownerOf(market, outcome, 'verdict'), verdicts.gaps, 'hash_mismatch')
      }
      return {
        ...market,
        verifiedCounts: { up: up.verdicts.verifiedCount, down: down.verdicts.verifiedCount },
        spans: { up: up.times.span, down: down.times.span },
        longestSilenceMs: { up: up.times.longest, down: down.times.longest },
      }
    },
  }
}

export type Coverage = ReturnType<typeof createCoverage>

/** Which rows follow those of their outcome, and which lie among them. */
function sortOut(
  market: Market,
  rows: readonly StoredSnapshot[],
  quietMs: number,
): Record<Outcome, Addition> {
  const emptyAddition = (outcome: Outcome): Addition => {
    const held = market.spans[outcome]
    const tally = new TimeTally(quietMs)
    if (held !== undefined) tally.resume(held.lastMs, market.longestSilenceMs[outcome])
    return { tally, count: 0, held, late: undefined }
  }
  const additions = { up: emptyAddition('up'), down: emptyAddition('down') }
  for (const { outcome, timestampMs } of rows) {
    const addition = additions[outcome]
    addition.count++
    if (addition.held === undefined || timestampMs >= addition.held.lastMs)
      addition.tally.add(timestampMs)
    else addition.late = { fromMs: addition.late?.fromMs ?? timestampMs, toMs: timestampMs }
  }
  return additions
}

/** Counts, and the first and last time of all. */
function withHeld(market: Market, { rows, gone }: RowChange): Market {
  const snapshotCounts = { ...market.snapshotCounts }
  const verifiedCounts = { ...market.verifiedCounts }
  const count = ({ outcome, isVerified }: Pick<GoneRow, 'outcome' | 'isVerified'>, by: number) => {
    snapshotCounts[outcome] += by
    if (isVerified === true) verifiedCounts[outcome] += by
  }
  for (const row of rows) count(row, 1)
  for (const row of gone) count(row, -1)
  const firstMs = rows[0]?.timestampMs ?? 0
  const lastMs = rows.at(-1)?.timestampMs ?? 0
  return {
    ...market,
    ...{ snapshotCounts, verifiedCounts },
    firstSnapshotMs: Math.min(firstMs, market.firstSnapshotMs ?? firstMs),
    lastSnapshotMs: Math.max(lastMs, market.lastSnapshotMs ?? lastMs),
  }
}

function spanOf({ tally: { span }, held, late }: Addition): TimeTally['span'] {
  if (span === undefined) return undefined
  const { firstMs, lastMs } = span
  return { firstMs: Math.min(held?.firstMs ?? firstMs, late?.fromMs ?? firstMs), lastMs }
}

/** Gives each gap the reason of the known one that it is a part of. Both lists are in order. */
function inherit(
  gaps: readonly Span[],
  reason: GapReason,
  known: readonly OwnGap[] = [],
): OwnGap[] {
  let at = 0
  return gaps.map((gap) => {
    while ((known[at]?.toMs ?? Infinity) < gap.toMs) at++
    const whole = known[at]
    const isPart = whole !== undefined && whole.fromMs <= gap.fromMs
    return { ...gap, reason: isPart ? whole.reason : reason }
  })
}

/** Reads times and verdicts from columns of chunks and unfinished runs. */
function createMarketTimes({ chunks, tails }: Pick<Tables, 'chunks' | 'tails'>) {
  return {
    /** Runs with an outcome's rows of a span, its end included, and those before and after. */
    around({ marketId, outcome }: GapOwner, { fromMs, toMs }: Span): Chunk[] {
      const refs = chunks.listRefs(marketId).filter(({ counts }) => (counts[outcome] ?? 0) > 0)
      const first = refs.findIndex(({ lastMs }) => lastMs >= fromMs)
      const next = refs.findIndex(({ firstMs }) => firstMs > toMs)
      const start = Math.max(0, (first < 0 ? refs.length : first) - 1)
      const near = refs.slice(start, next < 0 ? refs.length : next + 1)
      const runs = near.map(chunks.load)
      const tail = next < 0 ? tails.read(marketId) : undefined
      return tail === undefined ? runs : [...runs, tail.chunk]
    },

    /** Looks at a whole market. A run that cannot be read is left out; `verify` reports it. */
    scan({ id, timeframe }: Market) {
      const tallies = newOutcomeTallies(silenceMs(timeframe))
      const add = (run: Chunk, besideOf: ReadBeside): void => {
        for (let row = 0; row < run.count; row++) {
          const { times, verdicts } = tallies[outcomes[run.outcome(row)] ?? 'up']
          const timeMs = run.timeMs(row)
          times.add(timeMs)
          verdicts.add(timeMs, besideOf(row, timeMs).isVerified)
        }
      }
      for (const ref of chunks.listRefs(id)) {
        skipUnreadable(() => {
          const run = chunks.read(ref)
          add(run, chunks.loadBeside(ref, run))
        })
      }
      skipUnreadable(() => {
        const tail = tails.read(id)
        if (tail !== undefined) add(tail.chunk, tail.beside)
      })
      return tallies
    },
  }
}

type MarketTimes = ReturnType<typeof createMarketTimes>

function skipUnreadable(read: () => void): void {
  try {
    read()
  } catch {
    // What was read before it counts.
  }
}

/**
 * Keeps the gaps of books that contradict their hash: each from its own millisecond to the next
 * verified book of its outcome. A market without such a book costs nothing; one whose rows come in
 * order, a look at the new ones. `market` is as it was before.
 */
function createVerdictUpdate(gaps: GapTable, times: MarketTimes) {
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
      gaps.replaceDerived(owner, gaps.derived(owner), inherit(verdicts.gaps, 'hash_mismatch'))
      return
    }
    const open = last?.toMs === ENDLESS_MS ? [last] : []
    const tally = new VerdictTally(open[0]?.fromMs)
    for (const { timestampMs, isVerified } of rows) tally.add(timestampMs, isVerified)
    gaps.replaceDerived(owner, open, inherit(tally.gaps, 'hash_mismatch'))
  }

  return (market: StoredMarket, change: RowChange): void => {
    for (const outcome of outcomes) updateOutcome(market, outcome, change)
  }
}
