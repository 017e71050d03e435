/** Rows of two outcomes as lines over the same times. */

import type { Coverage, Outcome, Quote } from '../lib/bodies.ts'

/** Unix seconds, then of each line its values. */
export type LineData = [number[], ...(number | null)[][]]

export type Gap = { outcome: Outcome; fromMs: number; toMs: number }

/** `to` is null of one that goes on. */
export const toGap = (gap: { outcome: Outcome; from: string; to: string | null }): Gap => ({
  outcome: gap.outcome,
  fromMs: Date.parse(gap.from),
  toMs: gap.to === null ? Infinity : Date.parse(gap.to),
})

export const gapsOf = (coverage: Coverage | undefined): Gap[] =>
  (coverage?.outcomes ?? []).flatMap(({ outcome, gaps }) =>
    gaps.map((gap) => toGap({ outcome, ...gap })),
  )

/** The last gap that begins after one moment and by another: what was known ends with it. */
export const gapBetween = (
  gaps: readonly Gap[],
  afterMs: number,
  untilMs: number,
): Gap | undefined => gaps.findLast(({ fromMs }) => fromMs > afterMs && fromMs <= untilMs)

/** The outcomes that have a value at some time; both if neither has one. */
export function outcomesIn([, up = [], down = []]: LineData): readonly Outcome[] {
  const isKnown = (value: number | null) => value !== null
  if (up.some(isKnown) === down.some(isKnown)) return ['up', 'down']
  return up.some(isKnown) ? ['up'] : ['down']
}

type Change = { ms: number; outcome: Outcome; value: number | null }

/** A value holds until the next one of its outcome, or until a gap begins. */
export function toLines(
  quotes: readonly Quote[],
  gaps: readonly Gap[],
  readValue: (quote: Quote) => number | null,
): LineData {
  const changes: Change[] = quotes.map((quote) => ({
    ms: Date.parse(quote.timestamp),
    outcome: quote.outcome,
    value: readValue(quote),
  }))
  for (const { outcome, fromMs } of gaps) changes.push({ ms: fromMs, outcome, value: null })
  changes.sort((a, b) => a.ms - b.ms)
  const times: number[] = []
  const lines = { up: [] as (number | null)[], down: [] as (number | null)[] }
  const now: Record<Outcome, number | null> = { up: null, down: null }
  for (const { ms, outcome, value } of changes) {
    now[outcome] = value
    if (times.at(-1) !== ms / 1000) {
      times.push(ms / 1000)
      lines.up.push(null)
      lines.down.push(null)
    }
    lines.up[times.length - 1] = now.up
    lines.down[times.length - 1] = now.down
  }
  return [times, lines.up, lines.down]
}
