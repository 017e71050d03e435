/** What is held back from a disk that is nearly full is a gap on record, until it is written. */
import { ENDLESS_MS, type Gap } from '#src/domain/coverage.ts'
import type { Outcome } from '#src/domain/market.ts'
import type { Snapshot } from '#src/domain/snapshot.ts'

import { type Entry, marketOf } from './entry.ts'

type Opened = { kind: 'opened'; conditionId: string; gap: Gap }

/** The time of the last state that the history has of an outcome. */
export type FindLastMs = (conditionId: string, outcome: Outcome) => number | undefined

export function createHeldBack(write: (entries: readonly Entry[]) => void, findLastMs: FindLastMs) {
  const gaps = new Map<string, Opened>()
  return {
    /** Puts on record that what waits is missing; a disk that is full may not take even that. */
    note(waiting: readonly Entry[]): void {
      try {
        const opened = tailsOf(waiting, findLastMs).filter((each) => !gaps.has(tokenOf(each)))
        if (opened.length > 0) write(opened)
        for (const each of opened) gaps.set(tokenOf(each), each)
      } catch {
        // Then the gap is on record when what waits is, or at the next start.
      }
    },

    /** What is to be written before what waits, so that the gaps are gone with it. */
    release(): Entry[] {
      const withdrawn = [...gaps.values()].map((each) => ({ ...each, kind: 'withdrawn' }) as const)
      gaps.clear()
      return withdrawn
    },
  }
}

const tokenOf = ({ conditionId, gap }: Opened): string => `${conditionId} ${gap.outcome}`

/** A gap before a state begins where those that are stored end, though that was known till then. */
export const missedFromMs = (
  { conditionId, outcome, timestampMs }: Snapshot,
  findLastMs: FindLastMs,
): number => Math.min((findLastMs(conditionId, outcome) ?? timestampMs) + 1, timestampMs)

/** Of each token, that nothing is known from the first that waits on. */
function tailsOf(entries: readonly Entry[], findLastMs: FindLastMs): Opened[] {
  const tails = new Map<string, Opened>()
  for (const entry of entries) {
    if (entry.kind !== 'state' && entry.kind !== 'opened') continue
    const [outcome, fromMs] =
      entry.kind === 'state'
        ? [entry.snapshot.outcome, missedFromMs(entry.snapshot, findLastMs)]
        : [entry.gap.outcome, entry.gap.fromMs]
    const gap = { outcome, fromMs, toMs: ENDLESS_MS, reason: 'recorder_down' } as const
    const tail: Opened = { kind: 'opened', conditionId: marketOf(entry), gap }
    if (!tails.has(tokenOf(tail))) tails.set(tokenOf(tail), tail)
  }
  return [...tails.values()]
}
