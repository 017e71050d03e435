/**
 * Coverage: the spans of a market that are recorded, and the gaps. Time that is not known to be
 * recorded is a gap.
 */
import { exactMillionths, type Millionths } from './decimal.ts'
import { type Market, type Outcome, outcomes, type Timeframe, timeframeMs } from './market.ts'

/** The reasons are documented in features/coverage/schema.ts. */
export const storedReasons = [
  'recorder_down',
  'venue_silent',
  'venue_restart',
  'hash_mismatch',
  'not_open',
  'import',
] as const
export const gapReasons = [...storedReasons, 'replica_behind'] as const
export type GapReason = (typeof gapReasons)[number]
/** Reasons of gaps that last as long as a source is silent. */
export type SilenceReason = Extract<GapReason, 'recorder_down' | 'replica_behind'>
/** The reason of gaps that are never stored: the database may have what the copy lacks. */
export const REPLICA_BEHIND = 'replica_behind'

export const tallyReasons = [...gapReasons, 'window_unknown'] as const
export type TallyReason = (typeof tallyReasons)[number]

/** Unix milliseconds: `fromMs` inclusive, `toMs` exclusive. */
export type Span = { readonly fromMs: number; readonly toMs: number }

/**
 * A state is known at its own millisecond, so a gap begins one millisecond after a state and ends
 * with the next state.
 */
export type Gap = Span & { readonly outcome: Outcome; readonly reason: GapReason }

/** Coverage of one outcome in a span; `intervals` and `gaps` tile the span in order of time. */
type OutcomeCoverage = {
  outcome: Outcome
  intervals: Span[]
  gaps: Gap[]
  coveredMs: number
}

export type CoverageQuestion = {
  market: Market
  /** Gaps of both outcomes, ascending by `fromMs`. */
  gaps: readonly Gap[]
  outcome?: Outcome | undefined
  /** An undefined bound is that of `marketSpanOf`. */
  fromMs?: number | undefined
  toMs?: number | undefined
  nowMs: number
}

/** End of a stored gap that has not ended: it reaches to the end of `marketSpanOf`. */
export const ENDLESS_MS = Number.MAX_SAFE_INTEGER

const MIN = Number.NEGATIVE_INFINITY
const MAX = Number.POSITIVE_INFINITY

/** Two states of an outcome that are further apart have a gap between them (5 s in 5 minutes). */
export const silenceMs = (timeframe: Timeframe): number => timeframeMs[timeframe] / 60

export type CoverageTally = {
  /** Length of the span times the number of outcomes. */
  totalMs: number
  coveredMs: number
  gaps: ReadonlyMap<TallyReason, Tallied>
}

/** A market whose window is known. */
export type WindowedMarket = Market & { windowStartMs: number; windowEndMs: number }

export const hasWindow = (market: Market): market is WindowedMarket =>
  market.windowStartMs !== undefined && market.windowEndMs !== undefined

/** True if the span of the question is known: a bound that is left out is the market's own. */
export const isBounded = ({ market, fromMs, toMs }: CoverageQuestion): boolean =>
  (fromMs !== undefined && toMs !== undefined) || hasWindow(market)

/** True if what is known of a market no longer changes with time. */
export const isOver = ({ isClosed, winner }: Market): boolean => isClosed || winner !== undefined

/** The window of a market up to now, and what is held outside it. */
export function marketSpanOf(market: Market, nowMs: number): Span | undefined {
  const { windowStartMs, windowEndMs, firstSnapshotMs, lastSnapshotMs } = market
  const fromMs = Math.min(windowStartMs ?? MAX, windowEndMs ?? MAX, firstSnapshotMs ?? MAX)
  if (fromMs === MAX) return undefined
  const endMs = windowEndMs ?? fromMs
  const heldEndMs = lastSnapshotMs === undefined ? fromMs : lastSnapshotMs + 1
  return {
    fromMs,
    toMs: Math.max(fromMs, isOver(market) ? endMs : Math.min(endMs, nowMs), heldEndMs),
  }
}

