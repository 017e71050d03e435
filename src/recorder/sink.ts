/** Writes recorded rows into the history in batches. */

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

/** The maximum rows of a transaction, some 30 ms. */
const ROWS_MAX = 500
/** The maximum rows that wait for a slow disk, some 100 MB. */
const WAITING_MAX = 20_000
const RETRY_MS = 1000
/** The shortest pause between two commits: each costs some 0.5 ms, even for few rows. */
const PAUSE_MS_MIN = 2
/**
 * The validity of a reading of the free disk space for small commits; a full batch reads it again.
 */
const ROOM_MS = 20

export type SinkOptions = {
  history: Pick<MarketHistory, 'record' | 'findMarket'>
  clock: Clock
  reporter: Reporter
  /** The longest pause between two commits, in milliseconds. */
  batchMs: number
  /** Free bytes of the disk; undefined if unknown. */
  freeBytes(): number | undefined
  freeBytesMin: number
  /** Called when rows were dropped, from which time every book is unknown. */
  onOverflow(): void
  /** Called before all waiting rows are written. */
  onFlush?: (() => void) | undefined
  /** Called when rows were committed. */
  onStored?: (() => void) | undefined
}

type OpenedGap = Extract<Entry, { kind: 'opened' }>
type KnownTime = Extract<Entry, { kind: 'known' }>

/**
 * Creates the sink. Call `tick` every millisecond. A commit begins when rows wait and the previous
 * commit has ended; rows that arrive meanwhile form the next batch. Commits to a file block the
 * event loop, so the pause after a commit equals its duration, from 2 ms to `batchMs`, which leaves
 * half of the time for requests if the disk is slow. Rows wait in memory while the history accepts
 * none; beyond `WAITING_MAX` they are dropped, and `onOverflow` opens the gaps.
 */
