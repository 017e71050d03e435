/**
 * The journal of everything that the recorder receives and does, in order. Replaying the journal in
 * the same order produces the same rows.
 */

import type { GapReason } from '#src/domain/coverage.ts'
import type { MarketFacts } from '#src/domain/market.ts'

import type { Following } from './following.ts'

export type Heard =
  /** The recorder started, or journaling resumed: no earlier connection is open. */
  | { kind: 'started' }
  /** The first line of a file, which continues the file whose latest time is `afterMs`. */
  | { kind: 'file'; afterMs: number }
  | { kind: 'market'; facts: MarketFacts; maxPerSecond: number | undefined }
  /** An opened connection; `markets` are condition ids. */
  | { kind: 'opened'; connection: number; markets: readonly string[] }
  /** `isSound` is false for a message that could not be read, and may not even be JSON. */
  | { kind: 'message'; connection: number; text: string; isSound: boolean }
  | { kind: 'dropped'; connection: number; reason: GapReason }
  /** A market that is no longer recorded. */
  | { kind: 'finished'; conditionId: string }
  /** An opened connection to a price source; the previous one has ended. */
  | { kind: 'spotOpened'; source: string }
  /** A message of the last connection to the source. */
  | { kind: 'spotMessage'; source: string; text: string; isSound: boolean }
  /** All previous rows were sent to the history. */
  | { kind: 'stored' }

/**
 * Books read the clock in multiples of this step, so that results do not depend on when they are
 * called.
 */
const STEP_MS = 1
/** Exceeds the longest wait of a book, in steps. */
const STEPS_MAX = 3000

/** Takes an entry of the journal and its time by the recorder's clock. */
export type KeepHeard = (heard: Heard, atMs: number) => void

/** Creates the journal of the open connections. */
export function createJournal(keep: KeepHeard = () => {}) {
  /** In the order of opening. */
  const open = new Map<number, Following>()
  let opened = 0
  let settledStep: number | undefined

  /** Ends every wait that is over, in order of time. */
  function settle(nowMs: number): void {
    const nowStep = Math.floor(nowMs / STEP_MS)
    settledStep ??= nowStep - 1
    const lastStep = Math.min(nowStep, settledStep + STEPS_MAX)
    for (let step = settledStep + 1; step <= lastStep; step++) {
      for (const following of open.values()) following.settle(step * STEP_MS)
    }
    settledStep = Math.max(settledStep, nowStep)
  }

  /** Writes an entry. Call it before the entry takes effect. */
  function note(heard: Heard, atMs: number): void {
    settle(atMs)
    keep(heard, atMs)
  }

  return {
    settle,
    note,
    open: open as ReadonlyMap<number, Following>,

    /** Opens a connection under the given number or the next one of this journal. */
    begin(following: Following, nowMs: number, connection: number = ++opened): number {
      const markets = [...following.follows.keys()]
      note({ kind: 'opened', connection, markets }, nowMs)
      open.set(connection, following)
      return connection
    },

    end(connection: number, reason: GapReason, nowMs: number): void {
      const following = open.get(connection)
      if (following === undefined) return
      note({ kind: 'dropped', connection, reason }, nowMs)
      open.delete(connection)
      following.end(reason)
    },
  }
}

export type Journal = ReturnType<typeof createJournal>

/**
 * Prints an entry as a line of JSON. A message is kept byte for byte: as the last member `frame`,
 * or as a string if it is not JSON or contains a newline.
 */
export function toHeardLine(heard: Heard, atMs: number): string {
  if (heard.kind !== 'message' && heard.kind !== 'spotMessage') {
    const { kind, ...rest } = heard
    return JSON.stringify({ _recv: atMs, heard: kind, ...rest })
  }
  const { text, isSound } = heard
  const by =
    heard.kind === 'message' ? `"connection":${heard.connection}` : `"spot":"${heard.source}"`
  const start = `{"_recv":${atMs},${by},`
  const isPlain = isSound && !text.includes('\n')
  return isPlain ? `${start}"frame":${text}}` : `${start}"text":${JSON.stringify(text)}}`
}
