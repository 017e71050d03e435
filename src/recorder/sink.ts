/** Writes what was recorded into the history, in batches. */

import { ENDLESS_MS } from '#src/domain/coverage.ts'
import { AppError, type ErrorCode, ifSound, isPassing } from '#src/domain/errors.ts'
import { NO_ROOM } from '#src/domain/record-fault.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { GapChange, MarketHistory } from '#src/history/history.ts'
import { count } from '#src/platform/count.ts'
import { sentenceOf } from '#src/platform/message.ts'

import { type Entry, isGapChange, marketOf } from './entry.ts'
import type { Reporter } from './ports.ts'

/** The most rows of one transaction, some 30 ms. */
const ROWS_MAX = 500
/** The most rows that wait for a slow disk, some 100 MB. */
const WAITING_MAX = 20_000
const RETRY_MS = 1000
/** The shortest pause between two commits: each costs some 0.5 ms, however few rows it writes. */
const PAUSE_MS_MIN = 2
/** How long a look at the free room counts for a small commit; a full batch looks again. */
const ROOM_MS = 20

export type SinkOptions = {
  history: Pick<MarketHistory, 'record' | 'findMarket'>
  clock: Clock
  reporter: Reporter
  /** The longest pause between two commits, milliseconds. */
  batchMs: number
  /** Bytes that are free on the disk; undefined where that is unknown. */
  freeBytes(): number | undefined
  freeBytesMin: number
  /** Called when rows were dropped: every book is unknown from then on. */
  onOverflow(): void
  /** Called before everything that waits is written. */
  onFlush?: (() => void) | undefined
  /** Called when rows were committed. */
  onStored?: (() => void) | undefined
}

type OpenedGap = Extract<Entry, { kind: 'opened' }>
type KnownTime = Extract<Entry, { kind: 'known' }>

/**
 * Makes the sink. Call `tick` every millisecond. A commit begins when rows wait and the commit
 * before it has ended; the rows that arrive meanwhile are the next batch. Commits run on the event
 * loop, so a pause as long as the commit took, of two milliseconds at least and `batchMs` at most,
 * keeps half of the time for requests when the disk is slow. Rows wait in memory while the history
 * takes none; beyond `WAITING_MAX` they are dropped, and `onOverflow` opens the gaps.
 */
