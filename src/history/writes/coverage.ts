/**
 * Derives gaps from the times and verdicts of a market's snapshots. A row after the last one of its
 * outcome costs a comparison; late rows are compared with their neighbours, in the columns of
 * chunks.
 */
import { ENDLESS_MS, type GapReason, silenceMs, type Span } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Position, Snapshot, StoredSnapshot } from '#src/domain/snapshot.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import type { ChunkRef, ReadBeside } from '../tables/chunk-table.ts'
import { type GapOwner, type GapTable, ownerOf, type OwnGap } from '../tables/gap-table.ts'
import type { StoredMarket } from '../tables/market-table.ts'
import type { Tables } from '../tables/tables.ts'
import type { Run } from './runs.ts'

/** A removed row. */
export type GoneRow = Position & Pick<Snapshot, 'outcome' | 'isVerified'>

/** Measures the pauses between ascending times. */
class TimeTally {
  /** Pauses longer than usual: from the millisecond after a snapshot to the next one, exclusive. */
  readonly gaps: Span[] = []
  /** The longest pause; negative before the second time. */
  longestMs = -1
  /** Both -1 before the first snapshot. */
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
    // Several states in a millisecond are no pause.
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

/** Spans from the millisecond of a contradicted row to the first verified row of a later one. */
class VerdictTally {
  verifiedCount = 0
  readonly #closed: Span[] = []
  #openMs = -1
  #contradictedMs = -1

  /** Continues after an open span, if any: all further rows are later. */
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

