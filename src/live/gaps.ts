/** Gaps as streams report them. */

import { ENDLESS_MS, type Gap, isOver, silenceMs } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'

/** How long after a recorder was last heard of its last states may be. */
const LAST_STATES_MS = 5000

/**
 * Returns a function that lists the gaps of a market, ascending, and returns the same list until
 * they change: those that are stored and, while a recorder is silent, those that it will note when
 * it runs again. The latter stay until they are noted, or the next state shows that nothing is
 * missing.
 */
export function createGapView({
  history,
  clock,
  silence = () => undefined,
}: {
  history: Pick<MarketHistory, 'gaps'>
  clock: Clock
  /** When a recorder that fell silent was last heard of; undefined while none is silent. */
  silence?: (() => number | undefined) | undefined
}) {
  const views = new Map<
    string,
    { stored: readonly Gap[]; derived: readonly Gap[]; all: readonly Gap[] }
  >()

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
    if (view?.stored === stored && gapKeys(view.derived) === gapKeys(derived)) return view.all
    const all = [...stored, ...derived].sort((a, b) => a.fromMs - b.fromMs)
    views.set(conditionId, { stored, derived, all })
    return all
  }
}

/** The gap that a recorder notes when it begins to record an open market, or closes one. */
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

/** Whether a recorder that fell silent at `silentMs` heard all up to the gap, and nothing of it. */
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

/** Identifies a gap, with its end. */
export const gapKey = ({ outcome, reason, fromMs, toMs }: Gap) =>
  `${outcome} ${reason} ${fromMs} ${toMs}`
const gapKeys = (gaps: readonly Gap[]): string => gaps.map(gapKey).join()

/** Open gaps that were sent and are gone: each ends where it began. */
export function takenBack(sent: Iterable<Gap>, now: readonly Gap[]): Gap[] {
  return [...sent].flatMap((gap) =>
    gap.toMs !== ENDLESS_MS ||
    now.some((each) => isSameStart(each, gap) && each.reason === gap.reason)
      ? []
      : { ...gap, toMs: gap.fromMs },
  )
}
