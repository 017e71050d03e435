/**
 * Puts what the two books of a market say in order of time: whoever follows both would not be told
 * of a state that comes after a later one of the other book.
 */
import { type Outcome, outcomes } from '#src/domain/market.ts'

import type { BooksOutput } from './book-output.ts'

/** `timeMs` of what waits for nothing is negative. */
type Said = { timeMs: number; say: () => void }

/** `waitingMs` is the time of a book's first state that may still turn out, if there is one. */
export function createTimeOrder(
  output: BooksOutput,
  waitingMs: (outcome: Outcome) => number | undefined,
) {
  const said: Record<Outcome, Said[]> = { up: [], down: [] }

  function mayFollow({ timeMs }: Said, other: Outcome): boolean {
    const firstMs = said[other][0]?.timeMs ?? waitingMs(other) ?? Number.POSITIVE_INFINITY
    return timeMs <= firstMs
  }

  function next(): Said | undefined {
    const [up, down] = [said.up[0], said.down[0]]
    if (up && mayFollow(up, 'down')) return said.up.shift()
    return down && mayFollow(down, 'up') ? said.down.shift() : undefined
  }

  const add = (outcome: Outcome, timeMs: number, say: () => void): void =>
    void said[outcome].push({ timeMs, say })

  const ordered: BooksOutput = {
    state: (snapshot) => add(snapshot.outcome, snapshot.timestampMs, () => output.state(snapshot)),
    trade: output.trade,
    lost: (loss) => add(loss.outcome, -1, () => output.lost(loss)),
    found: (find) => add(find.outcome, -1, () => output.found(find)),
    missed: (gap) => add(gap.outcome, -1, () => output.missed(gap)),
  }
  return {
    output: ordered,

    /** Passes on what waits for nothing. */
    pass(): void {
      for (let each = next(); each !== undefined; each = next()) each.say()
    },

    /** Passes on everything: nothing more turns out. */
    end(): void {
      for (const outcome of outcomes) for (const { say } of said[outcome].splice(0)) say()
    },
  }
}
