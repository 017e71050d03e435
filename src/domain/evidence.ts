/**
 * Evidence of an import: what its sources say about the book of one outcome, and the gaps that
 * follow. Evidence is only added, and adding it is a union: the gaps do not depend on the order of
 * imported files, on how they are split, or on repeated imports.
 */
import { ENDLESS_MS, type GapReason, type Span } from './coverage.ts'
import { overlapOf, subtractSpans } from './spans.ts'

export type OwnGap = Span & { readonly reason: GapReason }

export type Evidence = {
  /** A recording had the book and missed nothing. */
  known: readonly Span[]
  /** From the first to the last verified book of files of lines, without a long pause. */
  checked: readonly Span[]
  /** Messages without their connections had the book, without a long pause. */
  followed: readonly Span[]
  /** The recorder was not connected. */
  away: readonly Span[]
  /** A source was connected without the book; without an end if it never had the book again. */
  missed: readonly OwnGap[]
  /** From a message that precedes the first book of its file to that book. */
  unproved: readonly Span[]
}

export type Statement = Span &
  ({ kind: Exclude<keyof Evidence, 'missed'> } | { kind: 'missed'; reason: GapReason })

export const noEvidence: Evidence = {
  known: [],
  checked: [],
  followed: [],
  away: [],
  missed: [],
  unproved: [],
}

/** Adds statements. Two states that are at most `quietMs` apart belong to one run. */
export function withStatements(
  evidence: Evidence,
  statements: readonly Statement[],
  quietMs: number,
): Evidence {
  const sound = statements.filter(({ fromMs, toMs }) => fromMs < toMs)
  const join = (kind: Exclude<keyof Evidence, 'missed'>): Span[] => [
    ...evidence[kind],
    ...sound.filter((each) => each.kind === kind).map(({ fromMs, toMs }) => ({ fromMs, toMs })),
  ]
  const missed = sound
    .filter((each) => each.kind === 'missed')
    .map(({ fromMs, toMs, reason }) => ({ fromMs, toMs, reason }))
  return {
    known: unite(join('known')),
    checked: unite(join('checked'), quietMs - 1),
    followed: unite(join('followed')),
    away: unite(join('away')),
    missed: uniteMissed([...evidence.missed, ...missed]),
    unproved: distinct(join('unproved')),
  }
}

/** Merges spans that touch, or that are at most `distanceMs` apart. */
function unite(spans: readonly Span[], distanceMs = 0): Span[] {
  const united: Span[] = []
  for (const span of spans.toSorted(compareSpans)) {
    const last = united.at(-1)
    if (last === undefined || span.fromMs - last.toMs > distanceMs) united.push(span)
    else if (span.toMs > last.toMs)
      united[united.length - 1] = { fromMs: last.fromMs, toMs: span.toMs }
  }
  return united
}

/** Merges gaps of a reason. Gaps without an end stay apart: their end depends on their start. */
function uniteMissed(gaps: readonly OwnGap[]): OwnGap[] {
  const byReason = Map.groupBy(gaps, ({ reason }) => reason)
  return [...byReason]
    .sort(([a], [b]) => Number(a > b) - Number(a < b))
    .flatMap(([reason, own]) => {
      const isEndless = ({ toMs }: Span): boolean => toMs === ENDLESS_MS
      const finite = unite(own.filter((gap) => !isEndless(gap)))
      return [...finite, ...distinct(own.filter(isEndless))].map(({ fromMs, toMs }) => ({
        fromMs,
        toMs,
        reason,
      }))
    })
}

function distinct(spans: readonly Span[]): Span[] {
  const sorted = spans.toSorted(compareSpans)
  return sorted.filter((span, at) => {
    const before = sorted[at - 1]
    return before === undefined || compareSpans(before, span) !== 0
  })
}

const compareSpans = (a: Span, b: Span): number => a.fromMs - b.fromMs || a.toMs - b.toMs

/**
 * Derives the gaps from the evidence. There is no gap where a source knows the book, nor where no
 * recorder was connected but books of other sources continue without a long pause. A gap that a
 * source saw is refuted by verified lines only if one of them lies within it (`hasVerified`): books
 * around the gap do not show how the book changed in between. `quietMs` is that of
 * `withStatements`.
 */
export function gapsOf(
  evidence: Evidence,
  quietMs: number,
  hasVerified: (span: Span) => boolean,
): OwnGap[] {
  const { checked, followed, away } = evidence
  const known = unite([...evidence.known, ...followed])
  const seen = [...Map.groupBy(seenGaps(evidence), ({ reason }) => reason)].flatMap(
    ([reason, gaps]) => unite(gaps).map((gap) => ({ ...gap, reason })),
  )
  const left = seen.flatMap((gap) => {
    const inside = checked
      .map((run) => overlapOf(run, gap))
      .filter((part) => part.fromMs < part.toMs && hasVerified(part))
    return subtractSpans(gap, [...known, ...inside])
  })
  const read = unite([...checked, ...followed], quietMs - 1)
  const unheard = away.flatMap((span) => subtractSpans(span, [...known, ...read, ...seen]))
  const down = [...left.filter(isDown), ...unheard]
  return [
    ...left.filter((gap) => !isDown(gap)),
    ...unite(down).map((span) => ({ ...span, reason: 'recorder_down' as const })),
  ].sort(compareSpans)
}

const isDown = ({ reason }: OwnGap): boolean => reason === 'recorder_down'

/**
 * The gaps that sources saw. A recording may be cut between files: a book that is lost in one file
 * may reappear only in the next, and the time from the end of the first file to the first book of
 * the next is unknown.
 */
function seenGaps({ followed, missed, unproved }: Evidence): OwnGap[] {
  const endOf = (fromMs: number): number => {
    const next = followed.find((span) => span.toMs > fromMs)
    return next === undefined ? ENDLESS_MS : Math.max(next.fromMs, fromMs)
  }
  const whole = ({ fromMs, toMs, reason }: OwnGap): OwnGap => ({
    fromMs,
    toMs: toMs === ENDLESS_MS ? endOf(fromMs) : toMs,
    reason,
  })
  // Without a preceding book, the message changed nothing that is known.
  const unprovedGaps = unproved.flatMap((span): OwnGap[] => {
    const last = followed.findLast(({ fromMs }) => fromMs <= span.fromMs)
    return last === undefined
      ? []
      : [whole({ fromMs: last.toMs, toMs: span.toMs, reason: 'hash_mismatch' })]
  })
  return [...missed.map(whole), ...unprovedGaps].filter(({ fromMs, toMs }) => fromMs < toMs)
}

/** True if one source was connected during the whole span. */
export const isKnown = ({ known }: Evidence, { fromMs, toMs }: Span): boolean =>
  known.some((span) => span.fromMs <= fromMs && span.toMs >= toMs)
