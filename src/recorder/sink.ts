/** Brings what was heard into the history, in batches. */
import { AppError, type ErrorCode, ifSound } from '#src/core/errors.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory, Recording } from '#src/history/history.ts'
import { messageOf } from '#src/lib/message.ts'

import { type Entry, isGapChange, marketOf } from './entry.ts'
import { createHeldBack, type FindLastMs, missedFromMs } from './held-back.ts'
import type { Reporter } from './ports.ts'

/** Rows that one transaction writes at most: some 30 ms. */
const ROWS_MAX = 500
/** Rows that wait for a slow disk at most; some 100 MB. */
const WAITING_MAX = 20_000
const RETRY_MS = 1000

export type SinkOptions = {
  history: Pick<MarketHistory, 'record' | 'findMarket'>
  clock: Clock
  reporter: Reporter
  /** How long a row waits for others, milliseconds. */
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
 * Makes the sink. `tick` is to be called every few milliseconds. Rows wait in memory while the
 * history takes none; beyond `WAITING_MAX` they are dropped, and `onOverflow` opens the gaps.
 */
export function createSink(options: SinkOptions) {
  const { clock, reporter, batchMs } = options
  let [waiting, dueMs]: [Entry[], number] = [[], 0]
  const hasRoom = createRoomCheck(options)
  let refusal: unknown
  const counts = noCounts()
  const write = createWrite(options, counts)
  const findLastMs = lastMsIn(options.history)
  const heldBack = createHeldBack(write, findLastMs)

  function add(entry: Entry): void {
    if (waiting.length === 0) dueMs = Math.max(dueMs, clock() + batchMs)
    if (waiting.push(entry) > WAITING_MAX) overflow()
  }

  function overflow(): void {
    // Gaps stay: what opens and ends them is little, and the history must not lose it.
    const kept = waiting.filter(isGapChange)
    counts.dropped += waiting.length - kept.length
    waiting = [...kept, ...gapsOf(waiting, findLastMs)]
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
      if (!hasRoom('now')) return pause()
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
    counts.lastFlushMs = nowMs
    counts.slowestMs = Math.max(counts.slowestMs, clock() - nowMs)
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

/** Returns what says whether there is room on the disk; it looks once a second, or now. */
function createRoomCheck({ clock, reporter, freeBytes, freeBytesMin }: SinkOptions) {
  let checkedMs = Number.NEGATIVE_INFINITY
  let hasRoom = true
  return (when?: 'now'): boolean => {
    const nowMs = clock()
    if (when !== 'now' && nowMs - checkedMs < RETRY_MS) return hasRoom
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
function gapsOf(entries: readonly Entry[], findLastMs: FindLastMs): Entry[] {
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