export function createSink(options: SinkOptions) {
  const { history, clock, reporter, freeBytesMin } = options
  let waiting: Entry[] = []
  /** Rows that are being written; they return to the queue if the history rejects them. */
  let leaving: Entry[] = []
  let flushing: Promise<boolean> | undefined
  /** The earliest time of the next commit. */
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
    /** The delay from the venue's time of the newest state in the last batch to its storage. */
    lagMs: undefined as number | undefined,
  }
  const write = createWrite(history, reporter, counts)
  /** Stored gaps, by token, of states that wait because the disk is nearly full. */
  const heldBack = new Map<string, OpenedGap>()
  /** Ends, by token, of the gap of dropped states, until the next state of the token is known. */
  const droppedTo = new Map<string, number>()

  /** True if the disk has room; a reading is valid for `freshMs`. */
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

  /** The start of the unknown period before a state; gaps in the history end before it. */
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

  /** Extends the gap up to this state, because the states before it were dropped. */
  function extendGap(snapshot: Snapshot): void {
    const { conditionId, outcome, timestampMs: toMs } = snapshot
    const token = toToken(snapshot)
    const fromMs = droppedTo.get(token) ?? toMs
    droppedTo.delete(token)
    const gap = { outcome, fromMs, toMs, reason: 'recorder_down' } as const
    if (fromMs < toMs) waiting.push({ kind: 'unknown', conditionId, gap })
  }

  function overflow(): void {
    // Gaps are kept: they are few, and the history must not lose them.
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

  /** Stores a gap for each token, from its first waiting entry. */
  async function noteHeldBack(): Promise<void> {
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
      if (opened.size > 0) await write([...opened.values()])
      for (const [token, gap] of opened) heldBack.set(token, gap)
    } catch {
      // A full disk may reject even the gap, which is then stored with the waiting rows or at the
      // next start.
    }
  }

  /** Why nothing can be stored now; undefined if rows can be stored. */
  function fault(): string | undefined {
    if (!hasRoom()) return NO_ROOM
    if (refusal === undefined) return undefined
    // The texts of unknown errors are not shown.
    const reason = refusal instanceof AppError ? ` ${refusal.message}` : ''
    return `The history takes nothing that is recorded.${reason}`
  }

  async function pause(): Promise<false> {
    if (!hasRoom()) await noteHeldBack()
    dueMs = clock() + RETRY_MS
    return false
  }

  /** Writes the waiting rows. Returns true if all were written. */
  function flush(): Promise<boolean> {
    flushing ??= writeAll().finally(() => {
      flushing = undefined
    })
    return flushing
  }

  async function writeAll(): Promise<boolean> {
    const nowMs = clock()
    if (!hasRoom()) return pause()
    options.onFlush?.()
    // Comes first, so that the gaps are withdrawn before the rows are written.
    waiting.unshift(...heldBack.values().map((gap) => ({ ...gap, kind: 'withdrawn' as const })))
    heldBack.clear()
    while (waiting.length > 0) {
      const isFull = waiting.length >= ROWS_MAX
      if (!hasRoom(isFull ? 0 : ROOM_MS)) return pause()
      leaving = waiting.splice(0, ROWS_MAX)
      const last = leaving.findLast((entry) => entry.kind === 'state')
      try {
        await write(leaving)
      } catch (error) {
        waiting.unshift(...leaving)
        leaving = []
        refusal = error
        const reason = `The recorder cannot write: ${sentenceOf(error)} It tries again.`
        // Permanent faults are reported beside a passing one that is still open.
        reporter.report(isPassing(error) ? 'history' : 'refusal', reason)
        return pause()
      }
      leaving = []
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
    /**
     * Writes the waiting rows for the last time. Rows that cannot be written become a gap at the
     * next start.
     */
    async end(): Promise<void> {
      await flushing
      if (waiting.length > 0 && !(await flush()))
        reporter.report(
          'end',
          `${count(waiting.length, 'row')} ${waiting.length === 1 ? 'was' : 'were'} lost: the history cannot be written.`,
        )
    },
    /** True if a row of a market waits. */
    holds: (conditionId: string) =>
      [leaving, waiting].some((entries) =>
        entries.some((entry) => marketOf(entry) === conditionId),
      ),
    tick(): void {
      if (flushing !== undefined || waiting.length === 0) return
      const isFull = waiting.length >= ROWS_MAX
      // Each attempt on a full disk reads all waiting rows.
      if (clock() >= dueMs || (isFull && isRoomLeft)) void flush()
    },
    fault,
    get waiting() {
      return leaving.length + waiting.length
    },
    counts,
  }
}

const toToken = ({ conditionId, outcome }: Pick<Snapshot, 'conditionId' | 'outcome'>): string =>
  `${conditionId} ${outcome}`

/**
 * Returns a function that writes entries in one transaction. If the entries of one market are at
 * fault, those of the others are still written.
 */
export function createWrite(
  history: Pick<MarketHistory, 'record'>,
  reporter: Pick<Reporter, 'report'>,
  counts: Record<'rows' | 'duplicates' | 'batches' | 'dropped', number>,
) {
  return async function write(entries: readonly Entry[]): Promise<void> {
    const of = <Kind extends Entry['kind']>(kind: Kind) =>
      entries.filter((entry): entry is Extract<Entry, { kind: Kind }> => entry.kind === kind)
    try {
      const { accepted, duplicates } = await history.record({
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
      if (byMarket.size > 1) for (const own of byMarket.values()) await write(own)
      else {
        counts.dropped += entries.length
        reporter.report(`market ${byMarket.keys().next().value}`, error.message)
      }
    }
  }
}

/**
 * Gap changes and periods in which the book was known between states, in order; consecutive states
 * form one period.
 */
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

/** Faults of a single market that a retry does not fix. */
const marketFaults: ReadonlySet<ErrorCode> = new Set([
  'market_conflict',
  'unknown_market',
  'damaged',
])

export const isOfOneMarket = (error: unknown): error is AppError =>
  error instanceof AppError && marketFaults.has(error.code)
