/** Bars of the mid price. A step without states has no bar; a state with one side has no mid. */
import { type Outcome, outcomes } from './market.ts'
import type { BestLevels } from './quote.ts'
import type { ReadStates, State, StatePart } from './series.ts'
import { comparePositions, type Position } from './snapshot.ts'
import { markPosition } from './steps.ts'

/** Twice a mid in millionths: bid plus ask, so that it is an integer. */
export type DoubleMid = number

export type Bar = {
  outcome: Outcome
  /** Unix milliseconds, inclusive: a multiple of the step. */
  startMs: number
  states: number
  /** Undefined while no state had both sides. */
  mids: { open: DoubleMid; high: DoubleMid; low: DoubleMid; close: DoubleMid } | undefined
}

type BarQuery = {
  read: ReadStates<State & BestLevels>
  stepMs: number
  /** The range; `after` is the `barPosition` of a bar. */
  range: StatePart
  /** Selects the states that count; all of them if absent. */
  isKnown?: ((state: State) => boolean) | undefined
  /** A page ends after this many states, with at least one bar, which bounds its time. */
  statesMax: number
}

export const doubleMidOf = (levels: BestLevels): DoubleMid | undefined =>
  levels.bidSize > 0 && levels.askSize > 0 ? levels.bidPrice + levels.askPrice : undefined

/** The position of a bar: by its start, then up before down. */
export const barPosition = ({ startMs, outcome }: Pick<Bar, 'startMs' | 'outcome'>): Position =>
  markPosition({ timeMs: startMs, outcome })

const BLOCK = 2_048

export function readBars({ read, stepMs, range, isKnown, statesMax }: BarQuery): {
  bars: Bar[]
  hasMore: boolean
} {
  const { limit } = range
  const whole = { ...range, ...restOf(range, stepMs), after: undefined }
  const bars: Bar[] = []
  let step = emptyStep(0)
  let states = 0
  let after: StatePart['after']
  for (let isEnd = false; !isEnd;) {
    const block = read({ ...whole, after, limit: BLOCK })
    isEnd = block.length < BLOCK
    after = block.at(-1)
    for (const state of block) {
      if (isKnown?.(state) === false) continue
      const startMs = state.timestampMs - (state.timestampMs % stepMs)
      if (startMs !== step.startMs) {
        takeBars(bars, step, range)
        if (bars.length > limit) return { bars: bars.slice(0, limit), hasMore: true }
        // A step that begins here already has a bar.
        if (bars.length > 0 && states > statesMax) return { bars, hasMore: true }
        step = emptyStep(startMs)
      }
      addState(step, state, range.order)
      states++
    }
  }
  takeBars(bars, step, range)
  return { bars: bars.slice(0, limit), hasMore: bars.length > limit }
}

type Step = { startMs: number } & Record<Outcome, Bar | undefined>

const emptyStep = (startMs: number): Step => ({ startMs, up: undefined, down: undefined })

/** The rest of the range, from the last step of the previous page: its other outcome may follow. */
function restOf(
  { order, after, fromMs = 0, toMs = Number.MAX_SAFE_INTEGER }: StatePart,
  stepMs: number,
): Pick<StatePart, 'fromMs' | 'toMs'> {
  if (after === undefined) return { fromMs, toMs }
  const startMs = after.timestampMs
  return order === 'asc'
    ? { fromMs: Math.max(fromMs, startMs), toMs }
    : { fromMs, toMs: Math.min(toMs, after.id > 0 ? startMs + stepMs : startMs) }
}

/** Adds the bars of a finished step that come after the position at which the page begins. */
function takeBars(bars: Bar[], step: Step, { order, after }: StatePart): void {
  const direction = order === 'asc' ? 1 : -1
  for (const outcome of order === 'asc' ? outcomes : outcomes.toReversed()) {
    const bar = step[outcome]
    if (bar === undefined) continue
    const distance = after === undefined ? 1 : comparePositions(barPosition(bar), after) * direction
    if (distance > 0) bars.push(bar)
  }
}

function addState(step: Step, state: State & BestLevels, order: StatePart['order']): void {
  const { outcome } = state
  const bar = step[outcome] ?? { outcome, startMs: step.startMs, states: 0, mids: undefined }
  step[outcome] = bar
  bar.states++
  const mid = doubleMidOf(state)
  if (mid === undefined) return
  const { mids } = bar
  if (mids === undefined) {
    bar.mids = { open: mid, high: mid, low: mid, close: mid }
    return
  }
  if (mid > mids.high) mids.high = mid
  if (mid < mids.low) mids.low = mid
  if (order === 'asc') mids.close = mid
  else mids.open = mid
}
