/**
 * Merges the states and gaps of one outcome from several connections into one list, in order of
 * time. One connection leads. States of the others are kept until the leader has delivered them
 * too, so that another connection can take over where the leader stopped.
 */

import type { Gap, GapReason } from '#src/domain/coverage.ts'
import { compareLevels, type Snapshot } from '#src/domain/snapshot.ts'

/**
 * The maximum number of states kept for a source that does not lead; a leader that far behind is
 * unusual.
 */
const WAITING_MAX = 2000
/** Times of states remembered: more than one source lags behind another. */
const TIMES_MAX = 500

/** Creates the merge of one outcome, which begins with a gap. Sources are compared by identity. */
export function createMerge(
  output: {
    /**
     * A state; the book is known without a break since `knownFromMs`, or undefined if the state
     * ends a gap.
     */
    state(snapshot: Snapshot, knownFromMs: number | undefined): void
    /** A gap begins at `fromMs`, inclusive. */
    gapOpened(fromMs: number, reason: GapReason): void
    /** The gap from `fromMs` ends at `atMs`; there is no gap unless `atMs` is later. */
    gapEnded(fromMs: number, atMs: number, reason: GapReason): void
    /** A gap that was detected after it had ended and after later states. */
    gapFound(fromMs: number, toMs: number, reason: GapReason): void
    /** A period without a state in which the book is known without a break. */
    known(fromMs: number, toMs: number): void
  },
  {
    heldMs,
    windowStartMs,
  }: {
    /** The time of the last stored state, after which the book is unknown. */
    heldMs: number | undefined
    /** The start of the gap if no state is stored. */
    windowStartMs: number
  },
) {
  /** Sources that know the book. `waiting` are the states of a source that does not lead. */
  const sources = new Map<object, { sinceMs: number; waiting: Snapshot[] }>()
  let leader: object | undefined
  /** Times of the last emitted states, ascending. */
  const times: number[] = []
  let lastMs = heldMs
  let last: Snapshot | undefined
  let gap: { fromMs: number; reason: GapReason } | undefined
  /**
   * Start of the period in which the book is known, or the last state emitted since; undefined in a
   * gap.
   */
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
   * Skips a state older than the last one: either it was emitted before, or the venue set its clock
   * back. After a clock change its times repeat, and the states of the repeated times are not
   * emitted.
   */
  function passOver({ timestampMs, receivedMs = 0 }: Snapshot, toMs: number): void {
    if (gap !== undefined || times.includes(timestampMs)) return
    // The clock was set back after the last state was received, and nothing may have been received
    // since.
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
    // If the book is the same at a later time, the previous leader missed nothing.
    const isSame = first && last && compareLevels(first, last) === 0
    if (gap !== undefined) endGap(sinceMs)
    else if (reason !== undefined && lastMs !== undefined && sinceMs > lastMs + 1 && !isSame) {
      output.gapEnded(lastMs + 1, sinceMs, reason)
      knownFromMs = sinceMs
    }
    for (const snapshot of waiting.splice(0)) put(snapshot)
  }

  return {
    /** A source has the book from `atMs`, by the venue's clock. */
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

    /** A source detected late that it had missed something between two states. */
    missed(id: object, { fromMs, toMs, reason }: Gap): void {
      if (id !== leader) return
      output.gapFound(fromMs, toMs, reason)
      if (knownFromMs !== undefined) knownFromMs = Math.max(knownFromMs, toMs)
    },

    /**
     * A source lost the book; the one that has known it for longest takes the lead. `reason` is
     * undefined if nothing is missing.
     */
    lost(id: object, reason: GapReason | undefined): void {
      if (!sources.delete(id) || id !== leader) return
      leader = undefined
      const [next] = [...sources].sort(([, a], [, b]) => a.sinceMs - b.sinceMs)
      if (next !== undefined) lead(next[0], reason)
      else if (reason !== undefined) openGap(reason)
    },

    /** The market has ended, and an open gap with it. Late states are still accepted. */
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
