/** Rows of two outcomes as lines over the same times. */

import type { Coverage, Outcome, Quote } from '../lib/bodies.ts'

/** Unix seconds, then the values of each line. */
export type LineData = [number[], ...(number | null)[][]]

export type Gap = { outcome: Outcome; fromMs: number; toMs: number }

/** `to` is null if the gap continues. */
export const toGap = (gap: { outcome: Outcome; from: string; to: string | null }): Gap => ({
  outcome: gap.outcome,
  fromMs: Date.parse(gap.from),
  toMs: gap.to === null ? Infinity : Date.parse(gap.to),
})

export const gapsOf = (coverage: Coverage | undefined): Gap[] =>
  (coverage?.outcomes ?? []).flatMap(({ outcome, gaps }) =>
    gaps.map((gap) => toGap({ outcome, ...gap })),
  )

/** The last gap that begins after one moment and by another: it ends the known state. */
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
type ReadValue = (quote: Quote) => number | null

/** True if a list is another one with items appended. */
export const continues = <T>(list: readonly T[], before: readonly T[]): boolean =>
  list[0] === before[0] && list[before.length - 1] === before.at(-1)

/** A value holds until the next one of its outcome, or until a gap begins. */
export const toLines = (
  quotes: readonly Quote[],
  gaps: readonly Gap[],
  readValue: ReadValue,
): LineData => createLines(readValue)(quotes, gaps)

/**
 * Returns a `toLines` that keeps its lines: called with the same quotes and more at the end, it only
 * appends these.
 */
export function createLines(readValue: ReadValue) {
  let made: { quotes: readonly Quote[]; gaps: readonly Gap[]; lines: Lines } | undefined
  const toChange = (quote: Quote): Change => ({
    ms: Date.parse(quote.timestamp),
    outcome: quote.outcome,
    value: readValue(quote),
  })
  return (quotes: readonly Quote[], gaps: readonly Gap[]): LineData => {
    if (made !== undefined && made.gaps === gaps && continues(quotes, made.quotes)) {
      const changes = quotes.slice(made.quotes.length).map(toChange)
      if (made.lines.add(changes)) {
        made.quotes = quotes
        return made.lines.data()
      }
    }
    const changes = quotes.map(toChange)
    for (const { outcome, fromMs } of gaps) changes.push({ ms: fromMs, outcome, value: null })
    const lines = new Lines()
    lines.add(changes.sort((a, b) => a.ms - b.ms))
    made = { quotes, gaps, lines }
    return lines.data()
  }
}

class Lines {
  #lastMs = -Infinity
  #times: number[] = []
  #lines = { up: [] as (number | null)[], down: [] as (number | null)[] }
  #now: Record<Outcome, number | null> = { up: null, down: null }

  /** Adds changes in order of time; false, and nothing is added, if one is earlier than the last. */
  add(changes: readonly Change[]): boolean {
    let lastMs = this.#lastMs
    for (const { ms } of changes) {
      if (ms < lastMs) return false
      lastMs = ms
    }
    this.#lastMs = lastMs
    for (const { ms, outcome, value } of changes) {
      this.#now[outcome] = value
      if (this.#times.at(-1) !== ms / 1000) this.#times.push(ms / 1000)
      const at = this.#times.length - 1
      this.#lines.up[at] = this.#now.up
      this.#lines.down[at] = this.#now.down
    }
    return true
  }

  data(): LineData {
    return [this.#times, this.#lines.up, this.#lines.down]
  }
}
