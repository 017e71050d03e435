/** Gaps as streams tell them. */
import { ENDLESS_MS, type Gap, isOver, silenceMs } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** States up to so long after a recorder was last heard of may be its last; later ones are not. */
const LAST_STATES_MS = 5000

export type GapViewDeps = {
  history: Pick<MarketHistory, 'gaps'>
  clock: Clock
  /** When a recorder that fell silent was last heard of; undefined while none is silent. */
  silence?: (() => number | undefined) | undefined
}

/** What was derived of a market from its stored gaps, and both in order of time. */
type View = { stored: readonly Gap[]; derived: readonly Gap[]; all: readonly Gap[] }

/**
 * Returns what lists the gaps of a market, ascending, and the same list as long as it is true:
 * those that are stored, and while a recorder is silent what it will note when it runs again. That
 * stays until it is noted, or the next state shows that nothing is missing.
 */
export function createGapView({ history, clock, silence = () => undefined }: GapViewDeps) {
  const views = new Map<string, View>()

  return (market: Market): readonly Gap[] => {
    const stored = history.gaps(market)
    const { conditionId } = market
    const view = views.get(conditionId)
    const silentMs = silence()
    if (view === undefined && silentMs === undefined) return stored
    const nowMs = clock()
    const derived = outcomes.flatMap((outcome) => {
      const gap = gapAfterLast(market, outcome, nowMs)
      const isStored = stored.some((each) => each.outcome === outcome && each.toMs === ENDLESS_MS)
      if (gap === undefined || isStored) return []
      return isLeftBy(silentMs, gap, market) || view?.derived.some((each) => isSameStart(each, gap))
        ? gap
        : []
    })
    if (derived.length === 0) {
      views.delete(conditionId)
      return stored
    }
    if (view?.stored === stored && keysOf(view.derived) === keysOf(derived)) return view.all
    const all = [...stored, ...derived].sort((a, b) => a.fromMs - b.fromMs)
    views.set(conditionId, { stored, derived, all })
    return all
  }
}

/** As the recorder notes it when it begins to record a market that is open, or closes one. */
function gapAfterLast(market: Market, outcome: Outcome, nowMs: number): Gap | undefined {
  const { source, timeframe, windowStartMs, windowEndMs, spans } = market
  if (source !== 'recorded' || isOver(market)) return undefined
  if (windowStartMs === undefined || windowEndMs === undefined || nowMs < windowStartMs)
    return undefined
  const fromMs = (spans[outcome]?.lastMs ?? windowStartMs - 1) + 1
  const isClosed = nowMs >= windowEndMs
  if (isClosed && windowEndMs - fromMs <= silenceMs(timeframe)) return undefined
  const toMs = isClosed ? windowEndMs : ENDLESS_MS
  return { outcome, fromMs, toMs, reason: 'recorder_down' }
}

/** Whether the recorder that was last heard of then heard all before the gap, and nothing of it. */
const isLeftBy = (silentMs: number | undefined, { fromMs }: Gap, { windowEndMs = 0 }: Market) =>
  silentMs !== undefined && silentMs < windowEndMs && fromMs <= silentMs + LAST_STATES_MS

const isSameStart = (a: Gap, b: Gap): boolean => a.outcome === b.outcome && a.fromMs === b.fromMs

/** The members of a gap as streams send them, without braces. */
export function gapMembers({ conditionId }: Market, gap: Gap): string {
  const { outcome, reason, fromMs, toMs } = gap
  const to = toMs === ENDLESS_MS ? 'null' : `"${toIso(toMs)}"`
  const span = `"from":"${toIso(fromMs)}","to":${to}`
  return `"conditionId":"${conditionId}","outcome":"${outcome}","reason":"${reason}",${span}`
}

/** Names a gap, with its end. */
export const gapKeyOf = ({ outcome, reason, fromMs, toMs }: Gap) =>
  `${outcome} ${reason} ${fromMs} ${toMs}`
const keysOf = (gaps: readonly Gap[]): string => gaps.map(gapKeyOf).join()

/** Of gaps that were told, those that went on and are none any more: each ends where it began. */
export function takenBack(told: Iterable<Gap>, now: readonly Gap[]): Gap[] {
  return [...told].flatMap((gap) =>
    gap.toMs !== ENDLESS_MS ||
    now.some((each) => isSameStart(each, gap) && each.reason === gap.reason)
      ? []
      : { ...gap, toMs: gap.fromMs },
  )
}