/** The span of a question; empty if the market has nothing between the bounds. */
export function spanOf({ market, fromMs, toMs, nowMs }: CoverageQuestion): Span {
  const whole = marketSpanOf(market, nowMs)
  const startMs = fromMs ?? whole?.fromMs ?? toMs ?? nowMs
  const endMs = toMs ?? whole?.toMs ?? startMs
  if (endMs > startMs) return { fromMs: startMs, toMs: endMs }
  const momentMs = fromMs ?? (toMs === undefined ? startMs : Math.max(0, toMs - 1))
  return { fromMs: momentMs, toMs: momentMs }
}

/**
 * Tiles the span of a question, for up, then down. An outcome is recorded from its first to its
 * last snapshot, except in stored gaps. Within `marketSpanOf`, the time before the first snapshot
 * is a gap if it overlaps the window, because no state prevails yet, or if it is longer than
 * `silenceMs`; the time after the last snapshot is a gap if it is longer than `silenceMs`. All time
 * outside `marketSpanOf` is a gap.
 */
export function coverageOf(question: CoverageQuestion): OutcomeCoverage[] {
  const span = spanOf(question)
  return askedOutcomes(question).map((outcome) => {
    const coverage: OutcomeCoverage = { outcome, intervals: [], gaps: [], coveredMs: 0 }
    eachPiece(timelineOf(question, outcome), span, (fromMs, toMs, reason) => {
      if (reason === undefined) {
        coverage.intervals.push({ fromMs, toMs })
        coverage.coveredMs += toMs - fromMs
      } else coverage.gaps.push({ outcome, fromMs, toMs, reason })
    })
    return coverage
  })
}

/**
 * Adds up what `coverageOf` lists. An empty span counts as the millisecond at which it begins. If
 * the window is unknown and something is held, only `window_unknown` counts, once per outcome.
 */
export function tallyCoverage(question: CoverageQuestion): CoverageTally {
  const { fromMs, toMs } = spanOf(question)
  const span = { fromMs, toMs: Math.max(toMs, fromMs + 1) }
  const asked = askedOutcomes(question)
  const gaps = new Map<TallyReason, Tallied>()
  let coveredMs = 0
  for (const outcome of asked) {
    eachPiece(timelineOf(question, outcome), span, (fromMs, toMs, reason) => {
      if (reason === undefined) coveredMs += toMs - fromMs
      else addGap(gaps, reason, { count: 1, ms: toMs - fromMs })
    })
  }
  if (isBounded(question) || coveredMs === 0) {
    return { totalMs: (span.toMs - span.fromMs) * asked.length, coveredMs, gaps }
  }
  gaps.set('window_unknown', { count: asked.length, ms: 0 })
  return { totalMs: 0, coveredMs: 0, gaps }
}

type Tallied = { count: number; ms: number }

function addGap(gaps: Map<TallyReason, Tallied>, reason: TallyReason, more: Tallied): void {
  const sum = gaps.get(reason) ?? { count: 0, ms: 0 }
  sum.count += more.count
  sum.ms += more.ms
  gaps.set(reason, sum)
}

/** Millionths, rounded down: 1 only if everything is covered. 0 if there is nothing to cover. */
export const shareOf = (part: number, whole: number): Millionths =>
  whole === 0 ? 0 : Number((BigInt(part) * 1_000_000n) / BigInt(whole))

export const printedShare = (part: number, whole: number): unknown =>
  exactMillionths(whole === 0 ? undefined : shareOf(part, whole))

type Run = Span & { readonly reason: GapReason }
/** Takes positional arguments, not an object: a header may visit the pieces of many markets. */
type VisitPiece = (fromMs: number, toMs: number, reason: GapReason | undefined) => void

