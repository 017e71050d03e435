/**
 * What follows from times and verdicts of a market's snapshots. A row after the last one of its
 * outcome costs a comparison; late rows are compared with their neighbours, in chunks' columns.
 */
import { ENDLESS_MS, type GapReason, silenceMs, type Span } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Position, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import type { ReadBeside } from '../tables/chunk-table.ts'
import { type GapOwner, type GapTable, ownerOf, type OwnGap } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'

/** A row that is removed. */
export type GoneRow = Position & Pick<Snapshot, 'outcome' | 'isVerified'>

/** Takes times, ascending; measures the pauses between them. */
class TimeTally {
  /** Pauses longer than is usual: from the millisecond after a snapshot to the next, exclusive. */
  readonly gaps: Span[] = []
  /** Longest pause; negative while there are not two times. */
  longestMs = -1
  /** Both -1 while there is no snapshot. */
  firstMs = -1
  lastMs = -1
  readonly #quietMs: number

  constructor(quietMs: number) {
    this.#quietMs = quietMs
  }

  get span(): { firstMs: number; lastMs: number } | undefined {
    return this.lastMs < 0 ? undefined : { firstMs: this.firstMs, lastMs: this.lastMs }
  }

  get longest(): number | undefined {
    return this.longestMs < 0 ? undefined : this.longestMs
  }

  /** Continues after a snapshot, with the longest pause before it. */
  resume(lastMs: number, longestMs: number | undefined): void {
    this.firstMs = lastMs
    this.lastMs = lastMs
    this.longestMs = longestMs ?? -1
  }

  add(timeMs: number): void {
    const fromMs = this.lastMs
    // How many states a millisecond has says nothing about pauses.
    if (timeMs === fromMs) return
    this.lastMs = timeMs
    if (fromMs < 0) {
      this.firstMs = timeMs
      return
    }
    const ms = timeMs - fromMs
    if (ms > this.longestMs) this.longestMs = ms
    if (ms > this.#quietMs) this.gaps.push({ fromMs: fromMs + 1, toMs: timeMs })
  }
}

/** Spans from the millisecond of a contradicted row to the first verified one of a later one. */
class VerdictTally {
  verifiedCount = 0
  readonly #closed: Span[] = []
  #openMs = -1
  #contradictedMs = -1

  /** Continues after an open span, if any: all rows to come are later. */
  constructor(openMs = -1) {
    this.#openMs = openMs
    this.#contradictedMs = openMs
  }

  add(timeMs: number, isVerified: boolean | undefined): void {
    if (isVerified === true) this.#verify(timeMs)
    if (isVerified === false) this.#contradict(timeMs)
  }

  #verify(timeMs: number): void {
    this.verifiedCount++
    if (this.#openMs < 0 || timeMs <= this.#contradictedMs) return
    this.#closed.push({ fromMs: this.#openMs, toMs: timeMs })
    this.#openMs = -1
  }

  #contradict(timeMs: number): void {
    this.#contradictedMs = timeMs
    if (this.#openMs >= 0) return
    const last = this.#closed.at(-1)
    // A verified row of the same millisecond ended it too early.
    this.#openMs = last?.toMs === timeMs ? last.fromMs : timeMs
    if (last?.toMs === timeMs) this.#closed.pop()
  }