export function createSink(options: SinkOptions) {
  const { history, clock, reporter, freeBytesMin } = options
  let waiting: Entry[] = []
  /** When the next commit may begin. */
  let dueMs = 0
  let refusal: unknown
  let roomCheckedMs = Number.NEGATIVE_INFINITY
  let isRoomLeft = true
  const counts = {
    rows: 0,
    duplicates: 0,
    batches: 0,
    dropped: 0,
    lastFlushMs: 0,
    slowestMs: 0,
    /** From the venue's time of the newest state of the last batch until it was stored. */
    lagMs: undefined as number | undefined,
  }
  const write = createWrite(history, reporter, counts)
  /** By token, gaps on record of states that wait because the disk is nearly full. */
  const heldBack = new Map<string, OpenedGap>()
  /** By token, where the gap of dropped states ends until the next state of the token is known. */
  const droppedTo = new Map<string, number>()

  /** `freshMs` is how long the last look counts. */
  function hasRoom(freshMs = RETRY_MS): boolean {
    const nowMs = clock()
    if (nowMs - roomCheckedMs < freshMs) return isRoomLeft
    roomCheckedMs = nowMs
    const free = options.freeBytes()
    isRoomLeft = free === undefined || free >= freeBytesMin
    const least = `${Math.round(freeBytesMin / 2 ** 20)} MiB`
    if (isRoomLeft) reporter.settle('disk', 'There is room on the disk again: recording goes on.')
    else reporter.report('disk', `Nothing is recorded: less than ${least} are free on the disk.`)
    return isRoomLeft
  }

  /** The first time before a state that is unknown without it: gaps in the history end before. */
  function missedFromMs({ conditionId, outcome, timestampMs }: Snapshot): number {
    const lastMs = ifSound(() => history.findMarket(conditionId)?.spans[outcome]?.lastMs)
    return Math.min((lastMs ?? timestampMs) + 1, timestampMs)
  }

  function add(entry: Entry): void {
    const isAfterDropped = entry.kind === 'state' && droppedTo.has(toToken(entry.snapshot))
    if (isAfterDropped) extendGap(entry.snapshot)
    const kept = isAfterDropped ? { ...entry, knownFromMs: undefined } : entry
    if (waiting.push(kept) > WAITING_MAX) overflow()
  }

  /** The book before this state was dropped, so the time up to the state is a gap, too. */
  function extendGap(snapshot: Snapshot): void {
    const { conditionId, outcome, timestampMs: toMs } = snapshot
    const token = toToken(snapshot)
    const fromMs = droppedTo.get(token) ?? toMs
    droppedTo.delete(token)
    const gap = { outcome, fromMs, toMs, reason: 'recorder_down' } as const
    if (fromMs < toMs) waiting.push({ kind: 'unknown', conditionId, gap })
  }

  function overflow(): void {
    // Gaps stay: they are few, and the history must not lose them.
    const kept = waiting.filter((entry) => isGapChange(entry) && entry.kind !== 'known')
    counts.dropped += waiting.length - kept.length
    const dropped = waiting.flatMap((entry) => (entry.kind === 'state' ? [entry.snapshot] : []))
    waiting = kept
    for (const states of Map.groupBy(dropped, toToken).values()) {
      const first = states[0]
      const last = states.at(-1)
      if (first === undefined || last === undefined) continue
      const { conditionId, outcome } = first
      const fromMs = missedFromMs(first)
      const toMs = last.timestampMs + 1
      const gap = { outcome, fromMs, toMs, reason: 'recorder_down' } as const
      waiting.push({ kind: 'unknown', conditionId, gap })
      droppedTo.set(toToken(first), toMs)
    }
    reporter.report('overflow', `The recorder drops rows. ${fault() ?? 'The disk is too slow.'}`)
    options.onOverflow()
  }

  /** Notes as a gap, of each token, that nothing is known from the first waiting entry on. */
  function noteHeldBack(): void {
    const opened = new Map<string, OpenedGap>()
    try {
      for (const entry of waiting) {
        if (entry.kind !== 'state' && entry.kind !== 'opened' && entry.kind !== 'unknown') continue
        const conditionId = marketOf(entry)
        const { outcome } = entry.kind === 'state' ? entry.snapshot : entry.gap
        const token = toToken({ conditionId, outcome })
        if (opened.has(token) || heldBack.has(token)) continue
        const fromMs = entry.kind === 'state' ? missedFromMs(entry.snapshot) : entry.gap.fromMs
        const gap = { outcome, fromMs, toMs: ENDLESS_MS, reason: 'recorder_down' } as const
        opened.set(token, { kind: 'opened', conditionId, gap })
      }
      if (opened.size > 0) write([...opened.values()])
      for (const [token, gap] of opened) heldBack.set(token, gap)
    } catch {
      // A full disk may not take even that. Then the gap is noted with the waiting rows, or at the
      // next start.
    }
  }

  /** Why nothing can be stored now; undefined when it can. */
  function fault(): string | undefined {
    if (!hasRoom()) return NO_ROOM
    if (refusal === undefined) return undefined
    // The text of other errors than ours may say anything.
    const reason = refusal instanceof AppError ? ` ${refusal.message}` : ''
    return `The history takes nothing that is recorded.${reason}`
  }

  function pause(): false {
    if (!hasRoom()) noteHeldBack()
    dueMs = clock() + RETRY_MS
    return false
  }

  /** Writes what waits. Returns whether all of it was written. */
  function flush(): boolean {
    const nowMs = clock()
    if (!hasRoom()) return pause()
    options.onFlush?.()
    // First, so that the gaps are gone when the rows are written.
    waiting.unshift(...heldBack.values().map((gap) => ({ ...gap, kind: 'withdrawn' as const })))
    heldBack.clear()
    while (waiting.length > 0) {
      const batch = waiting.slice(0, ROWS_MAX)
      if (!hasRoom(batch.length === ROWS_MAX ? 0 : ROOM_MS)) return pause()
      try {
        write(batch)
      } catch (error) {
        refusal = error
        const reason = `The recorder cannot write: ${sentenceOf(error)} It tries again.`
        // What does not pass by itself is reported beside what did not pass yet.
        reporter.report(isPassing(error) ? 'history' : 'refusal', reason)
        return pause()
      }
      waiting.splice(0, batch.length)
      const last = batch.findLast((entry) => entry.kind === 'state')
      if (last) counts.lagMs = clock() - last.snapshot.timestampMs
    }
    refusal = undefined
    const endMs = clock()
    counts.lastFlushMs = nowMs
    counts.slowestMs = Math.max(counts.slowestMs, endMs - nowMs)
    dueMs = endMs + Math.min(Math.max(endMs - nowMs, PAUSE_MS_MIN), options.batchMs)
    for (const topic of ['refusal', 'history'])
      reporter.settle(topic, 'The recorder can write again.')
    reporter.settle('overflow', 'The disk is fast enough again.')
    options.onStored?.()
    return true
  }

  return {
    add,
    flush,
    /** Writes what waits for the last time. What cannot be written is a gap at the next start. */
    end(): void {
      if (waiting.length > 0 && !flush())
        reporter.report(
          'end',
          `${count(waiting.length, 'row')} ${waiting.length === 1 ? 'was' : 'were'} lost: the history cannot be written.`,
        )
    },
    /** Whether anything of a market waits. */
    holds: (conditionId: string) => waiting.some((entry) => marketOf(entry) === conditionId),
    tick(): void {
      if (waiting.length > 0 && (clock() >= dueMs || waiting.length >= ROWS_MAX)) flush()
    },
    fault,
    get waiting() {
      return waiting.length
    },
    counts,
  }
}

