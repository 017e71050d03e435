/** Brings what was heard into the history, in batches. */
import { AppError, type ErrorCode, ifSound } from '#src/domain/errors.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory, Recording } from '#src/history/history.ts'
import { messageOf } from '#src/platform/message.ts'

import { type Entry, isGapChange, marketOf } from './entry.ts'
import { createHeldBack, type FindLastMs, missedFromMs } from './held-back.ts'
import type { Reporter } from './ports.ts'

/** Rows that one transaction writes at most: some 30 ms. */
const ROWS_MAX = 500
/** Rows that wait for a slow disk at most; some 100 MB. */
const WAITING_MAX = 20_000
const RETRY_MS = 1000
/** Between two commits at least: each costs some 0.5 ms, however few rows it writes. */
const PAUSE_MS_MIN = 2
/** How long the free room counts before a small commit; a full batch looks again. */
const ROOM_MS = 20

export type SinkOptions = {
  history: Pick<MarketHistory, 'record' | 'findMarket'>
  clock: Clock
  reporter: Reporter
  /** The longest pause between two commits, milliseconds. */
  batchMs: number
  /** Bytes that are free on the disk; undefined where nobody can say. */
  freeBytes(): number | undefined
  freeBytesMin: number
  /** Rows were dropped: every book that is known is not any more. */
  onOverflow(): void
  /** Everything that waits is about to be written. */
  onFlush?: (() => void) | undefined
  /** Rows were committed. */
  onStored?: (() => void) | undefined
}

/**
 * Makes the sink. Call `tick` every millisecond. A commit begins when rows wait and the commit
 * before it has ended; the rows that arrive meanwhile are the next batch. Commits run on the event
 * loop, so a pause as long as the commit took, of two milliseconds at least and `batchMs` at most,
 * keeps half of the time for requests when the disk is slow. Rows wait in memory while the history takes none; beyond
 * `WAITING_MAX` they are dropped, and `onOverflow` opens the gaps.
 */
