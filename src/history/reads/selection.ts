/** Selects the rows of a page: positions, runs, and whether more rows follow. */
import { comparePositions, type Position } from '#src/domain/snapshot.ts'
import { decidedStepsEndMs, stepOf } from '#src/domain/steps.ts'

import { indexesOf, type Picks, type Slice } from '../codec/chunk-decoder.ts'
import { type Chunk, outcomeCodes } from '../codec/chunk.ts'
import type { RowQuery, RowRange } from '../history.ts'
import type { ChunkRef, ChunkTable } from '../tables/chunk-table.ts'
import type { MarketView } from './market-read.ts'

/** Positions from `start` (inclusive) to `end` (exclusive), walked in the direction of `order`. */
type Bounds = {
  start: Position
  end: Position
  order: RowQuery['order']
  /** A code of `outcomeCodes`; undefined for both. */
  outcome: number | undefined
}

/** A chunk, or the unfinished run, which has no `ref`. */
type Run = { chunk: Chunk; ref: ChunkRef | undefined }

type Source = {
  chunks: Pick<ChunkTable, 'load'>
  /** True for a chunk that need not be read; `next` follows it in time. */
  isIdle?: (ref: ChunkRef, next: ChunkRef | undefined) => boolean
}

const LAST_POSITION = { timestampMs: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }

const startOfMs = (timestampMs: number): Position => ({ timestampMs, id: 0 })

export function toBounds({
  order,
  outcome,
  after,
  fromMs = 0,
  toMs,
}: Omit<RowRange, 'market'>): Bounds {
  const start = startOfMs(fromMs)
  const end = toMs === undefined ? LAST_POSITION : startOfMs(toMs)
  const bounds = { start, end, order, outcome: outcome && outcomeCodes[outcome] }
  if (after === undefined) return bounds
  if (order === 'desc') return { ...bounds, end: comparePositions(after, end) < 0 ? after : end }
  const next = { timestampMs: after.timestampMs, id: after.id + 1 }
  return { ...bounds, start: comparePositions(next, start) > 0 ? next : start }
}

/**
 * Chunks that may contain rows within the bounds, in walking direction, without those that `isIdle`
 * skips when the walk reaches them.
 */
function* refsWithin(
  refs: readonly ChunkRef[],
  { start, end, order, outcome }: Bounds,
  isIdle?: Source['isIdle'],
): Generator<ChunkRef> {
  const isUp = order === 'asc'
  const first = isUp ? findRef(refs, start) : Math.min(findRef(refs, end), refs.length - 1)
  const step = isUp ? 1 : -1
  for (let at = first, ref = refs[at]; ref !== undefined; at += step, ref = refs[at]) {
    if (isUp ? ref.firstMs > end.timestampMs : ref.lastMs < start.timestampMs) return
    const isChosen = outcome === undefined || ref.counts[outcome] !== 0
    if (isChosen && isIdle?.(ref, refs[at + 1]) !== true) yield ref
  }
}

/** Runs that may contain rows within the bounds, in walking direction; each is read on demand. */
export function* runsOf(
  { refs, tail }: MarketView,
  { chunks, isIdle }: Source,
  bounds: Bounds,
): Generator<Run> {
  const unfinished = tail === undefined ? [] : [{ chunk: tail.chunk, ref: undefined }]
  const isUp = bounds.order === 'asc'
  if (!isUp) yield* unfinished
  for (const ref of refsWithin(refs, bounds, isIdle)) yield { chunk: chunks.load(ref), ref }
  if (isUp) yield* unfinished
}

const rowsOf = ({ counts }: ChunkRef, outcome: number | undefined): number =>
  outcome === undefined ? counts[0] + counts[1] : (counts[outcome] ?? 0)

/**
 * The chunks that a read of these rows loads, determined only from the index. It may list more
 * chunks, but never fewer: the index does not tell how many rows of the first and last chunk are in
 * the range, and for steps only where a chunk begins and ends.
 */
