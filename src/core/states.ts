/** States of a market's books as series are made of them: read in parts, from a store or a list. */
import type { Outcome } from './market.ts'
import type { Position } from './snapshot.ts'

/** A place in a market's history, and whose book it is. */
export type State = Position & { readonly outcome: Outcome }

/** As a store's queries of rows are. */
export type StatePart = {
  order: 'asc' | 'desc'
  /** Undefined for both. */
  outcome?: Outcome | undefined
  /** Unix milliseconds, inclusive. */
  fromMs?: number | undefined
  /** Unix milliseconds, exclusive. */
  toMs?: number | undefined
  /** Exclusive, in the direction of `order`. */
  after?: Position | undefined
  limit: number
}

/** Reads the states of one market, in the order of the part. */
export type ReadStates<S extends State> = (part: StatePart) => readonly S[]

/** The last state of each outcome, where there is one. */
export type Latest<S extends State> = { up: S | undefined; down: S | undefined }

/** The last state of each outcome asked for among those of a part, which is read backwards. */
export function readLatest<S extends State>(
  read: ReadStates<S>,
  part: Omit<StatePart, 'order' | 'limit'>,
): Latest<S> {
  const last = (outcome: Outcome) =>
    part.outcome === undefined || part.outcome === outcome
      ? read({ ...part, order: 'desc', outcome, limit: 1 })[0]
      : undefined
  return { up: last('up'), down: last('down') }
}