const toToken = ({ conditionId, outcome }: Pick<Snapshot, 'conditionId' | 'outcome'>): string =>
  `${conditionId} ${outcome}`

/**
 * Returns a function that writes entries in one transaction. If one market's entries are at fault,
 * those of the others are written all the same.
 */
export function createWrite(
  history: Pick<MarketHistory, 'record'>,
  reporter: Pick<Reporter, 'report'>,
  counts: Record<'rows' | 'duplicates' | 'batches' | 'dropped', number>,
) {
  return function write(entries: readonly Entry[]): void {
    const of = <Kind extends Entry['kind']>(kind: Kind) =>
      entries.filter((entry): entry is Extract<Entry, { kind: Kind }> => entry.kind === kind)
    try {
      const { accepted, duplicates } = history.record({
        snapshots: of('state').map(({ snapshot }) => snapshot),
        trades: of('trade'),
        gaps: listGapChanges(entries),
      })
      counts.rows += accepted
      counts.duplicates += duplicates
      counts.batches++
    } catch (error) {
      if (!isOfOneMarket(error)) throw error
      const byMarket = Map.groupBy(entries, marketOf)
      if (byMarket.size > 1) for (const own of byMarket.values()) write(own)
      else {
        counts.dropped += entries.length
        reporter.report(`market ${byMarket.keys().next().value}`, error.message)
      }
    }
  }
}

/** Changes of gaps, and when the book was known between states, in order; states in a row are one time. */
function listGapChanges(entries: readonly Entry[]): GapChange[] {
  const changes: GapChange[] = []
  const lastOf = new Map<string, KnownTime>()
  for (const entry of entries) {
    if (isGapChange(entry)) changes.push(entry)
    if (entry.kind !== 'state' || entry.knownFromMs === undefined) continue
    const { snapshot, knownFromMs } = entry
    const { conditionId, outcome } = snapshot
    const toMs = snapshot.timestampMs + 1
    const last = lastOf.get(toToken(snapshot))
    if (last !== undefined && last.toMs > knownFromMs) last.toMs = toMs
    else if (knownFromMs < snapshot.timestampMs) {
      const known: KnownTime = { kind: 'known', conditionId, outcome, fromMs: knownFromMs, toMs }
      lastOf.set(toToken(snapshot), known)
      changes.push(known)
    }
  }
  return changes
}

/** Faults of a single market that another try does not mend. */
const marketFaults: ReadonlySet<ErrorCode> = new Set([
  'market_conflict',
  'unknown_market',
  'damaged',
])

export const isOfOneMarket = (error: unknown): error is AppError =>
  error instanceof AppError && marketFaults.has(error.code)
