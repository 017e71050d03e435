/** What series of a market, such as its quotes, are made of and asked for, and a page of one. */
import type { Steps } from '#src/platform/scheduler.ts'

import type { PageEnd } from './cursor.ts'
import { type Market, type Outcome, outcomes } from './market.ts'
import type { Position } from './snapshot.ts'
import type { TimeRange } from './time.ts'

/** Steps in milliseconds; they begin at multiples of themselves since 1970, UTC. */
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

/** Which rows of a market are asked for, and in which order. */
export type RowFilters = TimeRange & {
  order: 'asc' | 'desc'
  /** Undefined for both. */
  outcome?: Outcome | undefined
}

export type StatePart = RowFilters & {
  /** Exclusive: continues behind this position in the direction of `order`. */
  after?: Position | undefined
  limit: number
}

/** Reads states, which may have to be fetched from the archive before. */
export type ReadStates<S extends State> = (part: StatePart) => Steps<readonly S[]>

export type Latest<S extends State> = { up: S | undefined; down: S | undefined }

/** The last state of each outcome asked for among those of a part, which is read backwards. */
export function* readLatest<S extends State>(
  read: ReadStates<S>,
  part: Omit<StatePart, 'order' | 'limit'>,
): Steps<Latest<S>> {
  const latest: Latest<S> = { up: undefined, down: undefined }
  for (const outcome of part.outcome === undefined ? outcomes : [part.outcome])
    latest[outcome] = (yield* read({ ...part, order: 'desc', outcome, limit: 1 }))[0]
  return latest
}

/** No row is longer, and neither is what follows the rows. */
export const ROW_BYTES_MAX = 512

/** What a page is asked for; `stepMs` is undefined for every change. */
export type SeriesRequest = {
  market: Market
  stepMs: number | undefined
  range: StatePart
  /** Members wanted of each row, in their order; undefined for those that every row has. */
  fields?: readonly string[] | undefined
}

export type SeriesPage = PageEnd<Position> & {
  count: number
  /** Writes a row of at most `ROW_BYTES_MAX` at an offset; returns the offset after it. */
  put: (row: number, bytes: Uint8Array, start: number) => number
}
