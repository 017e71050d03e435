/**
 * The state of each outcome that prevails at each multiple of an interval. There is no row where no
 * state is known to prevail: before the first state, in a gap, and after the end of the window or
 * of the data.
 */
import { type Gap, silenceMs } from './coverage.ts'
import { type Market, type Outcome, outcomes } from './market.ts'
import { type Latest, readLatest, type ReadStates, type State, type StatePart } from './series.ts'
import type { Position } from './snapshot.ts'

export type Mark = { timeMs: number; outcome: Outcome }

/** Both bounds are inclusive. */
type KnownSpan = { fromMs: number; toMs: number }

type StepQuery = { market: Market; gaps: readonly Gap[]; stepMs: number; range: StatePart }

/** The position of a mark: by time, then up before down. */
export const markPosition = ({ timeMs, outcome }: Mark): Position => ({
  timestampMs: timeMs,
  id: outcomes.indexOf(outcome) + 1,
})

/** Lists the marks of a page, and one more if there is one; `after` is a `markPosition`. */
export function listMarks(query: StepQuery): Mark[] {
  const { order, limit, outcome } = query.range
  const asked = outcome === undefined ? outcomes : [outcome]
  const endMs = decidedMs(query.market, asked)
  const isUp = order === 'asc'
  const series = (isUp ? asked : asked.toReversed()).map((each): Series => {
    const steps = stepsOf(query, each, endMs)
    return { outcome: each, steps, timeMs: steps.next().value }
  })
  const marks: Mark[] = []
  while (marks.length <= limit) {
    const first = firstOf(series, isUp ? 1 : -1)
    if (first?.timeMs === undefined) break
    marks.push({ timeMs: first.timeMs, outcome: first.outcome })
    first.timeMs = first.steps.next().value
  }
  return marks
}

/** The steps of one outcome; `timeMs` is the next one, undefined after the last. */
type Series = { outcome: Outcome; steps: Generator<number, undefined>; timeMs: number | undefined }

function firstOf(series: readonly Series[], direction: number): Series | undefined {
  let first: Series | undefined
  for (const each of series) {
    if (each.timeMs === undefined) continue
    if (first?.timeMs === undefined || (each.timeMs - first.timeMs) * direction < 0) first = each
  }
  return first
}

function* stepsOf(query: StepQuery, outcome: Outcome, endMs: number): Generator<number, undefined> {
  const { stepMs, range } = query
  const spans = knownSpans(query, outcome, endMs)
  const isUp = range.order === 'asc'
  const bounds = boundsOf(range, outcome)
  for (const span of isUp ? spans : spans.toReversed()) {
    const first = Math.ceil(Math.max(span.fromMs, bounds.fromMs) / stepMs) * stepMs
    const last = Math.floor(Math.min(span.toMs, bounds.toMs) / stepMs) * stepMs
    if (isUp) for (let time = first; time <= last; time += stepMs) yield time
    else for (let time = last; time >= first; time -= stepMs) yield time
  }
  return undefined
}

function boundsOf({ order, fromMs = 0, toMs, after }: StatePart, outcome: Outcome): KnownSpan {
  const endMs = toMs === undefined ? Number.POSITIVE_INFINITY : toMs - 1
  if (after === undefined) return { fromMs, toMs: endMs }
  const { id } = markPosition({ timeMs: after.timestampMs, outcome })
  // The outcome's own mark at that time may still follow.
  return order === 'asc'
    ? { fromMs: Math.max(fromMs, after.timestampMs + (id > after.id ? 0 : 1)), toMs: endMs }
    : { fromMs, toMs: Math.min(endMs, after.timestampMs - (id < after.id ? 0 : 1)) }
}

/** The last time whose state no later state can change, even for a quiet outcome. */
export function decidedMs(market: Market, asked: readonly Outcome[]): number {
  if (market.isClosed) return Number.POSITIVE_INFINITY
  const lasts = asked.map((outcome) => {
    const held = isQuiet(market, outcome) ? market.lastSnapshotMs : market.spans[outcome]?.lastMs
    return held ?? Number.POSITIVE_INFINITY
  })
  return Math.min(...lasts) - 1
}

/** The number of a step (k·stepMs, (k+1)·stepMs], which includes its end. */
export const stepOf = (timestampMs: number, stepMs: number): number =>
  Math.ceil(timestampMs / stepMs)