/** Both lists ascend. Where they overlap, `stored` wins, because its reason was observed. */
type Timeline = { stored: readonly Run[]; derived: readonly Run[] }

const askedOutcomes = ({ outcome }: CoverageQuestion): readonly Outcome[] =>
  outcome === undefined ? outcomes : [outcome]

const timelineOf = (question: CoverageQuestion, outcome: Outcome): Timeline => ({
  stored: endRuns(unitedOf(question.gaps)[outcome], question),
  derived: derivedRuns(question, outcome),
})

function endRuns(runs: readonly Run[], { market, nowMs }: CoverageQuestion): readonly Run[] {
  const last = runs.at(-1)
  if (last?.toMs !== ENDLESS_MS) return runs
  return [
    ...runs.slice(0, -1),
    { ...last, toMs: marketSpanOf(market, nowMs)?.toMs ?? last.fromMs + 1 },
  ]
}

function eachPiece({ stored, derived }: Timeline, { fromMs, toMs }: Span, visit: VisitPiece): void {
  let at = fromMs
  let next = firstEndingAfter(stored, fromMs)
  let follower = 0
  while (at < toMs) {
    const known = stored[next]
    if (known !== undefined && known.fromMs <= at) {
      const end = Math.min(known.toMs, toMs)
      visit(at, end, known.reason)
      at = end
      next++
      continue
    }
    const limit = Math.min(known?.fromMs ?? toMs, toMs)
    while ((derived[follower]?.toMs ?? Number.POSITIVE_INFINITY) <= at) follower++
    const run = derived[follower]
    const isGap = run !== undefined && run.fromMs <= at
    const end = Math.min(limit, (isGap ? run.toMs : run?.fromMs) ?? limit)
    visit(at, end, isGap ? run.reason : undefined)
    at = end
  }
}

function firstEndingAfter(runs: readonly Run[], timeMs: number): number {
  let low = 0
  let high = runs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((runs[middle]?.toMs ?? 0) > timeMs) high = middle
    else low = middle + 1
  }
  return low
}

function derivedRuns({ market, nowMs }: CoverageQuestion, outcome: Outcome): Run[] {
  const whole = marketSpanOf(market, nowMs)
  const outside: GapReason = hasWindow(market) ? 'not_open' : 'import'
  const inside: GapReason = market.source === 'simulated' ? 'venue_silent' : 'import'
  if (whole === undefined) return [{ fromMs: MIN, toMs: MAX, reason: outside }]
  const held = market.spans[outcome]
  const quietMs = held === undefined ? 0 : silenceMs(market.timeframe)
  const { firstMs, lastMs } = held ?? { firstMs: whole.toMs, lastMs: whole.toMs }
  const runs: Run[] = []
  pushJoined(runs, { fromMs: MIN, toMs: whole.fromMs, reason: outside })
  const startMs = market.windowStartMs ?? MAX
  if (firstMs > Math.max(whole.fromMs, startMs) || firstMs - whole.fromMs > quietMs) {
    pushJoined(runs, { fromMs: whole.fromMs, toMs: firstMs, reason: inside })
  }
  if (whole.toMs - (lastMs + 1) > quietMs) {
    pushJoined(runs, { fromMs: lastMs + 1, toMs: whole.toMs, reason: inside })
  }
  pushJoined(runs, { fromMs: whole.toMs, toMs: MAX, reason: outside })
  return runs
}

function pushJoined(runs: Run[], run: Run): void {
  const last = runs.at(-1)
  if (last?.toMs === run.fromMs && last.reason === run.reason) {
    runs[runs.length - 1] = { ...last, toMs: run.toMs }
  } else runs.push(run)
}

/** Where gaps overlap, the first of these reasons is reported: it is the most certain. */
const ranks: readonly GapReason[] = [
  'replica_behind',
  'recorder_down',
  'hash_mismatch',
  'venue_restart',
  'venue_silent',
  'import',
  'not_open',
]

