/**
 * The gaps of a market as every response reports them: those that are stored and, while a recorder
 * is silent, those that it will store when it runs again.
 */

import { ENDLESS_MS, type Gap, isOver, silenceMs } from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'

import type { MarketHistory } from '../history.ts'

/** Milliseconds between the last sign of a recorder and the last states that it stored. */
const LAST_STATES_MS = 5000

type View = { stored: readonly Gap[]; derived: readonly Gap[]; all: readonly Gap[] }

const nothing: readonly Gap[] = []

/**
 * A history whose `gaps` also has what a silent recorder misses of markets that are not over. Such a
 * gap stays until it is stored, or the next state shows that nothing is missing.
 */
export function withDowntime(
  history: MarketHistory,
  {
    clock,
    silence = () => undefined,
  }: {
    clock: Clock
    /** When the silent recorder gave its last sign, in Unix milliseconds; undefined while none is silent. */
    silence?: (() => number | undefined) | undefined
  },
): MarketHistory {
  /** By condition id, of markets with derived gaps. */
  const views = new Map<string, View>()
  let lastMs = 0
  /** The last sign of a recorder before its silence. */
  let heardMs = 0

  function findView(market: Market): View | undefined {
    const silentMs = silence()
    heardMs = silentMs ?? heardMs
    if (silentMs === undefined && views.size === 0) return undefined
    const { conditionId } = market
    const view = views.get(conditionId)
    if (silentMs === undefined && view === undefined) return undefined
    if (isOver(market) || !isUnrecorded(market, heardMs)) {
      views.delete(conditionId)
      return undefined
    }
    // A window that is over stays so, also when the clock is that of a copy that became stale.
    lastMs = Math.max(lastMs, clock())
    const stored = history.gaps(market)
    const derived = outcomes.flatMap((outcome) => {
      const gap = gapAfterLast(market, outcome, lastMs)
      const isStored = stored.some((each) => each.outcome === outcome && each.toMs === ENDLESS_MS)
      if (gap === undefined || isStored) return []
      const isKnown = view?.derived.some((each) => isSameStart(each, gap)) ?? false
      return silentMs !== undefined || isKnown ? gap : []
    })
    if (derived.length === 0) {
      views.delete(conditionId)
      return undefined
    }
    if (view?.stored === stored && areSame(view.derived, derived)) return view
    const all = [...stored, ...derived].sort((a, b) => a.fromMs - b.fromMs)
    const made = { stored, derived, all }
    views.set(conditionId, made)
    return made
  }

  return {
    ...history,
    gaps: (market) => findView(market)?.all ?? history.gaps(market),
    derivedGaps: (market) => findView(market)?.derived ?? nothing,
  }
}

/** The gap that a recorder notes when it begins to record a market, or closes one; it is not over. */
function gapAfterLast(market: Market, outcome: Outcome, nowMs: number): Gap | undefined {
  const { source, timeframe, windowStartMs, windowEndMs, spans } = market
  if (source !== 'recorded') return undefined
  if (windowStartMs === undefined || windowEndMs === undefined || nowMs < windowStartMs)
    return undefined
  const fromMs = (spans[outcome]?.lastMs ?? windowStartMs - 1) + 1
  const isClosed = nowMs >= windowEndMs
  if (isClosed && windowEndMs - fromMs <= silenceMs(timeframe)) return undefined
  const toMs = isClosed ? windowEndMs : ENDLESS_MS
  return { outcome, fromMs, toMs, reason: 'recorder_down' }
}

/**
 * Whether no recorder records the market since the last sign of the silent one. A later state of
 * either outcome comes from another recorder, or from the same one after its return.
 */
const isUnrecorded = ({ windowEndMs = 0, lastSnapshotMs = 0 }: Market, heardMs: number): boolean =>
  heardMs < windowEndMs && lastSnapshotMs < heardMs + LAST_STATES_MS

const isSameStart = (a: Gap, b: Gap): boolean => a.outcome === b.outcome && a.fromMs === b.fromMs

const areSame = (some: readonly Gap[], others: readonly Gap[]): boolean =>
  some.length === others.length &&
  some.every((gap, at) => {
    const other = others[at]
    return other !== undefined && isSameStart(gap, other) && gap.toMs === other.toMs
  })
