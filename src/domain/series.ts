/** Series of a market, such as its quotes: their requests and pages. */
import type { PageEnd } from './cursor.ts'
import { type Market, type Outcome, outcomes } from './market.ts'
import type { Position } from './snapshot.ts'
import type { TimeRange } from './time.ts'

/** Intervals in milliseconds. A step begins at a multiple of its length since 1970, UTC. */
export const intervalMs = {
  '1s': 1_000,
  '5s': 5_000,
  '10s': 10_000,
  '15s': 15_000,
  '30s': 30_000,
  '1m': 60_000,
  '5m': 300_000,
  '15m': 900_000,
  '30m': 1_800_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
} as const satisfies Record<string, number>
export type Interval = keyof typeof intervalMs
export const intervals = Object.keys(intervalMs) as Interval[]

export const stepMsOf = (interval: Interval | undefined): number | undefined =>
  interval === undefined ? undefined : intervalMs[interval]

export type State = Position & { readonly outcome: Outcome }

/** Which rows of a market to read, and in which order. */
export type RowFilters = TimeRange & {
  order: 'asc' | 'desc'
  /** Undefined for both. */
  outcome?: Outcome | undefined
}

export type StatePart = RowFilters & {
  /** Exclusive: continues after this position in the direction of `order`. */
  after?: Position | undefined
  limit: number
}

/** Reads states, which must be `ready`. */
export type ReadStates<S extends State> = (part: StatePart) => readonly S[]

export type Latest<S extends State> = { up: S | undefined; down: S | undefined }

/** The last state of each requested outcome in a part, read backwards. */
export function readLatest<S extends State>(
  read: ReadStates<S>,
  part: Omit<StatePart, 'order' | 'limit'>,
): Latest<S> {
  const latest: Latest<S> = { up: undefined, down: undefined }
  for (const outcome of part.outcome === undefined ? outcomes : [part.outcome])
    latest[outcome] = read({ ...part, order: 'desc', outcome, limit: 1 })[0]
  return latest
}

/** Upper bound of the length of a row, and of the text after the rows. */
export const ROW_BYTES_MAX = 512

/** A request for a page; `stepMs` is undefined if all changes are requested. */
export type SeriesRequest = {
  market: Market
  stepMs: number | undefined
  range: StatePart
  /** Members of each row, in this order; undefined for the default members. */
  fields?: readonly string[] | undefined
}

export type SeriesPage = PageEnd<Position> & {
  count: number
  /** Writes a row of at most `ROW_BYTES_MAX` bytes at an offset; returns the offset after it. */
  put: (row: number, bytes: Uint8Array, start: number) => number
}