/**
 * Returns a function that is true if a gap of the outcome overlaps the time from `fromMs`
 * (inclusive) to `toMs` (exclusive).
 */
export function createGapFinder(gaps: readonly Gap[]) {
  const united = unitedOf(gaps)
  return (outcome: Outcome, fromMs: number, toMs: number): boolean => {
    const runs = united[outcome]
    if (fromMs >= toMs || runs.length === 0) return false
    const run = runs[firstEndingAfter(runs, fromMs)]
    return run !== undefined && run.fromMs < toMs
  }
}

type United = Record<Outcome, readonly Run[]>

/** The store returns the same list until it changes, so each list is sorted once. */
const unitedLists = new WeakMap<readonly Gap[], United>()

function unitedOf(gaps: readonly Gap[]): United {
  const known = unitedLists.get(gaps)
  if (known !== undefined) return known
  const made: United = {
    up: unite(gaps.filter(({ outcome }) => outcome === 'up')),
    down: unite(gaps.filter(({ outcome }) => outcome === 'down')),
  }
  unitedLists.set(gaps, made)
  return made
}

function unite(gaps: readonly Gap[]): Run[] {
  let claimed: Run[] = []
  for (const reason of ranks) {
    const ascending = gaps
      .filter((gap) => gap.reason === reason && gap.toMs > gap.fromMs)
      .sort((a, b) => a.fromMs - b.fromMs)
    const united: Run[] = []
    for (const { fromMs, toMs } of ascending) {
      const last = united.at(-1)
      if (last === undefined || fromMs >= last.toMs) united.push({ fromMs, toMs, reason })
      else united[united.length - 1] = { ...last, toMs: Math.max(last.toMs, toMs) }
    }
    claimed = claimed.length === 0 ? united : claimRest(claimed, united)
  }
  return claimed
}

function claimRest(claimed: readonly Run[], others: readonly Run[]): Run[] {
  const rest: Run[] = []
  for (const other of others) {
    eachPiece({ stored: claimed, derived: [] }, other, (fromMs, toMs, reason) => {
      if (reason === undefined) rest.push({ fromMs, toMs, reason: other.reason })
    })
  }
  return [...claimed, ...rest].sort((a, b) => a.fromMs - b.fromMs)
}

/** The coverage header (RFC 9651): `full`, or `partial;covered=0.982;gaps=1;reasons="import"`. */
export const coverageText = (...questions: CoverageQuestion[]): string =>
  tallyText(questions.map(tallyCoverage))

export function sumTallies(tallies: readonly CoverageTally[]): CoverageTally {
  const gaps = new Map<TallyReason, Tallied>()
  let totalMs = 0
  let coveredMs = 0
  for (const tally of tallies) {
    totalMs += tally.totalMs
    coveredMs += tally.coveredMs
    for (const [reason, sum] of tally.gaps) addGap(gaps, reason, sum)
  }
  return { totalMs, coveredMs, gaps }
}

export function tallyText(tallies: readonly CoverageTally[]): string {
  const { totalMs, coveredMs, gaps } = sumTallies(tallies)
  if (gaps.size === 0) return totalMs > 0 ? 'full' : 'none;covered=0.0;gaps=0;reasons=""'
  let count = 0
  for (const sum of gaps.values()) count += sum.count
  const found = `gaps=${count};reasons="${[...gaps.keys()].sort().join(' ')}"`
  if (coveredMs === 0 && gaps.has('window_unknown')) return `unknown;${found}`
  const thousandths = Math.floor(shareOf(coveredMs, totalMs) / 1000)
  // A decimal of RFC 9651 has at least one digit after the point, and no trailing zeros.
  const share = (thousandths / 1000).toFixed(3).replace(/0{1,2}$/, '')
  return `${coveredMs === 0 ? 'none' : 'partial'};covered=${share};${found}`
}
