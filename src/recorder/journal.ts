/**
 * What the recorder hears and does, in order. The same journal, taken in the same order again,
 * makes the same rows.
 */

import type { GapReason } from '#src/domain/coverage.ts'
import type { MarketFacts } from '#src/domain/market.ts'

import type { Following } from './following.ts'

export type Heard =
  /** A recorder began, or the journal is kept again: no connection from before is open. */
  | { kind: 'started' }
  /** The first line of a file, which continues a file whose latest time is `afterMs`. */
  | { kind: 'file'; afterMs: number }
  | { kind: 'market'; facts: MarketFacts; maxPerSecond: number | undefined }
  /** A connection was opened; `markets` are condition ids. */
  | { kind: 'opened'; connection: number; markets: readonly string[] }
  /** `isSound` is false for a message that could not be read, and may not even be JSON. */
  | { kind: 'message'; connection: number; text: string; isSound: boolean }
  | { kind: 'dropped'; connection: number; reason: GapReason }
  /** The market is not recorded any more. */
  | { kind: 'finished'; conditionId: string }
  /** A connection to a source of prices was opened; the one before it is over. */
  | { kind: 'spotOpened'; source: string }
  /** A message of the last connection to that source. */
  | { kind: 'spotMessage'; source: string; text: string; isSound: boolean }
  /** All rows so far went to the history. */
  | { kind: 'stored' }

/** Books look at the clock at multiples of this, so that it does not matter when they are asked. */
const STEP_MS = 1
/** Longer than anything waits for its time. */
const STEPS_MAX = 3000

/** Takes an entry of the journal and its time by the recorder's clock. */
export type KeepHeard = (heard: Heard, atMs: number) => void

/** Makes the journal of the connections that are open. */
export function createJournal(keep: KeepHeard = () => {}) {
  /** In the order in which they were opened. */
  const open = new Map<number, Following>()
  let opened = 0
  let settledStep: number | undefined

  /** Ends what has waited long enough, in the order of time. */
  function settle(nowMs: number): void {
    const nowStep = Math.floor(nowMs / STEP_MS)
    settledStep ??= nowStep - 1
    const lastStep = Math.min(nowStep, settledStep + STEPS_MAX)
    for (let step = settledStep + 1; step <= lastStep; step++) {
      for (const following of open.values()) following.settle(step * STEP_MS)
    }
    settledStep = Math.max(settledStep, nowStep)
  }

  /** To be called before the entry has an effect. */
  function note(heard: Heard, atMs: number): void {
    settle(atMs)
    keep(heard, atMs)
  }

  return {
    settle,
    note,
    open: open as ReadonlyMap<number, Following>,

    /** Opens a connection under its number, or the next one of this journal. */
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
 * or as a string where it is not JSON or holds a newline.
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
