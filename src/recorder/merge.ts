/**
 * Joins what several connections report of one outcome's book into one list of states and gaps, in
 * order of time. One connection leads. The states of the others are kept until the leader has given
 * them too, so that another connection can take the lead where it stopped.
 */

import type { Gap, GapReason } from '#src/domain/coverage.ts'
import { compareLevels, type Snapshot } from '#src/domain/snapshot.ts'

/** The most states kept of a source that does not lead: the leader should long have given them. */
const WAITING_MAX = 2000
/** States remembered: more than one source is behind another. */
const TIMES_MAX = 500

/** Makes the merge of one outcome, which begins with a gap. Sources are compared by identity. */
export function createMerge(
  output: {
    /** The book is known without a break since `knownFromMs`; undefined if this state ends one. */
    state(snapshot: Snapshot, knownFromMs: number | undefined): void
    /** Nothing is known from `fromMs`, inclusive, on. */
    gapOpened(fromMs: number, reason: GapReason): void
    /**
     * The book is known again at `atMs`. Nothing is known from `fromMs` to then; there is no gap if
     * `atMs` is not after it.
     */
    gapEnded(fromMs: number, atMs: number, reason: GapReason): void
    /** A gap that was noticed after it was over, and after later states. */
    gapFound(fromMs: number, toMs: number, reason: GapReason): void
    /** The book is known without a break in this time, in which there was no state. */
    known(fromMs: number, toMs: number): void
  },
  {
    heldMs,
    windowStartMs,
  }: {
    /** Time of the last state that is stored: what comes after it is unknown. */
    heldMs: number | undefined
    /** Without a stored state everything from here on is unknown. */
    windowStartMs: number
  },
) {
  /** The sources that know the book. `waiting` are the states of a source that does not lead. */
  const sources = new Map<object, { sinceMs: number; waiting: Snapshot[] }>()
  let leader: object | undefined
  /** Times of the last states that were put out, ascending. */
  const times: number[] = []
  let lastMs = heldMs
  let last: Snapshot | undefined
  let gap: { fromMs: number; reason: GapReason } | undefined
  /** Since when the book is known, or the last state that was put out since; undefined in a gap. */
  let knownFromMs: number | undefined
  openGap('recorder_down')

  function openGap(reason: GapReason): void {
    if (gap !== undefined) return
    gap = { fromMs: lastMs === undefined ? windowStartMs : lastMs + 1, reason }
    knownFromMs = undefined
    output.gapOpened(gap.fromMs, reason)
  }

  function endGap(atMs: number): void {
    if (gap === undefined) return
    output.gapEnded(gap.fromMs, atMs, gap.reason)
    gap = undefined
    knownFromMs = atMs
  }

  /**
   * Takes a state from before the last one. Either it was put out already, or the venue set its
   * clock back: then its times run twice, and the states of the second time are not put out.
   */
  function passOver({ timestampMs, receivedMs = 0 }: Snapshot, toMs: number): void {
    if (gap !== undefined || times.includes(timestampMs)) return
    // The clock was set back after the last state was heard, and nothing may have been heard since.
    const { receivedMs: heardMs = receivedMs } = last ?? {}
    output.gapFound(timestampMs - (receivedMs - heardMs), toMs, 'recorder_down')
    openGap('recorder_down')
  }

  function put(snapshot: Snapshot): void {
    if (lastMs !== undefined && snapshot.timestampMs < lastMs) passOver(snapshot, lastMs)
    else {
      last = snapshot
      lastMs = snapshot.timestampMs
      times.push(lastMs)
      if (times.length > TIMES_MAX) times.shift()
      const sinceMs = knownFromMs
      endGap(lastMs)
      output.state(snapshot, sinceMs)
      knownFromMs = Math.max(lastMs, knownFromMs ?? lastMs)
    }
    for (const [id, { waiting }] of sources) {
      if (id === leader || waiting.length === 0) continue
      const kept = waiting.findIndex(({ timestampMs }) => timestampMs >= snapshot.timestampMs)
      waiting.splice(0, kept < 0 ? waiting.length : kept)
    }
  }

  function lead(id: object, reason: GapReason | undefined): void {
    const source = sources.get(id)
    if (source === undefined) return
    leader = id
    const { sinceMs, waiting } = source
    const [first] = waiting
    // With the same book at a later time, the leader before missed nothing.
    const isSame = first && last && compareLevels(first, last) === 0
    if (gap !== undefined) endGap(sinceMs)
    else if (reason !== undefined && lastMs !== undefined && sinceMs > lastMs + 1 && !isSame) {
      output.gapEnded(lastMs + 1, sinceMs, reason)
      knownFromMs = sinceMs
    }
    for (const snapshot of waiting.splice(0)) put(snapshot)
  }

  return {
    /** The source has the book from `atMs`, the venue's time, on. */
    found(id: object, atMs: number): void {
      sources.set(id, { sinceMs: atMs, waiting: [] })
      if (leader === undefined) lead(id, 'venue_silent')
    },

    state(id: object, snapshot: Snapshot): void {
      if (id === leader) put(snapshot)
      const waiting = id === leader ? undefined : sources.get(id)?.waiting
      if (waiting === undefined || snapshot.timestampMs < (lastMs ?? 0)) return
      waiting.push(snapshot)
      if (waiting.length > WAITING_MAX) waiting.shift()
    },

    /** The source missed something between two states, and noticed that late. */
    missed(id: object, { fromMs, toMs, reason }: Gap): void {
      if (id !== leader) return
      output.gapFound(fromMs, toMs, reason)
      if (knownFromMs !== undefined) knownFromMs = Math.max(knownFromMs, toMs)
    },

    /**
     * The source lost the book. The source that has known it for longest takes the lead. `reason` is
     * undefined if nothing is missing.
     */
    lost(id: object, reason: GapReason | undefined): void {
      if (!sources.delete(id) || id !== leader) return
      leader = undefined
      const [next] = [...sources].sort(([, a], [, b]) => a.sinceMs - b.sinceMs)
      if (next !== undefined) lead(next[0], reason)
      else if (reason !== undefined) openGap(reason)
    },

    /** The market is over: an open gap ends with it. What comes late is taken as before. */
    finish(atMs: number): void {
      if (knownFromMs !== undefined && knownFromMs < atMs) output.known(knownFromMs, atMs)
      endGap(atMs)
      knownFromMs = undefined
    },

    get isKnown() {
      return leader !== undefined
    },
    get lastMs() {
      return lastMs
    },
  }
}
