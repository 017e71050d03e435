/** States in a plain list, read like those of a store. */
import type { ReadStates, State } from '#src/domain/series.ts'
import { comparePositions } from '#src/domain/snapshot.ts'
import type { Random } from '#src/platform/random.ts'

/** A reader of ascending states that counts the states it returns. */
export function readerOf<S extends State>(states: readonly S[]) {
  const counts = { reads: 0, states: 0 }
  const read: ReadStates<S> = ({ order, outcome, fromMs = 0, toMs = Infinity, after, limit }) => {
    const direction = order === 'asc' ? 1 : -1
    const matching = states.filter(
      (state) =>
        (outcome ?? state.outcome) === state.outcome &&
        state.timestampMs >= fromMs &&
        state.timestampMs < toMs &&
        (after === undefined || comparePositions(state, after) * direction > 0),
    )
    const found = (order === 'asc' ? matching : matching.reverse()).slice(0, limit)
    counts.reads++
    counts.states += found.length
    return found
  }
  return { read, counts }
}

export type NumberedState = State & { value: number }

/**
 * `count` states of few values, sometimes several at a moment, and sometimes after a long pause.
 */
export function randomStates(random: Random, count: number): NumberedState[] {
  let timestampMs = 1_000 + random.integer(3_000)
  const both = random.integer(4) > 0
  return Array.from({ length: count }, (_, index) => {
    if (random.integer(3) > 0)
      timestampMs += random.integer(random.integer(12) === 0 ? 30_000 : 900)
    const outcome = both && random.integer(2) === 0 ? 'down' : 'up'
    return { timestampMs, id: index + 1, outcome, value: random.integer(3) }
  })
}