export function createSink(options: SinkOptions) {
  const { clock, reporter, batchMs } = options
  let waiting: Entry[] = []
  /** When the next commit may begin. */
  let dueMs = 0
  const hasRoom = createRoomCheck(options)
  let refusal: unknown
  const counts = noCounts()
  const write = createWrite(options, counts)
  const findLastMs = lastMsIn(options.history)
  const heldBack = createHeldBack(write, findLastMs)

  /** By token, where the gap of dropped states ends until the next state of the token is known. */
  const droppedTo = new Map<string, number>()

  function add(entry: Entry): void {
    if (droppedTo.size > 0 && entry.kind === 'state') extendGap(entry.snapshot)
    if (waiting.push(entry) > WAITING_MAX) overflow()
  }

  /** The book that held until this state was dropped, so the time up to the state is a gap, too. */
  function extendGap({ conditionId, outcome, timestampMs: toMs }: Snapshot): void {
    const fromMs = droppedTo.get(`${conditionId} ${outcome}`)
    if (fromMs === undefined) return
    droppedTo.delete(`${conditionId} ${outcome}`)
    const gap = { outcome, fromMs, toMs, reason: 'recorder_down' } as const
    if (fromMs < toMs) waiting.push({ kind: 'opened', conditionId, gap })
  }

  function overflow(): void {
    // Gaps stay: what opens and ends them is little, and the history must not lose it.
    const kept = waiting.filter(isGapChange)
    counts.dropped += waiting.length - kept.length
    const gaps = gapsOf(waiting, findLastMs)
    waiting = [...kept, ...gaps]
    for (const { conditionId, gap } of gaps)
      droppedTo.set(`${conditionId} ${gap.outcome}`, gap.toMs)
    reporter.report('overflow', `The recorder drops rows. ${fault() ?? 'The disk is too slow.'}`)
    options.onOverflow()
  }

  function pause(): false {
    if (!hasRoom()) heldBack.note(waiting)
    dueMs = clock() + RETRY_MS
    return false
  }

  /** Why nothing can be stored now; undefined when it can. */
  function fault(): string | undefined {
    if (!hasRoom()) return 'The disk is nearly full: nothing is recorded.'
    return refusal === undefined ? undefined : refusalText(refusal)
  }

  /** Writes what waits; returns whether nothing does any more. */
  function flush(): boolean {
    const nowMs = clock()
    if (!hasRoom()) return pause()
    options.onFlush?.()
    waiting = [...heldBack.release(), ...waiting]
    while (waiting.length > 0) {
      const batch = waiting.slice(0, ROWS_MAX)
      if (!hasRoom(batch.length === ROWS_MAX ? 0 : ROOM_MS)) return pause()
      try {
        write(batch)
      } catch (error) {
        refusal = error
        reporter.report('history', refusalLine(error))
        return pause()
      }
      waiting.splice(0, batch.length)
      counts.lagMs = lagOf(batch, clock()) ?? counts.lagMs
    }
    refusal = undefined
    const endMs = clock()
    counts.lastFlushMs = nowMs
    counts.slowestMs = Math.max(counts.slowestMs, endMs - nowMs)
    dueMs = endMs + Math.min(Math.max(endMs - nowMs, PAUSE_MS_MIN), batchMs)
    reporter.settle('history', 'The recorder can write again.')
    reporter.settle('overflow', 'The disk is fast enough again.')
    options.onStored?.()
    return true
  }

  return {
    add,
    flush,
    /** Writes what waits, for the last time; the next start finds what could not be. */
    end(): void {
      if (waiting.length > 0 && !flush())
        reporter.report('end', `${waiting.length} rows were lost, because they cannot be written.`)
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

const lastMsIn =
  ({ findMarket }: SinkOptions['history']): FindLastMs =>
  (conditionId, outcome) =>
    ifSound(() => findMarket(conditionId)?.spans[outcome]?.lastMs)

const noCounts = () => ({
  ...{ rows: 0, duplicates: 0, batches: 0, dropped: 0, lastFlushMs: 0, slowestMs: 0 },
  /** From the venue's time of the newest state of the last batch until it was stored. */
  lagMs: undefined as number | undefined,
})

function lagOf(batch: readonly Entry[], nowMs: number): number | undefined {
  const last = batch.findLast((entry) => entry.kind === 'state')
  return last && nowMs - last.snapshot.timestampMs
}

const refusalLine = (error: unknown): string =>
  `The recorder cannot write: ${messageOf(error).replace(/\.$/, '')}. It tries again.`

/** Another error than ours may say anything. */
const refusalText = (refusal: unknown): string =>
  `The history takes nothing that is recorded.${refusal instanceof AppError ? ` ${refusal.message}` : ''}`

/** Returns the function that says whether there is room; what it saw counts for `freshMs`. */
function createRoomCheck({ clock, reporter, freeBytes, freeBytesMin }: SinkOptions) {
  let checkedMs = Number.NEGATIVE_INFINITY
  let hasRoom = true
  return (freshMs = RETRY_MS): boolean => {
    const nowMs = clock()
    if (nowMs - checkedMs < freshMs) return hasRoom
    checkedMs = nowMs
    const free = freeBytes()
    hasRoom = free === undefined || free >= freeBytesMin
    const least = `${Math.round(freeBytesMin / 2 ** 20)} MiB`
    if (hasRoom) reporter.settle('disk', 'There is room on the disk again: recording goes on.')
    else reporter.report('disk', `Nothing is recorded: less than ${least} are free on the disk.`)
    return hasRoom
  }
}

type Counts = Record<'rows' | 'duplicates' | 'batches' | 'dropped', number>

/** Returns what writes entries in one transaction; what is wrong with one market stops no other. */
export function createWrite(
  { history, reporter }: Pick<SinkOptions, 'reporter'> & { history: Pick<MarketHistory, 'record'> },
  counts: Counts,
) {
  function writeEach(byMarket: ReadonlyMap<string, readonly Entry[]>, fault: AppError): void {
    const [[conditionId, only] = []] = byMarket
    if (byMarket.size > 1) for (const own of byMarket.values()) write(own)
    else if (only !== undefined) {
      counts.dropped += only.length
      reporter.report(`market ${conditionId}`, fault.message)
    }
  }

  function write(entries: readonly Entry[]): void {
    try {
      const { accepted, duplicates } = history.record(toRecording(entries))
      counts.rows += accepted
      counts.duplicates += duplicates
      counts.batches++
    } catch (error) {
      if (!isOfOneMarket(error)) throw error
      writeEach(Map.groupBy(entries, marketOf), error)
    }
  }
  return write
}

/** Faults that another try does not mend, of a single market. */
const ofOneMarket: ReadonlySet<ErrorCode> = new Set([
  'market_conflict',
  'unknown_market',
  'damaged',
])

export const isOfOneMarket = (error: unknown): error is AppError =>
  error instanceof AppError && ofOneMarket.has(error.code)

/** What is not known where states are dropped. */
function gapsOf(
  entries: readonly Entry[],
  findLastMs: FindLastMs,
): Extract<Entry, { kind: 'opened' }>[] {
  const dropped = entries.flatMap((entry) => (entry.kind === 'state' ? [entry.snapshot] : []))
  const byToken = Map.groupBy(dropped, ({ conditionId, outcome }) => `${conditionId} ${outcome}`)
  return [...byToken.values()].flatMap((states) => {
    const [first, last] = [states[0], states.at(-1)]
    if (first === undefined || last === undefined) return []
    const { conditionId, outcome } = first
    const fromMs = missedFromMs(first, findLastMs)
    const gap = { outcome, fromMs, toMs: last.timestampMs + 1, reason: 'recorder_down' } as const
    return [{ kind: 'opened', conditionId, gap }]
  })
}

export type Sink = ReturnType<typeof createSink>

function toRecording(entries: readonly Entry[]): Recording {
  const of = <Kind extends Entry['kind']>(kind: Kind) =>
    entries.filter((entry): entry is Extract<Entry, { kind: Kind }> => entry.kind === kind)
  return {
    snapshots: of('state').map(({ snapshot }) => snapshot),
    trades: of('trade'),
    gaps: entries.filter(isGapChange),
  }
}