  /** Ascending and disjoint; the last one may be endless. */
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

/** Inserted and removed rows, each in order. */
type RowChange = {
  rows: readonly StoredSnapshot[]
  gone: readonly GoneRow[]
  /** The reason of pauses between the new rows. */
  reason: GapReason
}

/** The stored state of a market before a change. */
export type Held = HeldGaps & {
  market: StoredMarket
  run: Run
  /** All chunks if a row of the change is not after the last snapshot; otherwise none. */
  refs: readonly ChunkRef[]
}

type HeldGaps = {
  /** Gaps of long pauses if a row of the change is not after the last snapshot; otherwise none. */
  pauses: Record<Outcome, readonly OwnGap[]>
  /** The gap of contradicted books that ends last. */
  verdicts: Record<Outcome, OwnGap | undefined>
}

/** Keeps spans, counts, pauses and derived gaps up to date, in the caller's transaction. */
export function createCoverage(tables: Pick<Tables, 'chunks' | 'tails' | 'gaps'>) {
  const { gaps } = tables
  const times = createMarketTimes(tables)
  const updateTimes = createTimesUpdate(gaps, times)
  const updateVerdicts = createVerdictUpdate(gaps, times)

  return {
    /** Reads the gaps that `begin` needs; `isLate` if a row is not after the last snapshot. */
    findGaps(market: StoredMarket, isLate: boolean): HeldGaps {
      const { gapRevision } = market
      const pausesOf = (outcome: Outcome): readonly OwnGap[] =>
        isLate && gapRevision > 0 ? gaps.derived(ownerOf(market, outcome, 'time')) : []
      const verdictOf = (outcome: Outcome): OwnGap | undefined =>
        gaps.last(ownerOf(market, outcome, 'verdict'), gapRevision)
      return {
        pauses: { up: pausesOf('up'), down: pausesOf('down') },
        verdicts: { up: verdictOf('up'), down: verdictOf('down') },
      }
    },

    /**
     * Begins a change of at least one row. Call it before the rows are written, and the returned
     * function afterwards, which returns the market with the rows.
     */
    begin(held: Held, change: RowChange): () => Market {
      const { market } = held
      const up = updateTimes(held, 'up', change)
      const down = updateTimes(held, 'down', change)
      return () => {
        updateVerdicts(held, change)
        return {
          ...withHeld(market, change),
          spans: { up: up.span, down: down.span },
          longestSilenceMs: { up: up.longest(), down: down.longest() },
        }
      }
    },
  }
}

export type Coverage = ReturnType<typeof createCoverage>

/** Updates the gaps of pauses; the returned function gives an outcome's span and longest pause. */
function createTimesUpdate(gaps: GapTable, times: MarketTimes) {
  /**
   * Derives the gaps around late rows; `among` includes those of the last millisecond. Returns the
   * longest pause there, before and after the change.
   */
  function mergeGaps(
    held: Held,
    owner: GapOwner,
    change: RowChange & { lateSpan: Span; among: readonly Position[] },
  ) {
    const { reason, lateSpan, among, gone } = change
    const quietMs = silenceMs(held.market.timeframe)
    const now = new TimeTally(quietMs)
    const before = new TimeTally(quietMs)
    const goneIds = new Set(gone.map(({ id }) => id))
    const nowMs = among.map(({ timestampMs }) => timestampMs)
    for (const { timestampMs, id } of times.around(held, owner.outcome, lateSpan)) {
      before.add(timestampMs)
      if (!goneIds.has(id)) nowMs.push(timestampMs)
    }
    for (const timeMs of nowMs.sort((a, b) => a - b)) now.add(timeMs)
    const known = held.pauses[outcomes[owner.outcome] ?? 'up'].filter(
      ({ fromMs, toMs }) => fromMs >= now.firstMs && toMs <= now.lastMs,
    )
    gaps.replaceDerived(owner, known, pausesOf(held.market, now.gaps, reason, known))
    return { nowMs: now.longestMs, beforeMs: before.longestMs }
  }

  return (held: Held, outcome: Outcome, change: RowChange) => {
    const { market } = held
    const heldSpan = market.spans[outcome]
    const own = change.rows.filter((row) => row.outcome === outcome)
    const [first] = own
    if (first === undefined)
      return { span: heldSpan, longest: () => market.longestSilenceMs[outcome] }
    const owner = ownerOf(market, outcome, 'time')
    const tally = new TimeTally(silenceMs(market.timeframe))
    if (heldSpan !== undefined) tally.resume(heldSpan.lastMs, market.longestSilenceMs[outcome])
    const late = own.filter(({ timestampMs }) => timestampMs < tally.lastMs)
    for (const { timestampMs } of own.slice(late.length)) tally.add(timestampMs)
    gaps.replaceDerived(owner, [], pausesOf(market, tally.gaps, change.reason))
    const { lastMs, longestMs } = tally
    const span = { firstMs: Math.min(heldSpan?.firstMs ?? Infinity, first.timestampMs), lastMs }
    const last = late.at(-1)
    if (last === undefined) return { span, longest: () => tally.longest }
    const lateSpan = { fromMs: first.timestampMs, toMs: last.timestampMs }
    const heldMs = heldSpan?.lastMs ?? -1
    const among = own.filter(({ timestampMs }) => timestampMs <= heldMs)
    const { nowMs, beforeMs } = mergeGaps(held, owner, { ...change, lateSpan, among })
    // The longest pause is elsewhere, or there is a longer one here.
    if (beforeMs < longestMs || nowMs >= longestMs)
      return { span, longest: () => Math.max(longestMs, nowMs) }
    const longest = () => gaps.longestDerived(owner) ?? times.scan(market)[outcome].times.longestMs
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

/** Gaps of pauses; a silence of the venue has a cause if the venue restarts in it. */
const pausesOf = (
  { source }: Pick<Market, 'source'>,
  pauses: readonly Span[],
  reason: GapReason,
  known?: readonly OwnGap[],
): OwnGap[] =>
  inherit(pauses, reason, known).map((pause) =>
    source === 'recorded' ? { ...pause, reason: silenceReason(pause) } : pause,
  )

/** The reason of a pause of a recorded market. */
export const silenceReason = (pause: OwnGap): GapReason =>
  pause.reason === 'venue_silent' && homeVenue.isRestart(pause) ? 'venue_restart' : pause.reason

/** Gives each gap the reason of the known one that contains it. Both lists are in order. */
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
    /** True if a verified row of an outcome is within a span. */
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

    /** Rows of an outcome in a span, including its end, and some before and after it; in order. */
    around({ refs: all, run }: Held, outcome: number, { fromMs, toMs }: Span): Position[] {
      const unfinished = run.writer.snapshots.filter((row) => outcomeCodes[row.outcome] === outcome)
      if ((unfinished[0]?.timestampMs ?? fromMs) < fromMs) return unfinished
      const refs = all.filter(({ counts }) => (counts[outcome] ?? 0) > 0)
      const first = refs.findIndex(({ lastMs }) => lastMs >= fromMs)
      const next = refs.findIndex(({ firstMs }) => firstMs > toMs)
      const start = Math.max(0, (first < 0 ? refs.length : first) - 1)
      const rows: Position[] = []
      for (const ref of refs.slice(start, next < 0 ? refs.length : next + 1)) {
        const chunk = chunks.load(ref)
        for (let row = 0; row < chunk.count; row++)
          if (chunk.outcome(row) === outcome)
            rows.push({ timestampMs: chunk.timeMs(row), id: chunk.id(row) })
      }
      return next < 0 ? [...rows, ...unfinished] : rows
    },

    /** Scans a whole market. An unreadable run is skipped; `verify` reports it. */
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
    // Rows read before the damage are counted.
  }
}

/**
 * Updates the gaps of books that contradict their hash. A market without such a book costs nothing;
 * rows that arrive in order cost one look at the new ones.
 */
function createVerdictUpdate(gaps: GapTable, times: MarketTimes) {
  function updateOutcome({ market, verdicts }: Held, outcome: Outcome, change: RowChange): void {
    const isOwn = (row: { outcome: Outcome }): boolean => row.outcome === outcome
    const rows = change.rows.filter(isOwn)
    const isContradicted = rows.some(({ isVerified }) => isVerified === false)
    // Every stored contradicted row has a gap.
    const last = verdicts[outcome]
    if (!isContradicted && last === undefined) return
    const owner = ownerOf(market, outcome, 'verdict')
    const heldMs = market.spans[outcome]?.lastMs ?? -1
    if (change.gone.some(isOwn) || !rows.every(({ timestampMs }) => timestampMs > heldMs)) {
      const tally = times.scan(market)[outcome].verdicts
      gaps.replaceDerived(owner, gaps.derived(owner), inherit(tally.gaps, 'hash_mismatch'))
      return
    }
    const open = last?.toMs === ENDLESS_MS ? [last] : []
    const tally = new VerdictTally(open[0]?.fromMs)
    for (const { timestampMs, isVerified } of rows) tally.add(timestampMs, isVerified)
    gaps.replaceDerived(owner, open, inherit(tally.gaps, 'hash_mismatch'))
  }

  return (held: Held, change: RowChange): void => {
    for (const outcome of outcomes) updateOutcome(held, outcome, change)
  }
}