  /** Ascending and apart from each other; the last one may be endless. */
  get gaps(): Span[] {
    const open = { fromMs: this.#openMs, toMs: ENDLESS_MS }
    return this.#openMs < 0 ? [...this.#closed] : [...this.#closed, open]
  }
}

export type OutcomeTally = { times: TimeTally; verdicts: VerdictTally }

export const newOutcomeTallies = (quietMs: number): { up: OutcomeTally; down: OutcomeTally } => ({
  up: { times: new TimeTally(quietMs), verdicts: new VerdictTally() },
  down: { times: new TimeTally(quietMs), verdicts: new VerdictTally() },
})

/** Rows put in and taken out, each in order; ids from `firstNewId` on are of no row before. */
type RowChange = {
  rows: readonly StoredSnapshot[]
  gone: readonly GoneRow[]
  firstNewId: number
  /** Of pauses between the rows that are new. */
  reason: GapReason
}

/** Keeps spans, counts, pauses and derived gaps true, in a transaction of the caller. */
export function createCoverage(tables: Pick<Tables, 'chunks' | 'tails' | 'gaps'>) {
  const { gaps } = tables
  const times = createMarketTimes(tables)
  const updateTimes = createTimesUpdate(gaps, times)
  const updateVerdicts = createVerdictUpdate(gaps, times)

  return {
    /** Returns what is held of a market after a change, whose rows are not empty. */
    add(market: StoredMarket, change: RowChange): Market {
      const up = updateTimes(market, 'up', change)
      const down = updateTimes(market, 'down', change)
      updateVerdicts(market, change)
      return {
        ...withHeld(market, change),
        spans: { up: up.span, down: down.span },
        longestSilenceMs: { up: up.longest, down: down.longest },
      }
    },
  }
}

export type Coverage = ReturnType<typeof createCoverage>

/** Keeps the gaps of pauses; the function returns an outcome's span and longest pause. */
function createTimesUpdate(gaps: GapTable, times: MarketTimes) {
  /** Derives the gaps around late rows; returns the longest pause there, with and without them. */
  function mergeGaps(late: Span, owner: GapOwner, change: RowChange & { quietMs: number }) {
    const now = new TimeTally(change.quietMs)
    const before = new TimeTally(change.quietMs)
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
    gaps.replaceDerived(owner, known, inherit(now.gaps, change.reason, known))
    return { nowMs: now.longestMs, beforeMs: before.longestMs }
  }

  return (market: StoredMarket, outcome: Outcome, change: RowChange) => {
    const held = market.spans[outcome]
    const own = change.rows.filter((row) => row.outcome === outcome)
    const [first] = own
    if (first === undefined) return { span: held, longest: market.longestSilenceMs[outcome] }
    const owner = ownerOf(market, outcome, 'time')
    const quietMs = silenceMs(market.timeframe)
    const tally = new TimeTally(quietMs)
    if (held !== undefined) tally.resume(held.lastMs, market.longestSilenceMs[outcome])
    const late = own.filter(({ timestampMs }) => timestampMs < tally.lastMs)
    for (const { timestampMs } of own.slice(late.length)) tally.add(timestampMs)
    gaps.replaceDerived(owner, [], inherit(tally.gaps, change.reason))
    const { lastMs, longestMs } = tally
    const span = { firstMs: Math.min(held?.firstMs ?? Infinity, first.timestampMs), lastMs }
    const last = late.at(-1)
    if (last === undefined) return { span, longest: tally.longest }
    const lateSpan = { fromMs: first.timestampMs, toMs: last.timestampMs }
    const { nowMs, beforeMs } = mergeGaps(lateSpan, owner, { ...change, quietMs })
    // The longest one lies elsewhere, or there is a longer one here.
    if (beforeMs < longestMs || nowMs >= longestMs)
      return { span, longest: Math.max(longestMs, nowMs) }
    const longest = gaps.longestDerived(owner) ?? times.scan(market)[outcome].times.longestMs
    return { span, longest }
  }
}

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
    snapshotCounts,
    verifiedCounts,
    firstSnapshotMs: Math.min(firstMs, market.firstSnapshotMs ?? firstMs),
    lastSnapshotMs: Math.max(lastMs, market.lastSnapshotMs ?? lastMs),
  }
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

export function createMarketTimes({ chunks, tails }: Pick<Tables, 'chunks' | 'tails'>) {
  return {
    /** Whether a verified row of an outcome is within a span. */
    hasVerified({ marketId, outcome }: GapOwner, { fromMs, toMs }: Span): boolean {
      const has = (run: Chunk, besideOf: ReadBeside): boolean => {
        for (let row = 0; row < run.count; row++) {
          const timeMs = run.timeMs(row)
          const isIn = timeMs >= fromMs && timeMs < toMs && run.outcome(row) === outcome
          if (isIn && besideOf(row, timeMs).isVerified === true) return true
        }
        return false
      }
      for (const ref of chunks.listRefs(marketId)) {
        if (ref.lastMs < fromMs || ref.firstMs >= toMs) continue
        const run = chunks.load(ref)
        if (has(run, chunks.loadBeside(ref, run))) return true
      }
      const tail = tails.read(marketId)
      return tail !== undefined && has(tail.chunk, tail.beside)
    },

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

export type MarketTimes = ReturnType<typeof createMarketTimes>

function skipUnreadable(read: () => void): void {
  try {
    read()
  } catch {
    // What was read before it counts.
  }
}

/**
 * Keeps the gaps of books that contradict their hash. A market without such a book costs nothing;
 * one whose rows come in order, a look at the new ones. `market` is as it was before.
 */
function createVerdictUpdate(gaps: GapTable, times: MarketTimes) {
  function updateOutcome(market: StoredMarket, outcome: Outcome, change: RowChange): void {
    const isOwn = (row: { outcome: Outcome }): boolean => row.outcome === outcome
    const rows = change.rows.filter(isOwn)
    const isContradicted = rows.some(({ isVerified }) => isVerified === false)
    // Every contradicted row that is held has a gap.
    if (!isContradicted && market.gapRevision === 0) return
    const owner = ownerOf(market, outcome, 'verdict')
    const last = gaps.last(owner, market.gapRevision)
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
