/**
 * Windows without a market. Windows follow one another without gaps, so the held ones show where
 * the others begin (day and four-hour windows follow New York time); without any, windows begin at
 * multiples of their length.
 */
import type { CoverageTally, Span, TallyReason } from './coverage.ts'
import { type Timeframe, timeframeMs } from './market.ts'

type WindowQuery = {
  timeframe: Timeframe
  /** Counts windows that begin in [`fromMs`, `toMs`) and no later than `nowMs`. */
  fromMs: number
  toMs: number
  nowMs: number
}

/** Consecutive windows; `toMs` is `nowMs` while the last one is open. */
export type MissingRun = Span & { readonly windows: number }

/** The windows missing among those held; `heldMs` ascends and may exceed the range. */
export function missingWindows(heldMs: readonly number[], query: WindowQuery): MissingRun[] {
  const stepMs = timeframeMs[query.timeframe]
  const [firstMs] = heldMs
  const lastMs = heldMs.at(-1)
  const runs: MissingRun[] = []
  const add = (grid: Grid): void => {
    const run = runOf(grid, stepMs, query)
    if (run.windows > 0) runs.push(run)
  }
  if (firstMs === undefined || lastMs === undefined) {
    add({ originMs: 0 })
    return runs
  }
  add({ originMs: firstMs, last: -1 })
  for (const [index, nextMs] of heldMs.slice(1).entries()) {
    const originMs = heldMs[index] ?? nextMs
    // Rounded, because a day has 23 or 25 hours when clocks change.
    const last = Math.round((nextMs - originMs) / stepMs) - 1
    if (last > 0) add({ originMs, first: 1, last, nextMs })
  }
  add({ originMs: lastMs, first: 1 })
  return runs
}

/** Windows by their number after that of `originMs`, inclusive; `nextMs` is the next held one. */
type Grid = { originMs: number; first?: number; last?: number; nextMs?: number }

function runOf(grid: Grid, stepMs: number, { fromMs, toMs, nowMs }: WindowQuery): MissingRun {
  const { originMs, nextMs = Number.POSITIVE_INFINITY } = grid
  const endMs = Math.min(toMs, nowMs)
  const first = Math.max(grid.first ?? -Infinity, Math.ceil((fromMs - originMs) / stepMs))
  const last = Math.min(grid.last ?? Infinity, Math.ceil((endMs - originMs) / stepMs) - 1)
  return {
    fromMs: originMs + first * stepMs,
    toMs: Math.min(originMs + (last + 1) * stepMs, nextMs, nowMs),
    windows: Math.max(0, last - first + 1),
  }
}

export function tallyMissing(
  heldMs: readonly number[],
  query: WindowQuery,
  outcomes: number,
): CoverageTally {
  let count = 0
  let ms = 0
  for (const { fromMs, toMs, windows } of missingWindows(heldMs, query)) {
    count += windows
    ms += toMs - fromMs
  }
  return tallyOfNothing(count * outcomes, ms * outcomes)
}

const tallyOf = (reason: TallyReason, count: number, ms: number): CoverageTally => ({
  totalMs: ms,
  coveredMs: 0,
  gaps: new Map(count === 0 ? [] : [[reason, { count, ms }]]),
})

/** The tally of `count` outcomes or moments whose windows are unknown: they have no duration. */
export const tallyOfUnknown = (count: number): CoverageTally => tallyOf('window_unknown', count, 0)

/** The tally of `count` gaps of `ms` milliseconds in total, with nothing recorded. */
export const tallyOfNothing = (count: number, ms: number): CoverageTally =>
  tallyOf('import', count, ms)