/** The exclusive end of the steps (k·stepMs, (k+1)·stepMs] that no later state can change. */
export function decidedStepsEndMs(
  market: Market,
  { stepMs, outcome, toMs }: Pick<StatePart, 'outcome' | 'toMs'> & { stepMs: number },
): number | undefined {
  const lastMs = decidedMs(market, outcome === undefined ? outcomes : [outcome])
  if (lastMs >= (toMs ?? Number.POSITIVE_INFINITY) - 1) return toMs
  return Math.floor(lastMs / stepMs) * stepMs + 1
}

/** True if an outcome ended so long before the market's window or data that the rest is a gap. */
function isQuiet(market: Market, outcome: Outcome): boolean {
  const { spans, lastSnapshotMs = 0, timeframe } = market
  const lastMs = spans[outcome]?.lastMs ?? lastSnapshotMs
  // The end of the window is exclusive.
  const endMs = Math.max(lastSnapshotMs, (closeOf(market) ?? 0) - 1)
  return endMs - lastMs > silenceMs(timeframe)
}

const closeOf = ({ isClosed, windowEndMs }: Market): number | undefined =>
  isClosed ? windowEndMs : undefined

/** The last time, inclusive, at which the state of an outcome is known. */
const lastKnownMs = (market: Market, outcome: Outcome, heldMs: number): number =>
  isQuiet(market, outcome)
    ? heldMs
    : Math.max(heldMs, market.lastSnapshotMs ?? heldMs, closeOf(market) ?? heldMs)

function knownSpans({ market, gaps }: StepQuery, outcome: Outcome, endMs: number): KnownSpan[] {
  const held = market.spans[outcome]
  if (held === undefined) return []
  const toMs = Math.min(lastKnownMs(market, outcome, held.lastMs), endMs)
  const spans: KnownSpan[] = []
  let at = held.firstMs
  for (const gap of gaps) {
    if (gap.outcome !== outcome || gap.toMs <= at) continue
    spans.push({ fromMs: at, toMs: Math.min(gap.fromMs - 1, toMs) })
    at = gap.toMs
  }
  // The end of the window is known only if the state before it is.
  if (at < toMs || at <= held.lastMs) spans.push({ fromMs: at, toMs })
  return spans.filter((span) => span.fromMs <= span.toMs)
}

const BLOCK = 1_024

/** The state that prevails at each of the marks, which ascend; `outcome` is set if all marks have it. */
export function readPrevailing<S extends State>(
  read: ReadStates<S>,
  marks: readonly Mark[],
  outcome: Outcome | undefined,
): (S | undefined)[] {
  const toMs = (marks.at(-1)?.timeMs ?? 0) + 1
  const finder = createFinder(read, { outcome, toMs })
  const states: (S | undefined)[] = []
  for (const mark of marks) {
    if (!finder.reaches(mark.timeMs)) finder.readAhead(mark.timeMs)
    states.push(finder.find(mark))
  }
  return states
}

/** Finds states at ascending marks in blocks that are read ahead. */
function createFinder<S extends State>(
  read: ReadStates<S>,
  { outcome, toMs }: { outcome: Outcome | undefined; toMs: number },
) {
  let latest: Latest<S> = { up: undefined, down: undefined }
  let block: readonly S[] = []
  let at = 0
  let reachMs = Number.NEGATIVE_INFINITY
  let soughtMs = Number.NEGATIVE_INFINITY
  let isSparse = false
  let isUsed = true

  function readAhead(timeMs: number): void {
    latest = readLatest(read, { outcome, toMs: timeMs + 1 })
    // If more states lie between two marks than a block holds, each mark is looked up by itself.
    isSparse ||= !isUsed
    block = isSparse ? [] : read({ order: 'asc', outcome, fromMs: timeMs + 1, toMs, limit: BLOCK })
    at = 0
    isUsed = false
    soughtMs = timeMs
    const endMs = block.length < BLOCK ? toMs : (block.at(-1)?.timestampMs ?? 0) - 1
    reachMs = isSparse ? timeMs : Math.max(timeMs, endMs)
  }

  return {
    reaches: (timeMs: number): boolean => timeMs <= reachMs,

    /** Reads ahead from a mark that no block has reached. */
    readAhead,

    /** Finds the state of a mark that a block has reached. */
    find({ timeMs, outcome: own }: Mark): S | undefined {
      isUsed ||= timeMs > soughtMs
      for (let state = block[at]; state !== undefined && state.timestampMs <= timeMs;) {
        latest[state.outcome] = state
        state = block[++at]
      }
      return latest[own]
    },
  }
}
