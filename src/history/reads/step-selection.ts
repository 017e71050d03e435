/**
 * Chooses the rows of a page in steps: of each outcome the last row of every step (k·stepMs,
 * (k+1)·stepMs]. Steps begin at the same times for both outcomes, so the rows that one step keeps,
 * two at most, are known as soon as the walk leaves it. Nothing but columns is read. Of an open
 * market steps that a later row may still change are left out, so that a row which was on a page
 * stays on it.
 */
import type { Position } from '#src/core/snapshot.ts'
import { decidedStepsEndMs } from '#src/core/steps.ts'

import type { Chunk } from '../codec/chunk.ts'
import type { Picks } from '../codec/slices.ts'
import type { RowQuery } from '../history.ts'
import type { ChunkRef, ChunkTable } from '../tables/chunk-table.ts'
import { type Bounds, runsOf, type Selection, startOfMs, toBounds } from './selection.ts'
import type { MarketView } from './views.ts'

/** Of which the parts are single rows. */
export type StepSelection = Omit<Selection, 'slices'> & { picks: Picks[] }

type Reach = { view: MarketView; chunks: ChunkTable }
type Place = { chunk: Chunk; row: number }
/** Whether rows of each outcome were seen, by their codes. */
type Seen = [up: boolean, down: boolean]

/** Selects the rows of a query that has steps. */
export function selectSteps(
  view: MarketView,
  chunks: ChunkTable,
  { stepMs = 1, ...asked }: RowQuery,
): StepSelection {
  const reach = { view, chunks }
  const query = { ...asked, toMs: decidedStepsEndMs(view.market, { stepMs, ...asked }) }
  const taker = new Taker(query.limit)
  if (query.order === 'asc') takeUp(taker, reach, { ...toBounds(query), stepMs })
  else takeDown(taker, reach, { ...toBounds(query), stepMs, after: query.after, toMs: query.toMs })
  return taker.selection(query.order)
}

/** Number of the step that a moment is in; a step's end is in it. */
const stepOf = (timestampMs: number, stepMs: number): number => Math.ceil(timestampMs / stepMs)

type StepBounds = Bounds & { stepMs: number }

function takeUp(taker: Taker, { view, chunks }: Reach, bounds: StepBounds): void {
  const { stepMs, end } = bounds
  /** The last rows so far of the step, one an outcome at most, the later one last. */
  let held: Place[] = []
  let step = Number.NaN
  const isIdle = (ref: ChunkRef, next: ChunkRef | undefined): boolean =>
    next !== undefined &&
    next.lastMs < end.timestampMs &&
    stepOf(ref.firstMs, stepMs) === stepOf(next.lastMs, stepMs) &&
    isCovered(ref, bounds, (code) => (next.counts[code] ?? 0) > 0)
  for (const { chunk } of runsOf(view, { chunks, isIdle }, bounds)) {
    for (const row of rowsIn(chunk, bounds)) {
      const outcome = chunk.outcome(row)
      const now = stepOf(chunk.timeMs(row), stepMs)
      if (now !== step) {
        if (taker.takeAll(held)) return
        held = []
        step = now
      }
      held = held.filter((other) => other.chunk.outcome(other.row) !== outcome)
      held.push({ chunk, row })
    }
  }
  taker.takeAll(held)
}

type DownBounds = StepBounds & { after: Position | undefined; toMs: number | undefined }

function takeDown(taker: Taker, { view, chunks }: Reach, bounds: DownBounds): void {
  const { stepMs, after } = bounds
  let step = after === undefined ? Number.NaN : stepOf(after.timestampMs, stepMs)
  let seen: Seen = after === undefined ? [false, false] : seenAfter({ view, chunks }, bounds)
  const isIdle = (ref: ChunkRef): boolean =>
    stepOf(ref.firstMs, stepMs) === step &&
    stepOf(ref.lastMs, stepMs) === step &&
    isCovered(ref, bounds, (code) => seen[code] === true)
  for (const { chunk } of runsOf(view, { chunks, isIdle }, bounds)) {
    for (const row of rowsIn(chunk, bounds).reverse()) {
      const outcome = chunk.outcome(row)
      const now = stepOf(chunk.timeMs(row), stepMs)
      if (now !== step) seen = [false, false]
      step = now
      if (seen[outcome]) continue
      if (taker.takeAll([{ chunk, row }])) return
      seen[outcome] = true
    }
  }
}

/**
 * Which outcomes have rows at or after `after` in its step: those before it are not the last ones.
 */
function seenAfter({ view, chunks }: Reach, bounds: DownBounds): Seen {
  const { after = startOfMs(0), toMs = Number.MAX_SAFE_INTEGER, stepMs, outcome } = bounds
  const stepEndMs = stepOf(after.timestampMs, stepMs) * stepMs
  const end = startOfMs(Math.min(toMs, stepEndMs + 1))
  const rest: Bounds = { start: after, end, order: 'asc', outcome }
  const seen: Seen = [false, false]
  const isIdle = (ref: ChunkRef): boolean => isCovered(ref, bounds, (code) => seen[code] === true)
  for (const { chunk } of runsOf(view, { chunks, isIdle }, rest)) {
    for (const row of rowsIn(chunk, rest)) seen[chunk.outcome(row)] = true
  }
  return seen
}

/**
 * True when of the outcomes that are asked for the chunk holds none but those that `covers` takes.
 */
const isCovered = (
  { counts }: ChunkRef,
  { outcome }: Bounds,
  covers: (code: number) => boolean,
): boolean =>
  counts.every((count, code) => count === 0 || (outcome ?? code) !== code || covers(code))

/** The chunk's rows within the bounds, ascending. */
function rowsIn(chunk: Chunk, { start, end, outcome }: Bounds): number[] {
  const rows: number[] = []
  const to = chunk.seek(end.timestampMs, end.id)
  for (let row = chunk.seek(start.timestampMs, start.id); row < to; row++) {
    const own = chunk.outcome(row)
    if ((outcome ?? own) === own) rows.push(row)
  }
  return rows
}

/** Gathers rows up to a limit, and whether there is one more. */
class Taker {
  readonly #limit: number
  readonly #picks: { chunk: Chunk; rows: number[] }[] = []
  readonly #found: StepSelection = { picks: this.#picks, count: 0, last: undefined, hasMore: false }

  constructor(limit: number) {
    this.#limit = limit
  }

  /** True when it is known that more follows. */
  takeAll(places: readonly Place[]): boolean {
    const found = this.#found
    for (const { chunk, row } of places) {
      found.hasMore = found.count === this.#limit
      if (found.hasMore) break
      const part = this.#picks.at(-1)
      if (part?.chunk === chunk) part.rows.push(row)
      else this.#picks.push({ chunk, rows: [row] })
      found.last = { timestampMs: chunk.timeMs(row), id: chunk.id(row) }
      found.count++
    }
    return found.hasMore
  }

  selection(order: RowQuery['order']): StepSelection {
    if (order === 'desc') for (const { rows } of this.#picks.reverse()) rows.reverse()
    return this.#found
  }
}