export function* chunksOf(
  view: Pick<MarketView, 'market' | 'refs'>,
  { limit = Number.POSITIVE_INFINITY, stepMs, ...range }: RowRange,
): Generator<ChunkRef> {
  if (stepMs === undefined) {
    const bounds = toBounds(range)
    let rows = 0
    for (const ref of refsWithin(view.refs, bounds)) {
      yield ref
      if (isWithin(ref, bounds)) rows += rowsOf(ref, bounds.outcome)
      if (rows > limit) return
    }
    return
  }
  const toMs = decidedStepsEndMs(view.market, { ...range, stepMs })
  const bounds = { ...toBounds({ ...range, toMs }), stepMs, after: range.after, toMs }
  const isUp = range.order === 'asc'
  const seen = createSeenByIndex(bounds)
  if (!isUp && range.after !== undefined) yield* chunksAfter(view.refs, bounds)
  const isIdle = isUp ? createIsIdleUp(bounds) : seen.isIdle
  let steps = 0
  let countedMs = !isUp && range.after !== undefined ? range.after.timestampMs : undefined
  for (const ref of refsWithin(view.refs, bounds, isIdle)) {
    yield ref
    if (!isWithin(ref, bounds)) continue
    seen.add(ref)
    const [nearMs, farMs] = isUp ? [ref.firstMs, ref.lastMs] : [ref.lastMs, ref.firstMs]
    // A row of the outcome is somewhere between the two.
    const counted = countedMs === undefined ? Number.NaN : stepOf(countedMs, stepMs)
    if (counted === stepOf(nearMs, stepMs)) continue
    steps++
    countedMs = farMs
    // The walk detects the end of a step at the first row of the next.
    if (steps > limit + 1) return
  }
}

/** True if all rows of a chunk are within the bounds. */
const isWithin = (ref: ChunkRef, { start, end }: Bounds): boolean =>
  ref.firstMs > start.timestampMs && ref.lastMs < end.timestampMs

/** The chunks that `seenAfter` loads. */
function* chunksAfter(refs: readonly ChunkRef[], bounds: StepBounds): Generator<ChunkRef> {
  const rest = restOfStep(bounds)
  const seen: Seen = [false, false]
  for (const ref of refsWithin(refs, rest)) {
    if (isCovered(ref, bounds, (code) => seen[code] === true)) continue
    yield ref
    if (!isWithin(ref, rest)) continue
    for (const code of [0, 1] as const) seen[code] ||= ref.counts[code] > 0
  }
}

/** Outcomes that a walk backwards has certainly seen in its step, which lets it skip chunks. */
function createSeenByIndex(bounds: StepBounds) {
  const { stepMs } = bounds
  let step = Number.NaN
  let seen: Seen = [false, false]
  return {
    add({ firstMs, lastMs, counts }: ChunkRef): void {
      const first = stepOf(firstMs, stepMs)
      const last = stepOf(lastMs, stepMs)
      if (last !== step || first !== last) seen = [false, false]
      step = first
      // A chunk of several steps certainly has rows of an outcome in the last one only if it has no
      // other outcome.
      const isKnown = first === last || counts.includes(0)
      for (const code of [0, 1] as const) seen[code] ||= isKnown && counts[code] > 0
    },

    isIdle: (ref: ChunkRef): boolean => isSeen(ref, bounds, { step, seen }),
  }
}

/** True for a chunk within a step in which each requested row has a later one. */
const isSeen = (
  ref: ChunkRef,
  bounds: StepBounds,
  { step, seen }: { step: number; seen: Seen },
): boolean =>
  stepOf(ref.firstMs, bounds.stepMs) === step &&
  stepOf(ref.lastMs, bounds.stepMs) === step &&
  isCovered(ref, bounds, (code) => seen[code] === true)

/** Chunks that may contain the row with an id, the likely ones first. */
export function chunksById(refs: readonly ChunkRef[], id: number) {
  const isLikely = ({ firstId, lastId }: ChunkRef): boolean => firstId <= id && id <= lastId
  return { likely: refs.filter(isLikely), others: refs.filter((ref) => !isLikely(ref)) }
}

/**
 * Index of the first chunk whose last row is at or after `position`; the number of chunks if there
 * is none.
 */
