/**
 * Counts of responses, and gauges of each serving thread, as numbers in memory that threads share:
 * each writes into a column of its own, without a lock, and the reader adds them up. A
 * thread that ends leaves its counts there for the one that replaces it.
 */
import { type ErrorCode, errorCodes } from '#src/domain/errors.ts'

import { CLIENT_GONE } from './problem.ts'

/** Upper bounds in milliseconds; what is above the last one is counted, too. */
export const boundsMs = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000]
const statuses = [
  200, 201, 202, 204, 304, 400, 401, 402, 403, 404, 405, 409, 410, 412, 413,
] as const
const moreStatuses = [415, 422, 429, 451, CLIENT_GONE, 500, 503] as const
const knownStatuses: readonly number[] = [...statuses, ...moreStatuses]
const codes = Object.keys(errorCodes) as ErrorCode[]

/** Gauges of one thread. */
const gaugeNames = [
  'pageCacheBytes',
  'pageCacheHits',
  'pageCacheMisses',
  'chunkCacheBytes',
  'chunkCacheHits',
  'chunkCacheMisses',
  'bucketAnswered',
  'bucketFailed',
  'bucketMs',
  'bucketBytes',
  'waiting',
  'followers',
] as const
export type Gauges = Record<(typeof gaugeNames)[number], number>

/** Places of routes: those without one of their own, pages for people, WebSockets, then routes. */
export const [OTHER, PAGES, SOCKETS, FIRST_ROUTE] = [0, 1, 2, 3] as const
const PLACES = 160
const STATUSES = knownStatuses.length + 1

/** A row has the counts below each bound, those above the last, and the sum. */
const SUM = boundsMs.length + 1
const WIDTH = SUM + 1
const LOOP_ROW = PLACES * STATUSES
const CODES_AT = (LOOP_ROW + 1) * WIDTH
const GAUGES_AT = CODES_AT + codes.length
const CELLS = GAUGES_AT + gaugeNames.length
const COLUMN_BYTES = CELLS * Float64Array.BYTES_PER_ELEMENT

const columnOf = new Uint8Array(600).fill(STATUSES - 1)
for (const [column, status] of knownStatuses.entries()) columnOf[status] = column

export type Meters = ReturnType<typeof openMeters>
export type Times = { counts: number[]; sumMs: number }

/** The system gives memory as it is used. */
export const makeMeterMemory = (threads = 1): SharedArrayBuffer =>
  new SharedArrayBuffer(threads * COLUMN_BYTES)

export function openMeters(memory: SharedArrayBuffer, thread = 0) {
  const own = new Float64Array(memory, thread * COLUMN_BYTES, CELLS)
  const add = (at: number, value: number): void => {
    own[at] = (own[at] ?? 0) + value
  }
  function time(row: number, ms: number): void {
    let bound = 0
    while (bound < boundsMs.length && ms > (boundsMs[bound] ?? 0)) bound++
    add(row * WIDTH + bound, 1)
    add(row * WIDTH + SUM, ms)
  }
  return {
    request(place: number, status: number, ms: number): void {
      time(place * STATUSES + (columnOf[status] ?? STATUSES - 1), ms)
    },
    problem: (code: ErrorCode): void => add(CODES_AT + codes.indexOf(code), 1),
    /** Counts the delay of the event loop with something that was due. */
    lateness: (ms: number): void => time(LOOP_ROW, ms),
    set(gauges: Gauges): void {
      for (const [index, name] of gaugeNames.entries()) own[GAUGES_AT + index] = gauges[name]
    },
  }
}

/** Counts at some places, of all threads together. */
export type Totals = {
  requests: number
  /** Responses of 500 and above. */
  errors: number
  /** Below each bound, and above the last. */
  durations: number[]
  problems: Record<string, number>
}

export function readTotals(
  memory: SharedArrayBuffer,
  isCounted: (place: number) => boolean,
): Totals {
  const durations = Array.from({ length: SUM }, () => 0)
  const problems: Record<string, number> = {}
  let errors = 0
  for (let at = 0; at < memory.byteLength; at += COLUMN_BYTES) {
    const own = new Float64Array(memory, at, CELLS)
    for (let row = 0; row < LOOP_ROW; row++) {
      if (!isCounted(Math.floor(row / STATUSES))) continue
      const isError = (knownStatuses[row % STATUSES] ?? 0) >= 500
      for (let bound = 0; bound < SUM; bound++) {
        const count = own[row * WIDTH + bound] ?? 0
        durations[bound] = (durations[bound] ?? 0) + count
        if (isError) errors += count
      }
    }
    for (const [index, code] of codes.entries()) {
      const count = own[CODES_AT + index] ?? 0
      if (count > 0) problems[code] = (problems[code] ?? 0) + count
    }
  }
  return { requests: durations.reduce((sum, count) => sum + count, 0), errors, durations, problems }
}

/** All that was counted, of all threads together; gauges and the event loop thread by thread. */
export function readMeters(memory: SharedArrayBuffer) {
  const columns = Array.from(
    { length: memory.byteLength / COLUMN_BYTES },
    (_, thread) => new Float64Array(memory, thread * COLUMN_BYTES, CELLS),
  )
  const sum = (at: number): number => columns.reduce((total, own) => total + (own[at] ?? 0), 0)
  const timesOf = (row: number, valueAt: (at: number) => number): Times => ({
    counts: Array.from({ length: SUM }, (_, bound) => valueAt(row * WIDTH + bound)),
    sumMs: valueAt(row * WIDTH + SUM),
  })
  const answered = Array.from({ length: PLACES * STATUSES }, (_, row) => {
    const status = String(knownStatuses[row % STATUSES] ?? 'other')
    return { place: Math.floor(row / STATUSES), status, ...timesOf(row, sum) }
  })
  return {
    answered: answered.filter(({ counts }) => counts.some((count) => count > 0)),
    problems: codes.map((code, index) => ({ code, count: sum(CODES_AT + index) })),
    loops: columns.map((own) => timesOf(LOOP_ROW, (at) => own[at] ?? 0)),
    gauges: columns.map((own) => {
      const values = gaugeNames.map((name, index) => [name, own[GAUGES_AT + index] ?? 0])
      return Object.fromEntries(values) as Gauges
    }),
  }
}
