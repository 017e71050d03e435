/**
 * Joins what several connections say of one outcome's book into one list of states and gaps. One
 * connection leads; the others' states are kept until the leader has given them too, so that
 * another can lead from where it stopped.
 */
import type { Gap, GapReason } from '#src/domain/coverage.ts'
import { compareLevels, type Snapshot } from '#src/domain/snapshot.ts'

export type MergeOutput = {
  state(snapshot: Snapshot): void
  /** From `fromMs`, inclusive, on nothing is known. */
  gapOpened(fromMs: number, reason: GapReason): void
  /** The open gap ends at `atMs`, exclusive; there is none if that is not after its start. */
  gapEnded(atMs: number): void
  /** A time that was missed without anybody noticing: both are of a gap that is over. */
  gapFound(fromMs: number, toMs: number, reason: GapReason): void
}

/** A connection, by identity. */
export type SourceId = object
type Source = {
  /** The venue's time from which on it has missed nothing. */
  sinceMs: number
  /** States not before the last one that was put out, of a source that does not lead. */
  waiting: Snapshot[]
}

/** Above it, a source that does not lead drops what the leader should long have put out. */
const WAITING_MAX = 2000
/** States remembered: more than a source is behind another. */
const TIMES_MAX = 500

/** What is known before any source has the book. */
export type MergeStart = {
  /** Time of the last state that is stored: what comes after it is not known. */
  heldMs: number | undefined
  /** Without such a state nothing is known from there on. */
  windowStartMs: number
}

/** The one list, in order of time; it begins with a gap. */
function createList(output: MergeOutput, { heldMs, windowStartMs }: MergeStart) {
  /** Of the last states, ascending. */
  const times: number[] = []
  let lastMs = heldMs
  let last: Snapshot | undefined
  let gapFromMs: number | undefined
  openGap('recorder_down')

  function openGap(reason: GapReason): void {
    if (gapFromMs !== undefined) return
    gapFromMs = lastMs === undefined ? windowStartMs : lastMs + 1
    output.gapOpened(gapFromMs, reason)
  }

  function endGap(atMs: number): void {
    if (gapFromMs !== undefined) output.gapEnded(atMs)
    gapFromMs = undefined
  }

  /**
   * A state before the last one was put out already, or the venue set its clock back: then its
   * times run twice, and the states of the second time are not put out.
   */
  function passOver({ timestampMs, receivedMs = 0 }: Snapshot, toMs: number): void {
    if (gapFromMs !== undefined || times.includes(timestampMs)) return
    // It was set back after the last state was heard, and nothing may have been heard since.
    const { receivedMs: heardMs = receivedMs } = last ?? {}
    output.gapFound(timestampMs - (receivedMs - heardMs), toMs, 'recorder_down')
    openGap('recorder_down')
  }

  return {
    openGap,
    endGap,

    put(snapshot: Snapshot): void {
      if (lastMs !== undefined && snapshot.timestampMs < lastMs) {
        passOver(snapshot, lastMs)
        return
      }
      last = snapshot
      lastMs = snapshot.timestampMs
      times.push(lastMs)
      if (times.length > TIMES_MAX) times.shift()
      endGap(lastMs)
      output.state(snapshot)
    },

    get last() {
      return last
    },
    get lastMs() {
      return lastMs
    },
    get hasGap() {
      return gapFromMs !== undefined
    },
  }
}

/** Makes the merge of one outcome. */
export function createMerge(output: MergeOutput, start: MergeStart) {
  const sources = new Map<SourceId, Source>()
  const list = createList(output, start)
  let leader: SourceId | undefined

  function emit(snapshot: Snapshot): void {
    list.put(snapshot)
    for (const [id, { waiting }] of sources) {
      if (id !== leader && waiting.length > 0) dropBefore(waiting, snapshot.timestampMs)
    }
  }

  function lead(id: SourceId, { sinceMs, waiting }: Source, reason: GapReason): void {
    leader = id
    const [first] = waiting
    const { last, lastMs } = list
    // The same book at a later time: the leader before missed nothing.
    const isSame = first && last && compareLevels(first, last) === 0
    if (list.hasGap) list.endGap(sinceMs)
    else if (lastMs !== undefined && sinceMs > lastMs + 1 && !isSame)
      output.gapFound(lastMs + 1, sinceMs, reason)
    for (const snapshot of waiting.splice(0)) emit(snapshot)
  }

  /** Hands over to the source that has known the book for longest. */
  function handOver(reason: GapReason): void {
    leader = undefined
    const [next] = [...sources].sort(([, a], [, b]) => a.sinceMs - b.sinceMs)
    if (next === undefined) list.openGap(reason)
    else lead(...next, reason)
  }

  return {
    /** The source has the book from `atMs`, the venue's time, on. */
    found(id: SourceId, atMs: number): void {
      const source: Source = { sinceMs: atMs, waiting: [] }
      sources.set(id, source)
      if (leader === undefined) lead(id, source, 'venue_silent')
    },

    state(id: SourceId, snapshot: Snapshot): void {
      if (id === leader) emit(snapshot)
      const waiting = id === leader ? undefined : sources.get(id)?.waiting
      if (waiting === undefined || snapshot.timestampMs < (list.lastMs ?? 0)) return
      waiting.push(snapshot)
      if (waiting.length > WAITING_MAX) waiting.shift()
    },

    /** The source missed something between two states, and noticed it late. */
    missed(id: SourceId, { fromMs, toMs, reason }: Gap): void {
      if (id === leader) output.gapFound(fromMs, toMs, reason)
    },

    /** The source does not know the book any more. */
    lost(id: SourceId, reason: GapReason): void {
      if (sources.delete(id) && id === leader) handOver(reason)
    },

    /** The market is not recorded any more: what is not known ends with it. */
    finish: list.endGap,

    get isKnown() {
      return leader !== undefined
    },
    get lastMs() {
      return list.lastMs
    },
  }
}

export type Merge = ReturnType<typeof createMerge>

function dropBefore(waiting: Snapshot[], timeMs: number): void {
  const kept = waiting.findIndex(({ timestampMs }) => timestampMs >= timeMs)
  waiting.splice(0, kept < 0 ? waiting.length : kept)
}
