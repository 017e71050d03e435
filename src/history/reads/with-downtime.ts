/**
 * The gaps of a market as reported in every response: the stored ones and, while a source is
 * silent, those that the silence implies.
 */

import {
  ENDLESS_MS,
  type Gap,
  isOver,
  REPLICA_BEHIND,
  silenceMs,
  type SilenceReason,
} from '#src/domain/coverage.ts'
import { type Market, type Outcome, outcomes } from '#src/domain/market.ts'
import type { Clock } from '#src/domain/time.ts'

import type { MarketHistory } from '../history.ts'

/**
 * Milliseconds from the time of a state to its commit, and from the last stored states of a
 * recorder to its last sign.
 */
const LAST_STATES_MS = 5000

/** A silent source: a recorder that gives no sign, or a copy that is behind its database. */
export type Silence = {
  reason: SilenceReason
  /** Unix milliseconds of its last sign. */
  sinceMs: number
  /** Series, by `seriesOf`, that only this source would report; all by default. */
  series?: ReadonlySet<string>
}

export const seriesOf = ({ coin, timeframe }: Pick<Market, 'coin' | 'timeframe'>): string =>
  `${coin} ${timeframe}`

/** Returns the silent sources; called for each market. */
export type Silences = () => readonly Silence[]

const none: readonly never[] = []
export const noSilences: Silences = () => none

export const isBehind = (silences: readonly Silence[]): boolean =>
  silences.some(({ reason }) => reason === REPLICA_BEHIND)

type View = {
  stored: readonly Gap[]
  derived: readonly Gap[]
  all: readonly Gap[]
  /** The last sign of a recorder before its silence. */
  heardMs: number | undefined
}

/**
 * A history whose `gaps` include the omissions of silent sources. A gap of a recorder in an open
 * market stays until it is stored, or until the next state shows that nothing is missing; a gap of
 * the copy, until the copy has caught up.
 */
export function withDowntime(
  history: MarketHistory,
  { clock, silences = noSilences }: { clock: Clock; silences?: Silences | undefined },
): MarketHistory {
  /** Markets with derived gaps, by condition id. */
  const views = new Map<string, View>()
  let lastMs = 0

  function findView(market: Market): View | undefined {
    const all = silences()
    if (all.length === 0 && views.size === 0) return undefined
    const { conditionId } = market
    const view = views.get(conditionId)
    const own = all.filter(({ series }) => series?.has(seriesOf(market)) ?? true)
    if (own.length === 0 && view === undefined) return undefined
    // An ended window stays ended, even if the clock is set back.
    lastMs = Math.max(lastMs, clock())
    const stored = history.gaps(market)
    const silentMs = lastSignOf(own, 'recorder_down')
    const behindMs = lastSignOf(own, REPLICA_BEHIND)
    const heardMs = silentMs ?? view?.heardMs
    const derived = outcomes.flatMap((outcome) => {
      const isKnown = (gap: Gap) => view?.derived.some((each) => isSameStart(each, gap)) ?? false
      const unrecorded = unrecordedOf(market, outcome, { heardMs, lastMs, stored })
      const isMissing = unrecorded && (silentMs !== undefined || isKnown(unrecorded))
      const unknown =
        behindMs === undefined ? undefined : unknownOf(market, outcome, { behindMs, lastMs })
      return [...(isMissing ? [unrecorded] : []), ...(unknown ? [unknown] : [])]
    })
    if (derived.length === 0) {
      views.delete(conditionId)
      return undefined
    }
    if (view?.stored === stored && areSame(view.derived, derived)) return view
    const sorted = [...stored, ...derived].sort((a, b) => a.fromMs - b.fromMs)
    const made = { stored, derived, all: sorted, heardMs }
    views.set(conditionId, made)
    return made
  }

  return {
    ...history,
    gaps: (market) => findView(market)?.all ?? history.gaps(market),
    derivedGaps: (market) => findView(market)?.derived ?? none,
    silentSinceMs: () => lastSignOf(silences(), 'recorder_down'),
  }
}

/** The last sign of all silent sources of a kind. */
function lastSignOf(silences: readonly Silence[], reason: SilenceReason): number | undefined {
  const signs = silences.flatMap((each) => (each.reason === reason ? each.sinceMs : []))
  return signs.length === 0 ? undefined : Math.max(...signs)
}

/**
 * The gap that a recorder notes when it begins to record an open market, or closes one. A state
 * after the last sign, of either outcome, comes from another recorder, or from the same one after
 * its return.
 */
function unrecordedOf(
  market: Market,
  outcome: Outcome,
  {
    heardMs,
    lastMs,
    stored,
  }: { heardMs: number | undefined; lastMs: number; stored: readonly Gap[] },
): Gap | undefined {
  const { source, timeframe, windowStartMs, windowEndMs, spans, lastSnapshotMs = 0 } = market
  if (heardMs === undefined || source !== 'recorded' || isOver(market)) return undefined
  if (windowStartMs === undefined || windowEndMs === undefined) return undefined
  if (lastMs < windowStartMs || heardMs >= windowEndMs) return undefined
  if (lastSnapshotMs >= heardMs + LAST_STATES_MS) return undefined
  if (stored.some((each) => each.outcome === outcome && each.toMs === ENDLESS_MS)) return undefined
  const fromMs = (spans[outcome]?.lastMs ?? windowStartMs - 1) + 1
  const isClosed = lastMs >= windowEndMs
  if (isClosed && windowEndMs - fromMs <= silenceMs(timeframe)) return undefined
  return { outcome, fromMs, toMs: isClosed ? windowEndMs : ENDLESS_MS, reason: 'recorder_down' }
}

/** The period of a market in which the copy may lack states. */
function unknownOf(
  { isClosed, windowStartMs = 0, windowEndMs = ENDLESS_MS, spans }: Market,
  outcome: Outcome,
  { behindMs, lastMs }: { behindMs: number; lastMs: number },
): Gap | undefined {
  if (isClosed || lastMs < windowStartMs) return undefined
  const firstMissingMs = behindMs - LAST_STATES_MS
  const fromMs = Math.max(windowStartMs, firstMissingMs, (spans[outcome]?.lastMs ?? 0) + 1)
  const toMs = lastMs >= windowEndMs ? windowEndMs : ENDLESS_MS
  return fromMs < toMs ? { outcome, fromMs, toMs, reason: REPLICA_BEHIND } : undefined
}

const isSameStart = (a: Gap, b: Gap): boolean =>
  a.outcome === b.outcome && a.fromMs === b.fromMs && a.reason === b.reason

const areSame = (some: readonly Gap[], others: readonly Gap[]): boolean =>
  some.length === others.length &&
  some.every((gap, at) => {
    const other = others[at]
    return other !== undefined && isSameStart(gap, other) && gap.toMs === other.toMs
  })
