/**
 * Settles which states a market has in one millisecond, out of those held and those that arrive, so
 * that the same states come out in whatever order and however often they arrive. A state is a book
 * under a hash, or a book without one, and how many equal ones its source gave before it; of equal
 * ones the greatest sequence counts, the earliest receipt, and the better verdict. Two rules remove
 * states:
 *
 * - a hash names one book: a verified one, else a contradicted one, else the first by content;
 * - a book without a hash is dropped where the same book is verified.
 *
 * What is removed could never win later, so nothing about it has to be remembered. The order of an
 * outcome's states is that of their sequences, then of their content. The two outcomes are not
 * ordered against each other: what is held of one keeps its ids whatever arrives of the other.
 */
import type { Outcome } from '#src/core/market.ts'
import { compareLevels, type Snapshot } from '#src/core/snapshot.ts'

import { outcomeCodes } from '../codec/chunk.ts'

/** One that is held has its `id`, one that arrives its place in the batch, `index`. */
export type State = Pick<Snapshot, 'outcome' | 'sourceHash' | 'isVerified' | 'receivedMs'> & {
  sequence: number
  occurrence: number
  id: number | undefined
  index: number
  /** Read only where it must be. */
  snapshot: () => Snapshot
  /** Differs from what is held under its id. */
  isChanged: boolean
}

/** Rows to take out, and states to put in, of which some keep their id. */
export type Settlement = { gone: State[]; made: State[] }

/** `held` in the order of ids; their `occurrence` is found here. */
export function settleMoment(held: readonly State[], arriving: readonly State[]): Settlement {
  const states: State[] = []
  for (const state of held) {
    const before = states.filter((other) => isSameContent(other, state))
    states.push({ ...state, occurrence: before.length })
  }
  for (const state of arriving) join(states, state)
  const kept = withoutBare(states)
  raiseSequences(kept)
  kept.sort(compareStates)
  return arrange(held, kept)
}

/** Adds a state to those of its millisecond, unless these hold it or better. */
function join(states: State[], next: State): void {
  const rival = states.find((state) => isRival(state, next))
  const order = rival === undefined ? 0 : compareClaims(next, rival)
  if (order < 0) return
  if (order > 0) {
    for (const loser of states.filter((state) => isRival(state, next)))
      states.splice(states.indexOf(loser), 1)
  }
  const same = states.find(
    (state) => state.occurrence === next.occurrence && isSameContent(state, next),
  )
  if (same === undefined) states.push({ ...next })
  else absorb(same, next)
}

const isRival = (a: State, b: State): boolean =>
  a.sourceHash !== undefined && a.sourceHash === b.sourceHash && a.outcome === b.outcome

/** Which of two books under one hash is to be believed; 0 when they are the same. */
function compareClaims(a: State, b: State): number {
  if (a.isVerified === true && b.isVerified === true) return 0
  const order = compareLevels(a.snapshot(), b.snapshot())
  return order === 0 ? 0 : rankOf(a) - rankOf(b) || -order
}

/** A contradiction is knowledge; nothing is known of what was not checked. */
const rankOf = ({ isVerified }: State): number => [undefined, false, true].indexOf(isVerified)

function absorb(state: State, other: State): void {
  const isVerified = rankOf(other) > rankOf(state) ? other.isVerified : state.isVerified
  const sequence = Math.max(state.sequence, other.sequence)
  const receivedMs = earlier(state.receivedMs, other.receivedMs)
  state.isChanged ||=
    isVerified !== state.isVerified ||
    sequence !== state.sequence ||
    receivedMs !== state.receivedMs
  Object.assign(state, { isVerified, sequence, receivedMs })
}

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)

function withoutBare(states: readonly State[]): State[] {
  const verified = states.filter(
    (state) => state.isVerified === true && state.sourceHash !== undefined,
  )
  return states.filter(
    (bare) =>
      bare.sourceHash !== undefined ||
      !verified.some(
        (state) =>
          state.outcome === bare.outcome &&
          state.occurrence === bare.occurrence &&
          compareLevels(state.snapshot(), bare.snapshot()) === 0,
      ),
  )
}

/** Sources may disagree; a book that returned came after its first time all the same. */
function raiseSequences(states: readonly State[]): void {
  for (const state of states) {
    if (state.occurrence === 0) continue
    const earlierOnes = states.filter(
      (other) => other.occurrence < state.occurrence && isSameContent(other, state),
    )
    const least = Math.max(...earlierOnes.map(({ sequence }) => sequence), state.sequence)
    state.isChanged ||= least !== state.sequence
    state.sequence = least
  }
}

/** Rows of an outcome keep their ids up to the first that another has to come before. */
function arrange(held: readonly State[], kept: readonly State[]): Settlement {
  const made: State[] = []
  const untouched = new Set<number>()
  const lastIds: Record<Outcome, number | undefined> = { up: 0, down: 0 }
  for (const state of kept) {
    const lastId = lastIds[state.outcome]
    const id =
      lastId !== undefined && state.id !== undefined && state.id > lastId ? state.id : undefined
    lastIds[state.outcome] = id
    if (id === undefined || state.isChanged) made.push({ ...state, id })
    else untouched.add(id)
  }
  return { gone: held.filter(({ id }) => id === undefined || !untouched.has(id)), made }
}

const isSameContent = (a: State, b: State): boolean =>
  a.outcome === b.outcome &&
  a.sourceHash === b.sourceHash &&
  ((a.isVerified === true && b.isVerified === true && a.sourceHash !== undefined) ||
    compareLevels(a.snapshot(), b.snapshot()) === 0)

const compareStates = (a: State, b: State): number =>
  a.sequence - b.sequence ||
  outcomeCodes[a.outcome] - outcomeCodes[b.outcome] ||
  compareLevels(a.snapshot(), b.snapshot()) ||
  compareTexts(a.sourceHash ?? '', b.sourceHash ?? '') ||
  a.occurrence - b.occurrence

const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b)