export function findRef(refs: readonly ChunkRef[], position: Position): number {
  let low = 0
  let high = refs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const ref = refs[middle]
    const order = (ref?.lastMs ?? 0) - position.timestampMs || (ref?.lastId ?? 0) - position.id
    if (order < 0) low = middle + 1
    else high = middle
  }
  return low
}

export type PageSlice = Slice & Run

export const sliceOf = ({ chunk, ref }: Run, { start, end, outcome }: Bounds): PageSlice => ({
  chunk,
  ref,
  outcome,
  from: chunk.seek(start.timestampMs, start.id),
  to: chunk.seek(end.timestampMs, end.id),
})

export type Selection = {
  /** In ascending order, independent of the order of the query. */
  slices: PageSlice[]
  count: number
  /** The last row of the page in the direction of the query. */
  last: Position | undefined
  hasMore: boolean
}

export function selectRows(
  { view, chunks }: { view: MarketView; chunks: Source['chunks'] },
  query: RowQuery,
): Selection {
  const selection: Selection = { slices: [], count: 0, last: undefined, hasMore: false }
  const bounds = { ...toBounds(query), limit: query.limit }
  for (const run of runsOf(view, { chunks }, bounds)) if (take(selection, run, bounds)) break
  if (query.order === 'desc') selection.slices.reverse()
  return selection
}

/** Adds missing rows of the page from a run; returns true if more rows are known to follow. */
function take(selection: Selection, run: Run, bounds: Bounds & { limit: number }): boolean {
  const { chunk, ref, from, to, outcome } = sliceOf(run, bounds)
  // Only sealed chunks were selected by their outcome.
  if (from >= to || (outcome !== undefined && chunk.lacks(outcome))) return false
  const own = chunk.hasBoth ? outcome : undefined
  const isUp = bounds.order === 'asc'
  const wanted = bounds.limit - selection.count
  const { count, last, hasMore } = pick({ chunk, from, to, outcome: own }, wanted, isUp ? 1 : -1)
  if (count > 0) {
    const slice = isUp ? { from, to: last + 1 } : { from: last, to }
    selection.slices.push({ chunk, ref, ...slice, outcome: own })
    selection.count += count
    selection.last = { timestampMs: chunk.timeMs(last), id: chunk.id(last) }
  }
  selection.hasMore = hasMore
  return hasMore
}

/** Takes up to `wanted` matching rows in the direction of `step`; `last` is the last one taken. */
export function pick({ chunk, from, to, outcome }: Slice, wanted: number, step: 1 | -1) {
  const first = step > 0 ? from : to - 1
  if (outcome === undefined) {
    const count = Math.min(wanted, to - from)
    return { count, last: first + (count - 1) * step, hasMore: count < to - from }
  }
  let count = 0
  let last = first
  for (let row = first; row >= from && row < to; row += step) {
    if (chunk.outcome(row) !== outcome) continue
    if (count === wanted) return { count, last, hasMore: true }
    last = row
    count++
  }
  return { count, last, hasMore: false }
}

export type StepSelection = Omit<Selection, 'slices'> & { picks: Picks[] }

type Place = { chunk: Chunk; row: number }
/** The outcomes of which rows were seen, by code. */
type Seen = [up: boolean, down: boolean]

/**
 * Selects the last row of each outcome in every step (k·stepMs, (k+1)·stepMs], only from columns.
 * Steps begin at the same times for both outcomes, so the rows of a step are final as soon as the
 * walk leaves it. In an open market, steps that a later row may change are excluded: a row on a
 * page stays on it.
 */
export function selectSteps(
  view: MarketView,
  chunks: ChunkTable,
  { stepMs = 1, ...asked }: RowQuery,
): StepSelection {
  const toMs = decidedStepsEndMs(view.market, { stepMs, ...asked })
  const { order, after, limit } = asked
  const bounds = { ...toBounds({ ...asked, toMs }), stepMs, after, toMs }
  const picks: { chunk: Chunk; rows: number[] }[] = []
  const selection: StepSelection = { picks, count: 0, last: undefined, hasMore: false }
  for (const { chunk, row } of (order === 'asc' ? walkUp : walkDown)(view, chunks, bounds)) {
    selection.hasMore = selection.count === limit
    if (selection.hasMore) break
    const part = picks.at(-1)
    if (part?.chunk === chunk) part.rows.push(row)
    else picks.push({ chunk, rows: [row] })
    selection.last = { timestampMs: chunk.timeMs(row), id: chunk.id(row) }
    selection.count++
  }
  if (order === 'desc') for (const { rows } of picks.reverse()) rows.reverse()
  return selection
}

