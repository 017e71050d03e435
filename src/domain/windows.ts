/**
 * Windows of which no market is held: they follow one another, so the held ones show where the
 * others begin (day and four-hour windows go by New York); without any, at multiples of the length.
 */
import type { CoverageTally, Span, TallyReason } from './coverage.ts'
import { type Timeframe, timeframeMs } from './market.ts'

type WindowQuery = {
  timeframe: Timeframe
  /** Windows that begin in [`fromMs`, `toMs`) count, if they have begun by `nowMs`. */
  fromMs: number
  toMs: number
  nowMs: number
}

/** Windows one after the other; `toMs` is `nowMs` while the last one is open. */
export type MissingRun = Span & { readonly windows: number }

/** What is missing beside windows whose starts, ascending, may lie outside the range. */
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

/** Windows by their number after that of `originMs`, inclusive; `nextMs` is held again. */
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

/** So many outcomes or moments whose windows are not known: no time of them counts. */
export const tallyOfUnknown = (count: number): CoverageTally => tallyOf('window_unknown', count, 0)

/** So many gaps of together so many milliseconds, beside which there is nothing. */
export const tallyOfNothing = (count: number, ms: number): CoverageTally =>
  tallyOf('import', count, ms)
