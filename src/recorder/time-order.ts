/**
 * Orders the reports of the two books of a market by time. Without it a subscriber to both outcomes
 * would never receive a state that arrives after a later one of the other book.
 */

import { type Outcome, outcomes } from '#src/domain/market.ts'

import type { BooksOutput } from './book-output.ts'

/** Orders states; `waitingMs` is the time of a book's first undecided state. */
export function createTimeOrder(
  output: BooksOutput,
  waitingMs: (outcome: Outcome) => number | undefined,
) {
  /** `timeMs` is negative for a report that waits for nothing. */
  const waiting: Record<Outcome, { timeMs: number; pass: () => void }[]> = { up: [], down: [] }

  function canPass(outcome: Outcome, other: Outcome): boolean {
    const [first] = waiting[outcome]
    if (first === undefined) return false
    const otherMs = waiting[other][0]?.timeMs ?? waitingMs(other) ?? Number.POSITIVE_INFINITY
    return first.timeMs <= otherMs
  }

  function takeNext(): (() => void) | undefined {
    if (canPass('up', 'down')) return waiting.up.shift()?.pass
    return canPass('down', 'up') ? waiting.down.shift()?.pass : undefined
  }

  const add = (outcome: Outcome, timeMs: number, pass: () => void): void =>
    void waiting[outcome].push({ timeMs, pass })

  return {
    output: {
      state: (snapshot) =>
        add(snapshot.outcome, snapshot.timestampMs, () => output.state(snapshot)),
      trade: output.trade,
      lost: (loss) => add(loss.outcome, -1, () => output.lost(loss)),
      found: (find) => add(find.outcome, -1, () => output.found(find)),
      missed: (gap) => add(gap.outcome, -1, () => output.missed(gap)),
    } satisfies BooksOutput,

    /** Passes on all reports that wait for nothing. */
    pass(): void {
      for (let pass = takeNext(); pass !== undefined; pass = takeNext()) pass()
    },

    /** Passes on everything, because no further state will be found true. */
    end(): void {
      for (const outcome of outcomes) for (const { pass } of waiting[outcome].splice(0)) pass()
    },
  }
}