type StepBounds = Bounds & { stepMs: number } & Pick<RowRange, 'after' | 'toMs'>

/** A chunk is skipped if the next one has a later row of the same step for each outcome. */
const createIsIdleUp =
  (bounds: StepBounds) =>
  (ref: ChunkRef, next: ChunkRef | undefined): boolean =>
    next !== undefined &&
    next.lastMs < bounds.end.timestampMs &&
    stepOf(ref.firstMs, bounds.stepMs) === stepOf(next.lastMs, bounds.stepMs) &&
    isCovered(ref, bounds, (code) => (next.counts[code] ?? 0) > 0)

function* walkUp(view: MarketView, chunks: ChunkTable, bounds: StepBounds): Generator<Place> {
  const { stepMs } = bounds
  /** The last rows of the step so far, at most one per outcome, the later one last. */
  let held: Place[] = []
  let step = Number.NaN
  for (const run of runsOf(view, { chunks, isIdle: createIsIdleUp(bounds) }, bounds)) {
    const { chunk } = run
    for (const row of indexesOf(sliceOf(run, bounds))) {
      const outcome = chunk.outcome(row)
      const now = stepOf(chunk.timeMs(row), stepMs)
      if (now !== step) {
        yield* held
        held = []
        step = now
      }
      held = held.filter((other) => other.chunk.outcome(other.row) !== outcome)
      held.push({ chunk, row })
    }
  }
  yield* held
}

function* walkDown(view: MarketView, chunks: ChunkTable, bounds: StepBounds): Generator<Place> {
  const { stepMs, after } = bounds
  let step = after === undefined ? Number.NaN : stepOf(after.timestampMs, stepMs)
  let seen: Seen = after === undefined ? [false, false] : seenAfter(view, chunks, bounds)
  const isIdle = (ref: ChunkRef): boolean => isSeen(ref, bounds, { step, seen })
  for (const run of runsOf(view, { chunks, isIdle }, bounds)) {
    const { chunk } = run
    for (const row of indexesOf(sliceOf(run, bounds)).toReversed()) {
      const outcome = chunk.outcome(row)
      const now = stepOf(chunk.timeMs(row), stepMs)
      if (now !== step) seen = [false, false]
      step = now
      if (seen[outcome]) continue
      yield { chunk, row }
      seen[outcome] = true
    }
  }
}

/** Bounds of the rows at or after `after` in its step. */
function restOfStep({
  after = startOfMs(0),
  toMs = Number.MAX_SAFE_INTEGER,
  stepMs,
  outcome,
}: StepBounds): Bounds {
  const stepEndMs = stepOf(after.timestampMs, stepMs) * stepMs
  const end = startOfMs(Math.min(toMs, stepEndMs + 1))
  return { start: after, end, order: 'asc', outcome }
}

/**
 * Outcomes that have a row at `after` or later in the same step: none of their earlier rows is the
 * last one.
 */
function seenAfter(view: MarketView, chunks: ChunkTable, bounds: StepBounds): Seen {
  const rest = restOfStep(bounds)
  const seen: Seen = [false, false]
  const isIdle = (ref: ChunkRef): boolean => isCovered(ref, bounds, (code) => seen[code] === true)
  for (const run of runsOf(view, { chunks, isIdle }, rest)) {
    for (const row of indexesOf(sliceOf(run, rest))) seen[run.chunk.outcome(row)] = true
  }
  return seen
}

/** True if the requested outcomes of the chunk are all accepted by `covers`. */
const isCovered = (
  { counts }: ChunkRef,
  { outcome }: Bounds,
  covers: (code: number) => boolean,
): boolean =>
  counts.every((count, code) => count === 0 || (outcome ?? code) !== code || covers(code))
